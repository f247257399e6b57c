#include "loop/ws.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libwebsockets.h>

#include "base/mem.h"

#define WS_HEADER_BYTES 8192
#define WS_HEADER_S 10
#define WS_IDLE_S 75
#define WS_CONNECTIONS 256
#define WS_BODY_MAX ((size_t)8 * 1024 * 1024)
#define WS_REPLY_HEAD_MAX 1024
#define WS_SERVICE_BUFFER (16 * 1024)
#define WS_WRITE_CHUNK (64 * 1024)
#define WS_ACCEPT_BATCH 16
#define WS_ACCEPT_RETRY_MS 200
#define WS_OWN_DESCRIPTORS 8 /* libwebsockets' own, beside the connections */

enum ws_state { WS_SERVING, WS_STOPPING, WS_CLOSING };

struct ws_server {
    ws_handler *handler;
    void *arg;
    struct lws_context *context;
    struct lws_vhost *vhost;
    struct loop_timer *accept_retry;
    uv_poll_t listener;
    uv_check_t finish;
    uv_idle_t spin;
    int handles; /* of the three above, not closed yet */
    int fd;
    int port;
    unsigned connections;
    unsigned connections_max;
    enum ws_state state;
};

/* ---------------------------------------------------------------- address, listening socket */

struct ws_address {
    struct sockaddr_storage sa;
    socklen_t len;
    bool any; /* no host was given: IPv4 alone will do where there is no IPv6 */
};

static int ws_address_bad(const char *addr, struct dv_err *err)
{
    return dv_err_set(err, DV_ERR_INVALID, "listen address \"%s\" is not <IP address>:<port>, [<IPv6 address>]:<port> or :<port>", addr);
}

static void ws_address_v4(struct ws_address *out, struct in_addr ip, uint16_t port)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = ip};
    memcpy(&out->sa, &sin, sizeof sin);
    out->len = sizeof sin;
}

static void ws_address_v6(struct ws_address *out, struct in6_addr ip, uint16_t port)
{
    struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = ip};
    memcpy(&out->sa, &sin6, sizeof sin6);
    out->len = sizeof sin6;
}

static int ws_address_parse(const char *addr, struct ws_address *out, struct dv_err *err)
{
    char host[INET6_ADDRSTRLEN + 2];
    const char *colon = addr != NULL ? strrchr(addr, ':') : NULL;
    int64_t port;
    if (colon == NULL || (size_t)(colon - addr) >= sizeof host || dv_parse_i64(colon + 1, 0, 65535, &port) != 0)
        return ws_address_bad(addr != NULL ? addr : "", err);
    size_t len = (size_t)(colon - addr);
    memcpy(host, addr, len);
    host[len] = '\0';
    *out = (struct ws_address){.any = len == 0};
    struct in_addr v4;
    struct in6_addr v6;
    if (len > 1 && host[0] == '[' && host[len - 1] == ']') {
        host[len - 1] = '\0';
        if (inet_pton(AF_INET6, host + 1, &v6) != 1)
            return ws_address_bad(addr, err);
        ws_address_v6(out, v6, (uint16_t)port);
    } else if (len == 0) {
        ws_address_v6(out, in6addr_any, (uint16_t)port);
    } else {
        if (inet_pton(AF_INET, host, &v4) != 1)
            return ws_address_bad(addr, err);
        ws_address_v4(out, v4, (uint16_t)port);
    }
    return 0;
}

/* Returns the descriptor, or -1 with errno. */
static int ws_listen_on(const struct ws_address *address)
{
    int fd = socket(address->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (address->sa.ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
    if (bind(fd, (const struct sockaddr *)&address->sa, address->len) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int saved = errno;
    (void)close(fd);
    errno = saved;
    return -1;
}

static int ws_listen_error(const char *addr, struct dv_err *err)
{
    int code = errno;
    enum dv_err_kind kind = code == EADDRINUSE ? DV_ERR_CONFLICT : code == EACCES ? DV_ERR_DENIED : DV_ERR_INVALID;
    return dv_err_set(err, kind, "cannot listen on \"%s\": %s", addr, strerrordesc_np(code));
}

static int ws_listen(const char *addr, struct dv_err *err)
{
    struct ws_address address = {0};
    if (ws_address_parse(addr, &address, err) != 0)
        return -1;
    int fd = ws_listen_on(&address);
    if (fd < 0 && address.any && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
        struct sockaddr_in6 tried;
        memcpy(&tried, &address.sa, sizeof tried);
        ws_address_v4(&address, (struct in_addr){.s_addr = htonl(INADDR_ANY)}, ntohs(tried.sin6_port));
        fd = ws_listen_on(&address);
    }
    return fd >= 0 ? fd : ws_listen_error(addr, err);
}

static int ws_port_of(int fd)
{
    struct sockaddr_storage sa = {0};
    socklen_t len = sizeof sa;
    if (getsockname(fd, (struct sockaddr *)&sa, &len) != 0)
        return 0;
    /* The port stands at the same place for both families. */
    struct sockaddr_in sin;
    memcpy(&sin, &sa, sizeof sin);
    return ntohs(sin.sin_port);
}

/* ---------------------------------------------------------------- requests */

static const char *ws_reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {{200, "OK"}, {400, "Bad Request"}, {404, "Not Found"}, {405, "Method Not Allowed"}, {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (reasons[i].status == status)
            return reasons[i].text;
    }
    return "Status";
}

/* Headers and body go as one text; libwebsockets keeps what the socket does not take and sends it later. */
static int ws_send(struct lws *wsi, const struct ws_reply *reply, bool head, bool keep)
{
    static const char room[LWS_PRE];
    DV_CLEANUP_BUF struct dv_buf out = DV_BUF_INIT(LWS_PRE + WS_REPLY_HEAD_MAX + reply->body.len);
    (void)dv_buf_add(&out, room, sizeof room);
    if (dv_buf_addf(&out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n", reply->status,
                    ws_reason(reply->status), reply->content_type, reply->body.len) != 0)
        return -1;
    if (reply->allow != NULL && dv_buf_addf(&out, "Allow: %s\r\n", reply->allow) != 0)
        return -1;
    if (dv_buf_addf(&out, "Connection: %s\r\n\r\n", keep ? "keep-alive" : "close") != 0)
        return -1;
    if (!head && dv_buf_add(&out, dv_buf_text(&reply->body), reply->body.len) != 0)
        return -1;
    size_t len = out.len - LWS_PRE;
    int sent = lws_write(wsi, (unsigned char *)out.data + LWS_PRE, len, LWS_WRITE_HTTP_FINAL);
    return sent >= 0 && (size_t)sent == len ? 0 : -1;
}

static const char *ws_method_of(struct lws *wsi)
{
    static const struct {
        enum lws_token_indexes token;
        const char *name;
    } methods[] = {{WSI_TOKEN_GET_URI, "GET"},         {WSI_TOKEN_HEAD_URI, "HEAD"}, {WSI_TOKEN_POST_URI, "POST"},
                   {WSI_TOKEN_OPTIONS_URI, "OPTIONS"}, {WSI_TOKEN_PUT_URI, "PUT"},   {WSI_TOKEN_PATCH_URI, "PATCH"},
                   {WSI_TOKEN_DELETE_URI, "DELETE"}};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (lws_hdr_total_length(wsi, methods[i].token) > 0)
            return methods[i].name;
    }
    return NULL;
}

/* method is NULL when the headers are not there any more, path when it cannot be taken as it was written. */
static struct ws_request ws_request_of(struct lws *wsi)
{
    struct ws_request request = {.method = ws_method_of(wsi)};
    char *path = NULL;
    int len = 0;
    if (request.method == NULL || lws_http_get_uri_and_method(wsi, &path, &len) < 0 || path == NULL)
        return request;
    /* "/%00" and "/a;b" end early as a C string: not what was asked for. "OPTIONS *" names no path. */
    if (path[0] == '/' && strlen(path) == (size_t)len)
        request.path = path;
    return request;
}

/* Only what is surely followed by another request keeps its connection: bytes of a body would be read as one. */
static bool ws_keeps(struct lws *wsi, const struct ws_request *request)
{
    char text[32];
    if (!dv_streq(request->method, "GET") && !dv_streq(request->method, "HEAD"))
        return false;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) > 0 || lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0)
        return false;
    if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_HTTP) <= 0 || !dv_streq(text, "HTTP/1.1"))
        return false;
    int len = lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_CONNECTION);
    return len == 0 || (len > 0 && strcasecmp(text, "keep-alive") == 0);
}

/* Returns what the callback of libwebsockets has to: 0, or -1 to close once everything is sent. */
static int ws_answer(struct ws_server *server, struct lws *wsi, bool may_keep)
{
    struct ws_request request = ws_request_of(wsi);
    if (server->state != WS_SERVING || request.method == NULL)
        return -1;
    struct ws_reply reply = {.status = 200, .content_type = "text/plain; charset=utf-8", .body = DV_BUF_INIT(WS_BODY_MAX)};
    bool keep = may_keep && request.path != NULL && ws_keeps(wsi, &request);
    if (request.path != NULL) {
        server->handler(server->arg, &request, &reply);
    } else {
        reply.status = 400;
        (void)dv_buf_adds(&reply.body, "bad request\n");
    }
    int rc = ws_send(wsi, &reply, dv_streq(request.method, "HEAD"), keep);
    dv_buf_free(&reply.body);
    if (rc != 0 || !keep)
        return -1;
    return lws_http_transaction_completed(wsi) != 0 ? -1 : 0;
}

static void ws_accept_resume(void *arg);

static void ws_connection_gone(struct ws_server *server)
{
    server->connections--;
    if (server->state == WS_SERVING && server->connections == server->connections_max - 1)
        ws_accept_resume(server);
}

static int ws_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
    (void)user;
    (void)in;
    (void)len;
    switch (reason) {
    case LWS_CALLBACK_WSI_CREATE: ((struct ws_server *)lws_context_user(lws_get_context(wsi)))->connections++; return 0;
    case LWS_CALLBACK_WSI_DESTROY: ws_connection_gone(lws_context_user(lws_get_context(wsi))); return 0;
    case LWS_CALLBACK_HTTP: return ws_answer(lws_context_user(lws_get_context(wsi)), wsi, true);
    /* For a protocol it does not know libwebsockets has sent a 403 and dropped the headers; then nothing more is sent. */
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: (void)ws_answer(lws_context_user(lws_get_context(wsi)), wsi, false); return -1;
    /* CONNECT turns the connection into a raw one. */
    case LWS_CALLBACK_RAW_ADOPT: return -1;
    case LWS_CALLBACK_RAW_RX: return -1;
    default: return 0;
    }
}

static const struct lws_protocols ws_protocols[] = {
    {.name = "http", .callback = ws_callback, .rx_buffer_size = WS_SERVICE_BUFFER, .tx_packet_size = WS_WRITE_CHUNK},
    {.name = NULL},
};

/* ---------------------------------------------------------------- connections come in */

static void ws_accept_failed(struct ws_server *server)
{
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
        return;
    /* Out of descriptors or memory: the queue stays readable and would spin the loop. */
    (void)uv_poll_stop(&server->listener);
    loop_timer_set(server->accept_retry, WS_ACCEPT_RETRY_MS);
}

static void ws_accept(uv_poll_t *listener, int status, int events)
{
    (void)status;
    (void)events;
    struct ws_server *server = listener->data;
    for (int i = 0; i < WS_ACCEPT_BATCH && server->connections < server->connections_max; i++) {
        lws_sock_file_fd_type fd = {.sockfd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)};
        if (fd.sockfd < 0) {
            ws_accept_failed(server);
            return;
        }
        (void)setsockopt(fd.sockfd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        (void)lws_adopt_descriptor_vhost(server->vhost, LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP, fd, NULL, NULL);
    }
    if (server->connections >= server->connections_max)
        (void)uv_poll_stop(&server->listener);
}

static void ws_accept_resume(void *arg)
{
    struct ws_server *server = arg;
    if (server->state == WS_SERVING)
        (void)uv_poll_start(&server->listener, UV_READABLE, ws_accept);
}

/* ---------------------------------------------------------------- start */

/* Destroying a context unloads the plugin, although close callbacks inside it may still be due. Loaded once more, it stays. */
static int ws_pin_plugin(struct dv_err *err)
{
    static void *pinned;
    if (pinned == NULL)
        pinned = dlopen(LWS_INSTALL_LIBDIR "/libwebsockets-evlib_uv.so", RTLD_NOW | RTLD_LOCAL);
    if (pinned == NULL)
        return dv_err_set(err, DV_ERR_UNSUPPORTED, "libwebsockets has no plugin for libuv (package libwebsockets-evlib-uv): %s", dlerror());
    return 0;
}

static int ws_context_start(struct ws_server *server, struct loop *loop, const struct ws_config *config, struct dv_err *err)
{
    if (ws_pin_plugin(err) != 0)
        return -1;
    void *loops[1] = {loop_uv(loop)};
    unsigned header_s = config->header_s > 0 ? config->header_s : WS_HEADER_S;
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = ws_protocols,
        .user = server,
        .foreign_loops = loops,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME,
        .fd_limit_per_thread = server->connections_max + WS_OWN_DESCRIPTORS,
        .max_http_header_pool = (unsigned short)(server->connections_max + 1),
        .max_http_header_data2 = WS_HEADER_BYTES,
        .pt_serv_buf_size = WS_SERVICE_BUFFER,
        .timeout_secs = header_s,
        .timeout_secs_ah_idle = header_s,
        .keepalive_timeout = (int)(config->idle_s > 0 ? config->idle_s : WS_IDLE_S),
    };
    lws_set_log_level(0, NULL);
    server->context = lws_create_context(&info);
    if (server->context == NULL)
        return dv_err_set(err, DV_ERR_INTERNAL, "libwebsockets makes no context");
    server->vhost = lws_create_vhost(server->context, &info);
    if (server->vhost == NULL)
        return dv_err_set(err, DV_ERR_INTERNAL, "libwebsockets makes no virtual host");
    return 0;
}

static void ws_finish_turn(uv_check_t *finish);

static void ws_spin_turn(uv_idle_t *spin)
{
    (void)spin; /* its being active keeps the loop from sleeping while the context goes down */
}

static int ws_handles_start(struct ws_server *server, struct loop *loop, struct dv_err *err)
{
    (void)uv_idle_init(loop_uv(loop), &server->spin);
    (void)uv_check_init(loop_uv(loop), &server->finish);
    server->spin.data = server;
    server->finish.data = server;
    server->handles = 2;
    server->accept_retry = loop_timer_new(loop, ws_accept_resume, server);
    int rc = uv_poll_init(loop_uv(loop), &server->listener, server->fd);
    if (rc != 0)
        return dv_err_set(err, DV_ERR_INTERNAL, "the listening socket cannot be watched: %s", uv_strerror(rc));
    server->listener.data = server;
    server->handles = 3;
    ws_accept_resume(server);
    return 0;
}

struct ws_server *ws_server_new(struct loop *loop, const struct ws_config *config, struct dv_err *err)
{
    int fd = ws_listen(config->addr, err);
    if (fd < 0)
        return NULL;
    struct ws_server *server = dv_alloc(sizeof *server);
    *server = (struct ws_server){.handler = config->handler, .arg = config->arg, .fd = fd, .port = ws_port_of(fd)};
    server->connections_max = config->connections > 0 ? config->connections : WS_CONNECTIONS;
    if (ws_handles_start(server, loop, err) != 0 || ws_context_start(server, loop, config, err) != 0) {
        ws_server_free(server);
        return NULL;
    }
    return server;
}

int ws_server_port(const struct ws_server *server)
{
    return server->port;
}

/* ---------------------------------------------------------------- end
 *
 * libwebsockets wants its context destroyed twice: the first call starts to close its handles on the loop, the second frees the context,
 * and must not come before the last close callback, which it does not tell. Until then some handle of the loop is always closing: the
 * connections and the event descriptor first, and from the callback of the last of these its timer and its idle handle. So the second call
 * is due once no handle of the loop is closing, whoever owns it.
 *
 * The first call closes the event descriptor at once, and the close callback closes that number again. The check phase runs right before
 * the close callbacks, which leaves nobody else on this thread a chance to get the number in between. Other threads could: a server should
 * live as long as the process.
 */

static void ws_any_closing(uv_handle_t *handle, void *arg)
{
    bool *closing = arg;
    if (uv_is_closing(handle))
        *closing = true;
}

static void ws_handle_closed(uv_handle_t *handle)
{
    struct ws_server *server = handle->data;
    if (--server->handles == 0)
        free(server);
}

static void ws_finish_turn(uv_check_t *finish)
{
    struct ws_server *server = finish->data;
    if (server->state == WS_STOPPING) {
        server->state = WS_CLOSING;
        lws_context_destroy(server->context); /* takes NULL */
        return;
    }
    bool closing = false;
    uv_walk(finish->loop, ws_any_closing, &closing);
    if (closing)
        return;
    lws_context_destroy(server->context);
    uv_close((uv_handle_t *)&server->spin, ws_handle_closed);
    uv_close((uv_handle_t *)&server->finish, ws_handle_closed);
}

void ws_server_free(struct ws_server *server)
{
    if (server == NULL)
        return;
    server->state = WS_STOPPING;
    if (server->handles == 3)
        uv_close((uv_handle_t *)&server->listener, ws_handle_closed);
    (void)close(server->fd);
    loop_timer_free(server->accept_retry);
    (void)uv_idle_start(&server->spin, ws_spin_turn);
    (void)uv_check_start(&server->finish, ws_finish_turn);
}

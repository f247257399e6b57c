#include <curl/curl.h>

#include "loop/http_internal.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

#define CONNECT_MS 10000L
#define USER_TIMEOUT_MS 30000
#define KEEPALIVE_PROBES 3
#define STREAM_TURN_MAX (16u * 1024 * 1024)

void http_list_add(void **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer != NULL)
        *list = longer;
}

void http_list_wipe(void *list)
{
    for (struct curl_slist *item = list; item != NULL; item = item->next)
        explicit_bzero(item->data, strlen(item->data));
    curl_slist_free_all(list);
}

/* A connection whose peer vanished ends after 30 s even with data under way; libcurl has options for the rest of it only. */
static int easy_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    (void)arg;
    (void)purpose;
    int probes = KEEPALIVE_PROBES;
    unsigned int user_timeout = USER_TIMEOUT_MS;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout, sizeof user_timeout);
    return CURL_SOCKOPT_OK;
}

static void easy_note(struct http_call *call)
{
    call->ready = true;
    if (call->stall_ms > 0)
        loop_timer_set(call->timer, call->stall_ms);
}

static size_t easy_header(char *bytes, size_t size, size_t count, void *arg)
{
    (void)size;
    struct http_call *call = arg;
    easy_note(call);
    if (count <= 2 && (bytes[0] == '\r' || bytes[0] == '\n')) {
        long status = 0;
        (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
        call->head_come = status >= 200; /* 1xx: another head follows */
        call->streamed = call->on_data != NULL && status >= 200 && status < 300;
        if (call->streamed) /* pieces are handed on after each turn of libcurl, which reads 1.6 MB at most */
            call->inbox.max = STREAM_TURN_MAX;
    }
    return count;
}

static size_t easy_body(char *bytes, size_t size, size_t count, void *arg)
{
    (void)size;
    struct http_call *call = arg;
    easy_note(call);
    if (dv_buf_add(&call->inbox, bytes, count) == 0)
        return count;
    call->over = true;
    return 0;
}

static void easy_blob(CURL *easy, CURLoption option, const char *pem)
{
    if (pem == NULL)
        return;
    struct curl_blob blob = {.data = (void *)(uintptr_t)pem, .len = strlen(pem), .flags = CURL_BLOB_NOCOPY};
    (void)curl_easy_setopt(easy, option, &blob);
}

/* The CA given is the only trust: without CAPATH off, libcurl would go on trusting the system's directory beside it. */
static void easy_tls(CURL *easy, const struct http_peer *peer)
{
    (void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, peer->insecure ? 0L : 1L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, peer->insecure ? 0L : 2L);
    if (peer->ca != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        (void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        easy_blob(easy, CURLOPT_CAINFO_BLOB, peer->ca);
    }
    easy_blob(easy, CURLOPT_SSLCERT_BLOB, peer->cert);
    easy_blob(easy, CURLOPT_SSLKEY_BLOB, peer->key);
}

static void easy_manners(CURL *easy, const struct http_peer *peer)
{
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, peer->tls ? "https" : "http");
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* never wait on the loop for a name server */
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
    (void)curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, easy_socket);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, peer->user_agent);
}

static void easy_request(CURL *easy, struct http_call *call)
{
    (void)curl_easy_setopt(easy, CURLOPT_URL, call->url);
    if (call->peer->connect_to != NULL) {
        http_list_add(&call->connect_list, call->peer->connect_to);
        (void)curl_easy_setopt(easy, CURLOPT_CONNECT_TO, call->connect_list);
    }
    if (call->body != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body);
    }
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->header_list);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)call->timeout_ms);
}

void *http_easy_new(struct http_call *call)
{
    CURL *easy = curl_easy_init();
    if (easy == NULL)
        return NULL;
    easy_manners(easy, call->peer);
    easy_tls(easy, call->peer);
    easy_request(easy, call);
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->reason);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, easy_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, easy_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    return easy;
}

static bool easy_was_sent(const struct http_call *call)
{
    curl_off_t at = 0;
    return curl_easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &at) == CURLE_OK && at > 0;
}

static void easy_error_timeout(const struct http_call *call, struct dv_err *err)
{
    const char *peer = call->peer->name;
    if (call->easy == NULL)
        (void)dv_err_retry(err, DV_ERR_UNREACHABLE, "%s: the request was not sent, too many others wait for answers", peer);
    else if (!easy_was_sent(call))
        (void)dv_err_retry(err, DV_ERR_UNREACHABLE, "%s: no connection in time; check that the address is reachable from here", peer);
    else if (call->stalled)
        (void)dv_err_retry(err, DV_ERR_TIMEOUT, "%s: nothing came for %lld s on an open connection", peer,
                           (long long)(call->stall_ms / 1000));
    else
        (void)dv_err_retry(err, DV_ERR_TIMEOUT, "%s: no whole answer within %lld s", peer, (long long)(call->timeout_ms / 1000));
}

/* A server that refuses our certificate says so with a TLS alert, which libcurl reports as a failed hand-shake or read. */
static bool easy_is_cert_alert(const char *reason)
{
    return strstr(reason, "alert") != NULL && (strstr(reason, "certificate") != NULL || strstr(reason, "unknown ca") != NULL);
}

static void easy_error_lost(const struct http_call *call, struct dv_err *err)
{
    const char *peer = call->peer->name;
    if (easy_is_cert_alert(call->reason))
        (void)dv_err_set(err, DV_ERR_CERT, "%s: the server does not accept our client certificate (%s)", peer, call->reason);
    else
        (void)dv_err_retry(err, DV_ERR_UNREACHABLE, "%s: connection lost (%s)", peer,
                           call->reason[0] != '\0' ? call->reason : curl_easy_strerror((CURLcode)call->result));
}

void http_easy_error(const struct http_call *call, struct dv_err *err)
{
    const char *peer = call->peer->name;
    if (call->stalled) {
        easy_error_timeout(call, err);
        return;
    }
    switch ((CURLcode)call->result) {
    case CURLE_COULDNT_RESOLVE_HOST:
        (void)dv_err_retry(err, DV_ERR_UNREACHABLE, "%s: host name is not known; check the address and the name server", peer);
        break;
    case CURLE_COULDNT_CONNECT:
        (void)dv_err_retry(err, DV_ERR_UNREACHABLE, "%s: no connection (%s); check that the server runs and is reachable from here", peer,
                           call->reason);
        break;
    case CURLE_OPERATION_TIMEDOUT: easy_error_timeout(call, err); break;
    case CURLE_PEER_FAILED_VERIFICATION:
        (void)dv_err_set(err, DV_ERR_CERT, "%s: the server's certificate is not trusted (%s); check the CA and the host name", peer,
                         call->reason);
        break;
    case CURLE_SSL_CACERT_BADFILE: (void)dv_err_set(err, DV_ERR_CERT, "%s: the CA given holds no readable certificate", peer); break;
    case CURLE_SSL_CERTPROBLEM:
        (void)dv_err_set(err, DV_ERR_CERT, "%s: our client certificate or its key cannot be used (%s)", peer, call->reason);
        break;
    case CURLE_WRITE_ERROR: (void)dv_err_set(err, DV_ERR_LIMIT, "%s: the answer is larger than %zu bytes", peer, call->inbox.max); break;
    default: easy_error_lost(call, err); break;
    }
}

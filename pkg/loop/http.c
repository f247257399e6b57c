/* Calls and peers. Nothing is told from within libcurl: its callbacks only fill the call, and http_peer_turn() tells afterwards, so that
 * whoever is told may start and cancel calls freely (libcurl refuses both while it calls back). */
#include <curl/curl.h>

#include "loop/http_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MAX_ACTIVE 16
#define STREAM_BODY_MAX (64u * 1024)

static int http_users; /* peers alive; the loop's thread only */

static void list_push(struct http_call **list, struct http_call *call)
{
    call->next = NULL;
    call->prev = *list != NULL ? (*list)->prev : call;
    if (*list != NULL)
        (*list)->prev->next = call;
    else
        *list = call;
    (*list)->prev = call; /* the first one's prev is the last: pushing keeps order at no cost */
}

static void list_remove(struct http_call **list, struct http_call *call)
{
    if (call->next != NULL)
        call->next->prev = call->prev;
    else
        (*list)->prev = call->prev;
    if (call == *list)
        *list = call->next;
    else
        call->prev->next = call->next;
}

static struct http_call **call_list(struct http_call *call)
{
    switch (call->state) {
    case HTTP_QUEUED: return &call->peer->queued;
    case HTTP_ACTIVE: return &call->peer->active;
    case HTTP_FINISHED: break;
    }
    return &call->peer->finished;
}

static void call_move(struct http_call *call, enum http_state state)
{
    list_remove(call_list(call), call);
    call->state = state;
    list_push(call_list(call), call);
}

static void call_wipe(char *bytes, size_t len)
{
    if (bytes != NULL)
        explicit_bzero(bytes, len);
}

static void call_leave_wire(struct http_call *call)
{
    if (call->state != HTTP_ACTIVE)
        return;
    (void)curl_multi_remove_handle(call->peer->multi, call->easy);
    if (call->bounded)
        call->peer->bounded_active--;
}

static void call_free(struct http_call *call)
{
    call_leave_wire(call);
    list_remove(call_list(call), call);
    if (call->easy != NULL)
        curl_easy_cleanup(call->easy);
    http_list_wipe(call->header_list);
    http_list_wipe(call->connect_list);
    loop_timer_free(call->timer);
    call_wipe(call->body, call->body_len);
    call_wipe(call->inbox.data, call->inbox.len);
    dv_buf_free(&call->inbox);
    free(call->body);
    free(call->url);
    free(call->method);
    free(call);
}

static void call_finish(struct http_call *call, int result)
{
    call_leave_wire(call);
    loop_timer_clear(call->timer);
    call->result = result;
    call_move(call, HTTP_FINISHED);
}

/* ---------------------------------------------------------------- telling */

static void call_tell_data(struct http_call *call)
{
    struct http_peer *peer = call->peer;
    call->ready = false;
    if (!call->streamed)
        return;
    if (!call->head_told) {
        call->head_told = true;
        long status = 0;
        const char *type = NULL;
        (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
        (void)curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &type);
        if (call->on_head != NULL)
            call->on_head(call->arg, (int)status, type != NULL ? type : "");
        if (peer->current != call)
            return;
    }
    if (call->inbox.len == 0)
        return;
    /* Taken out first: a callback that cancels the call still reads these bytes until it returns. */
    struct dv_buf piece = call->inbox;
    call->inbox = DV_BUF_INIT(piece.max);
    call->on_data(call->arg, piece.data, piece.len);
    call_wipe(piece.data, piece.len);
    dv_buf_free(&piece);
}

static void call_answer(const struct http_call *call, struct http_answer *answer)
{
    long status = 0;
    curl_off_t retry_s = 0;
    const char *type = NULL;
    *answer = (struct http_answer){.err = DV_ERR_INIT, .content_type = "", .body = ""};
    if (call->result != CURLE_OK)
        http_easy_error(call, &answer->err);
    if (call->easy == NULL)
        return;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &type);
    (void)curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_s);
    answer->status = (int)status;
    if (call->result != CURLE_OK)
        return;
    answer->content_type = type != NULL ? type : "";
    answer->retry_after_ms = retry_s > 0 && retry_s < 86400 ? (int64_t)retry_s * 1000 : 0;
    if (!call->streamed && call->inbox.len > 0) {
        answer->body = dv_buf_text(&call->inbox);
        answer->body_len = call->inbox.len;
    }
}

static void call_tell_end(struct http_call *call)
{
    struct http_peer *peer = call->peer;
    struct http_answer answer;
    call_answer(call, &answer);
    call->on_done(call->arg, &answer);
    if (peer->current == call) /* else the peer was freed, and this call with it */
        call_free(call);
}

static struct http_call *peer_next_ready(const struct http_peer *peer)
{
    for (struct http_call *call = peer->active; call != NULL; call = call->next)
        if (call->ready && call->streamed)
            return call;
    return NULL;
}

static void peer_tell(struct http_peer *peer, struct http_call *call)
{
    bool ended = call->state == HTTP_FINISHED;
    peer->current = call;
    call_tell_data(call);
    if (ended && peer->current == call)
        call_tell_end(call);
    peer->current = NULL;
}

static void peer_collect(struct http_peer *peer)
{
    int left = 0;
    for (CURLMsg *msg; (msg = curl_multi_info_read(peer->multi, &left)) != NULL;) {
        if (msg->msg != CURLMSG_DONE)
            continue;
        struct http_call *call = NULL;
        CURLcode result = msg->data.result; /* msg is invalid once the handle is removed */
        (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &call);
        call_finish(call, (int)result);
    }
}

static void call_go(struct http_call *call)
{
    struct http_peer *peer = call->peer;
    loop_timer_clear(call->timer);
    call->easy = http_easy_new(call);
    if (call->easy == NULL) {
        call->stalled = true;
        call_finish(call, CURLE_OUT_OF_MEMORY);
        loop_timer_set(peer->timer, 0);
        return;
    }
    call_move(call, HTTP_ACTIVE);
    if (call->bounded)
        peer->bounded_active++;
    if (call->stall_ms > 0)
        loop_timer_set(call->timer, call->stall_ms);
    (void)curl_multi_add_handle(peer->multi, call->easy);
}

static void peer_start_queued(struct http_peer *peer)
{
    while (peer->queued != NULL && peer->bounded_active < peer->max_active)
        call_go(peer->queued);
}

static void peer_destroy(struct http_peer *peer);

void http_peer_turn(struct http_peer *peer)
{
    if (peer->delivering)
        return;
    peer->delivering = true;
    peer_collect(peer);
    for (struct http_call *call; !peer->closing && (call = peer->finished) != NULL;)
        peer_tell(peer, call);
    for (struct http_call *call; !peer->closing && (call = peer_next_ready(peer)) != NULL;)
        peer_tell(peer, call);
    peer->delivering = false;
    if (peer->closing) {
        peer_destroy(peer);
        return;
    }
    peer_start_queued(peer);
}

/* ---------------------------------------------------------------- calls */

static void call_timed_out(void *arg)
{
    struct http_call *call = arg;
    if (call->state == HTTP_FINISHED)
        return;
    call->stalled = true;
    call_finish(call, CURLE_OPERATION_TIMEDOUT);
    http_peer_turn(call->peer);
}

static void call_headers(struct http_call *call, const struct http_request *request)
{
    http_list_add(&call->header_list, "Expect:"); /* no waiting for 100-continue before a large body */
    if (call->peer->host_header != NULL)
        http_list_add(&call->header_list, call->peer->host_header);
    for (const char *const *line = request->headers; line != NULL && *line != NULL; line++)
        http_list_add(&call->header_list, *line);
}

static struct http_call *call_new(struct http_peer *peer, const struct http_request *request)
{
    struct http_call *call = dv_alloc(sizeof *call);
    call->peer = peer;
    call->method = dv_strdup(request->method);
    call->url = dv_asprintf("%s%s", peer->base, request->target);
    call->timeout_ms = request->timeout_ms;
    call->stall_ms = request->stall_ms;
    call->bounded = request->on_data == NULL && !request->urgent;
    call->on_data = request->on_data;
    call->on_head = request->on_head;
    call->on_done = request->on_done;
    call->arg = request->arg;
    size_t max = request->max_body > 0 ? request->max_body : HTTP_BODY_MAX;
    call->inbox = DV_BUF_INIT(request->on_data != NULL && request->max_body == 0 ? STREAM_BODY_MAX : max);
    call->timer = loop_timer_new(peer->loop, call_timed_out, call);
    if (request->body != NULL) {
        call->body = dv_alloc(request->body_len + 1);
        memcpy(call->body, request->body, request->body_len);
        call->body_len = request->body_len;
    }
    call_headers(call, request);
    return call;
}

struct http_call *http_start(struct http_peer *peer, const struct http_request *request)
{
    struct http_call *call = call_new(peer, request);
    call->state = HTTP_QUEUED;
    list_push(&peer->queued, call);
    if (!call->bounded)
        call_go(call);
    else
        peer_start_queued(peer);
    if (call->state == HTTP_QUEUED && call->timeout_ms > 0)
        loop_timer_set(call->timer, call->timeout_ms);
    return call;
}

void http_cancel(struct http_call *call)
{
    if (call == NULL)
        return;
    struct http_peer *peer = call->peer;
    if (peer->current == call)
        peer->current = NULL;
    call_free(call);
    if (!peer->delivering)
        peer_start_queued(peer);
}

/* ---------------------------------------------------------------- peers */

static void peer_timer_fired(void *arg)
{
    struct http_peer *peer = arg;
    int running = 0;
    (void)curl_multi_socket_action(peer->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    http_peer_turn(peer);
}

static bool peer_pem_holds(const char *pem, const char *what)
{
    return pem == NULL || strstr(pem, what) != NULL;
}

static int peer_check(const struct http_peer_options *options, struct dv_err *err)
{
    if (!peer_pem_holds(options->ca, "-----BEGIN CERTIFICATE-----"))
        return dv_err_set(err, DV_ERR_CERT, "the CA given holds no PEM certificate");
    if (!peer_pem_holds(options->cert, "-----BEGIN CERTIFICATE-----"))
        return dv_err_set(err, DV_ERR_CERT, "the client certificate given holds no PEM certificate");
    if (!peer_pem_holds(options->key, "PRIVATE KEY-----"))
        return dv_err_set(err, DV_ERR_CERT, "the client key given holds no PEM private key");
    if ((options->cert == NULL) != (options->key == NULL))
        return dv_err_set(err, DV_ERR_CERT, "a client certificate needs its key, and a key its certificate");
    return 0;
}

struct http_peer *http_peer_new(struct loop *loop, const struct http_peer_options *options, struct dv_err *err)
{
    if (peer_check(options, err) != 0)
        return NULL;
    struct http_peer *peer = dv_alloc(sizeof *peer);
    if (http_users++ == 0)
        (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    peer->loop = loop;
    if (http_url_take(peer, options, err) != 0) {
        peer_destroy(peer);
        return NULL;
    }
    peer->user_agent = dv_strdup(options->user_agent);
    peer->ca = dv_strdup(options->ca);
    peer->cert = dv_strdup(options->cert);
    peer->key = dv_strdup(options->key);
    peer->insecure = options->insecure;
    peer->max_active = options->max_active > 0 ? options->max_active : MAX_ACTIVE;
    peer->timer = loop_timer_new(loop, peer_timer_fired, peer);
    peer->multi = curl_multi_init();
    http_poll_attach(peer);
    return peer;
}

static void peer_end_calls(struct http_call **list)
{
    while (*list != NULL)
        call_free(*list);
}

static void peer_destroy(struct http_peer *peer)
{
    if (peer->multi != NULL)
        (void)curl_multi_cleanup(peer->multi);
    loop_timer_free(peer->timer);
    if (peer->key != NULL)
        call_wipe(peer->key, strlen(peer->key));
    free(peer->key);
    free(peer->cert);
    free(peer->ca);
    free(peer->user_agent);
    free(peer->connect_to);
    free(peer->host_header);
    free(peer->name);
    free(peer->base);
    free(peer);
    if (--http_users == 0)
        curl_global_cleanup();
}

void http_peer_free(struct http_peer *peer)
{
    if (peer == NULL)
        return;
    peer->current = NULL;
    peer_end_calls(&peer->queued);
    peer_end_calls(&peer->active);
    peer_end_calls(&peer->finished);
    if (peer->delivering)
        peer->closing = true;
    else
        peer_destroy(peer);
}

const char *http_peer_name(const struct http_peer *peer)
{
    return peer->name;
}

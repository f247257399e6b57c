/* An HTTP server on a random loopback port that plays a script, for tests of whatever talks HTTP on the loop.
 *
 * An exchange: {"target": path, "query": {name: value, null: must be absent}, "method": "GET", "repeat": n,
 *   "respond": {"status": 200, "type": "application/json", "headers": {..}, and one of
 *     "body": text | "json": any                 with Content-Length
 *     "lines": [json, ...] | "pieces": [text | {"repeat": text, "times": n}, ...]     chunked
 *   "split": bytes per piece, "delayMs": between pieces, "waitMs": before the end, "end": "clean" | "cut" | "hang" | "close"}}
 * "body": with "${PORT}" replaced by the port. Requests beyond the script are never answered; they are counted.
 */
#ifndef DV_TEST_HTTP_SCRIPT_H
#define DV_TEST_HTTP_SCRIPT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <uv.h>

#include "support.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "loop/loop.h"

#define SCRIPT_REQUESTS_MAX 256

struct script_request {
    int64_t at_ms;
    char *method, *target, *head, *body;
};

struct script_conn;

struct script {
    struct loop *loop;
    uv_tcp_t server;
    int port;
    json_t *exchanges;
    size_t at, repeated, beyond;
    struct script_conn *conns;
    struct script_request requests[SCRIPT_REQUESTS_MAX];
    size_t count;
    size_t connections;
    char problem[600];
};

struct script_conn {
    struct script *script;
    struct script_conn *next;
    uv_tcp_t tcp;
    uv_timer_t timer;
    struct dv_buf in;
    char **pieces;
    size_t piece_count, piece_at;
    int64_t delay_ms, wait_ms;
    const char *end; /* borrowed from the script */
    bool chunked, busy, closing, waited;
    int open_handles;
};

static inline void script_step(struct script_conn *conn);
static inline void script_take(struct script_conn *conn);

static inline void script_conn_closed(uv_handle_t *handle)
{
    struct script_conn *conn = handle->data;
    if (--conn->open_handles > 0)
        return;
    for (size_t i = 0; i < conn->piece_count; i++)
        free(conn->pieces[i]);
    free(conn->pieces);
    dv_buf_free(&conn->in);
    free(conn);
}

static inline void script_conn_close(struct script_conn *conn)
{
    if (conn->closing)
        return;
    conn->closing = true;
    struct script_conn **at = &conn->script->conns;
    while (*at != conn)
        at = &(*at)->next;
    *at = conn->next;
    uv_close((uv_handle_t *)&conn->tcp, script_conn_closed);
    uv_close((uv_handle_t *)&conn->timer, script_conn_closed);
}

struct script_write {
    uv_write_t uv;
    struct script_conn *conn;
    char *data;
};

static inline void script_written(uv_write_t *uv, int status)
{
    struct script_write *write = uv->data;
    struct script_conn *conn = write->conn;
    free(write->data);
    free(write);
    if (status == 0 && !conn->closing)
        script_step(conn);
}

static inline void script_send(struct script_conn *conn, char *data, size_t len)
{
    struct script_write *write = dv_alloc(sizeof *write);
    write->uv.data = write;
    write->conn = conn;
    write->data = data;
    uv_buf_t buf = uv_buf_init(data, (unsigned int)len);
    (void)uv_write(&write->uv, (uv_stream_t *)&conn->tcp, &buf, 1, script_written);
}

static inline void script_timer(uv_timer_t *timer)
{
    script_step(timer->data);
}

static inline void script_finish(struct script_conn *conn)
{
    if (dv_streq(conn->end, "hang"))
        return;
    conn->busy = false;
    if (dv_streq(conn->end, "cut") || dv_streq(conn->end, "close"))
        script_conn_close(conn);
    else
        script_take(conn);
}

/* One piece after the other; the terminating chunk only at a clean end. */
static inline void script_step(struct script_conn *conn)
{
    if (conn->closing || !conn->busy)
        return;
    if (conn->piece_at < conn->piece_count) {
        if (conn->delay_ms > 0 && !conn->waited && conn->piece_at > 0) {
            conn->waited = true;
            (void)uv_timer_start(&conn->timer, script_timer, (uint64_t)conn->delay_ms, 0);
            return;
        }
        conn->waited = false;
        char *piece = conn->pieces[conn->piece_at];
        conn->pieces[conn->piece_at++] = NULL;
        char *framed = conn->chunked && conn->piece_at > 1 ? dv_asprintf("%zx\r\n%s\r\n", strlen(piece), piece) : dv_strdup(piece);
        free(piece);
        script_send(conn, framed, strlen(framed));
        return;
    }
    if (conn->wait_ms > 0) {
        int64_t wait = conn->wait_ms;
        conn->wait_ms = 0;
        (void)uv_timer_start(&conn->timer, script_timer, (uint64_t)wait, 0);
        return;
    }
    if (conn->chunked && !dv_streq(conn->end, "cut") && !dv_streq(conn->end, "hang")) {
        conn->chunked = false;
        script_send(conn, dv_strdup("0\r\n\r\n"), 5);
        return;
    }
    script_finish(conn);
}

static inline void script_piece(struct script_conn *conn, const char *text, size_t len)
{
    conn->pieces = dv_reallocarray(conn->pieces, conn->piece_count + 1, sizeof *conn->pieces);
    conn->pieces[conn->piece_count++] = dv_strndup(text, len);
}

static inline void script_pieces(struct script_conn *conn, const json_t *respond)
{
    struct dv_buf whole = DV_BUF_INIT(64u * 1024 * 1024);
    size_t split = (size_t)json_integer_value(json_object_get(respond, "split"));
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(respond, "lines"), i, item)
    {
        char *line = json_dumps(item, JSON_COMPACT);
        (void)dv_buf_addf(&whole, "%s\n", line);
        free(line);
        if (split == 0) {
            script_piece(conn, whole.data, whole.len);
            dv_buf_reset(&whole);
        }
    }
    json_array_foreach(json_object_get(respond, "pieces"), i, item)
    {
        int64_t times = json_is_object(item) ? json_integer_value(json_object_get(item, "times")) : 1;
        const char *text = json_string_value(json_is_object(item) ? json_object_get(item, "repeat") : item);
        for (int64_t k = 0; k < times; k++)
            (void)dv_buf_adds(&whole, text);
        if (split == 0) {
            script_piece(conn, whole.data, whole.len);
            dv_buf_reset(&whole);
        }
    }
    for (size_t at = 0; split > 0 && at < whole.len; at += split)
        script_piece(conn, whole.data + at, whole.len - at < split ? whole.len - at : split);
    dv_buf_free(&whole);
}

static inline char *script_body(const struct script *script, const json_t *respond)
{
    const json_t *json = json_object_get(respond, "json");
    const char *body = json_string_value(json_object_get(respond, "body"));
    if (json != NULL)
        return json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    if (body == NULL)
        return NULL;
    const char *mark = strstr(body, "${PORT}");
    return mark != NULL ? dv_asprintf("%.*s%d%s", (int)(mark - body), body, script->port, mark + 7) : dv_strdup(body);
}

static inline void script_respond(struct script_conn *conn, const json_t *respond)
{
    struct dv_buf head = DV_BUF_INIT(64u * 1024 * 1024);
    int64_t status = json_integer_value(json_object_get(respond, "status"));
    const char *type = json_string_value(json_object_get(respond, "type"));
    char *body = script_body(conn->script, respond);
    const char *key;
    json_t *value;
    (void)dv_buf_addf(&head, "HTTP/1.1 %d Scripted\r\nContent-Type: %s\r\n", status > 0 ? (int)status : 200,
                      type != NULL ? type : "application/json");
    json_object_foreach (json_object_get(respond, "headers"), key, value)
        (void)dv_buf_addf(&head, "%s: %s\r\n", key, json_string_value(value));
    conn->chunked = body == NULL;
    if (conn->chunked)
        (void)dv_buf_adds(&head, "Transfer-Encoding: chunked\r\n\r\n");
    else
        (void)dv_buf_addf(&head, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    free(body);
    free(conn->pieces);
    conn->pieces = NULL;
    conn->piece_count = conn->piece_at = 0;
    conn->delay_ms = json_integer_value(json_object_get(respond, "delayMs"));
    conn->wait_ms = json_integer_value(json_object_get(respond, "waitMs"));
    conn->end = json_string_value(json_object_get(respond, "end"));
    conn->busy = true;
    conn->waited = false;
    script_piece(conn, head.data, head.len);
    if (conn->chunked)
        script_pieces(conn, respond);
    dv_buf_free(&head);
    script_step(conn);
}

/* The value of a query parameter still encoded; NULL when absent. Caller frees. */
static inline char *script_query(const char *target, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = strchr(target, '?'); at != NULL; at = strchr(at, '&')) {
        at++;
        if (strncmp(at, name, len) == 0 && at[len] == '=')
            return dv_strndup(at + len + 1, strcspn(at + len + 1, "&"));
    }
    return NULL;
}

static inline bool script_matches(struct script *script, const json_t *exchange, const struct script_request *request)
{
    const char *method = json_string_value(json_object_get(exchange, "method"));
    const char *target = json_string_value(json_object_get(exchange, "target"));
    const char *key;
    json_t *value;
    size_t path = strcspn(request->target, "?");
    bool good =
        dv_streq(request->method, method != NULL ? method : "GET") && strlen(target) == path && strncmp(target, request->target, path) == 0;
    json_object_foreach (json_object_get(exchange, "query"), key, value) {
        char *have = script_query(request->target, key);
        good = good && dv_streq(have, json_string_value(value));
        free(have);
    }
    const char *header = json_string_value(json_object_get(exchange, "header"));
    good = good && (header == NULL || strstr(request->head, header) != NULL);
    if (!good && script->problem[0] == '\0')
        (void)dv_format(script->problem, sizeof script->problem, "request %zu is %s %s; the script has %s", script->count, request->method,
                        request->target, target);
    return good;
}

static inline void script_answer(struct script_conn *conn, const struct script_request *request)
{
    struct script *script = conn->script;
    json_t *exchange = json_array_get(script->exchanges, script->at);
    conn->busy = true;
    if (exchange == NULL) {
        script->beyond++;
        return;
    }
    if (!script_matches(script, exchange, request))
        return;
    int64_t repeat = json_integer_value(json_object_get(exchange, "repeat"));
    script->repeated++;
    if ((int64_t)script->repeated >= (repeat > 0 ? repeat : 1)) {
        script->at++;
        script->repeated = 0;
    }
    script_respond(conn, json_object_get(exchange, "respond"));
}

static inline size_t script_length(const char *head)
{
    const char *at = strcasestr(head, "\r\ncontent-length:");
    return at != NULL ? (size_t)strtoull(at + 17, NULL, 10) : 0;
}

static inline void script_take(struct script_conn *conn)
{
    struct script *script = conn->script;
    const char *end = conn->in.len > 0 ? strstr(conn->in.data, "\r\n\r\n") : NULL;
    if (end == NULL || conn->busy || script->count == SCRIPT_REQUESTS_MAX)
        return;
    size_t head_len = (size_t)(end - conn->in.data) + 4;
    struct script_request *request = &script->requests[script->count];
    request->head = dv_strndup(conn->in.data, head_len);
    size_t body_len = script_length(request->head);
    if (conn->in.len < head_len + body_len) {
        free(request->head);
        return;
    }
    script->count++;
    request->at_ms = dv_clock_now().mono_ms;
    size_t method = strcspn(request->head, " ");
    request->method = dv_strndup(request->head, method);
    request->target = dv_strndup(request->head + method + 1, strcspn(request->head + method + 1, " "));
    request->body = dv_strndup(conn->in.data + head_len, body_len);
    dv_buf_drop(&conn->in, head_len + body_len);
    script_answer(conn, request);
}

static inline void script_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    (void)handle;
    *buf = uv_buf_init(dv_alloc(size), (unsigned int)size);
}

static inline void script_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct script_conn *conn = stream->data;
    if (n > 0)
        (void)dv_buf_add(&conn->in, buf->base, (size_t)n);
    free(buf->base);
    if (n < 0)
        script_conn_close(conn);
    else
        script_take(conn);
}

static inline void script_accept(uv_stream_t *server, int status)
{
    struct script *script = server->data;
    struct script_conn *conn = dv_alloc(sizeof *conn);
    (void)status;
    conn->script = script;
    conn->in = DV_BUF_INIT(4u * 1024 * 1024);
    conn->open_handles = 2;
    conn->next = script->conns;
    script->conns = conn;
    script->connections++;
    (void)uv_tcp_init(loop_uv(script->loop), &conn->tcp);
    (void)uv_timer_init(loop_uv(script->loop), &conn->timer);
    conn->tcp.data = conn;
    conn->timer.data = conn;
    (void)uv_accept(server, (uv_stream_t *)&conn->tcp);
    (void)uv_read_start((uv_stream_t *)&conn->tcp, script_alloc, script_read);
}

/* exchanges: borrowed, must outlive the script. */
static inline struct script *script_new(struct loop *loop, json_t *exchanges)
{
    struct script *script = dv_alloc(sizeof *script);
    struct sockaddr_in address;
    int len = sizeof address;
    script->loop = loop;
    script->exchanges = exchanges;
    (void)uv_tcp_init(loop_uv(loop), &script->server);
    script->server.data = script;
    (void)uv_ip4_addr("127.0.0.1", 0, &address);
    if (uv_tcp_bind(&script->server, (const struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&script->server, 64, script_accept) != 0)
        fail_msg("cannot listen on 127.0.0.1");
    (void)uv_tcp_getsockname(&script->server, (struct sockaddr *)&address, &len);
    script->port = (int)(uint16_t)(address.sin_port >> 8 | address.sin_port << 8);
    return script;
}

static inline bool script_is_over(const struct script *script)
{
    return script->at >= json_array_size(script->exchanges);
}

static inline void script_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static inline void script_free(struct script *script)
{
    for (struct script_conn *conn = script->conns; conn != NULL;) {
        struct script_conn *next = conn->next;
        script_conn_close(conn);
        conn = next;
    }
    for (size_t i = 0; i < script->count; i++) {
        free(script->requests[i].method);
        free(script->requests[i].target);
        free(script->requests[i].head);
        free(script->requests[i].body);
    }
    uv_close((uv_handle_t *)&script->server, script_closed);
}

#endif

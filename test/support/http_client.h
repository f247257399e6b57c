/* An HTTP client for tests that share one thread with the server: it turns the loop while it waits. Ends the test after WAIT_MS. */
#ifndef DV_TEST_HTTP_CLIENT_H
#define DV_TEST_HTTP_CLIENT_H

#include "support.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "loop/loop.h"

#define WAIT_MS 15000
#define CLIENT_MAX ((size_t)16 * 1024 * 1024)

struct client {
    struct loop *loop;
    int fd;
    struct dv_buf in;
    bool closed; /* by the server */
};

struct answer {
    int status;
    char head[2048];
    char body[1024]; /* its beginning */
    size_t len;      /* of the body */
};

static inline void turn(struct loop *loop)
{
    (void)uv_run(loop_uv(loop), UV_RUN_NOWAIT);
}

static inline struct client client_open(struct loop *loop, int port)
{
    struct client c = {.loop = loop, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .in = DV_BUF_INIT(CLIENT_MAX)};
    assert_true(c.fd >= 0);
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(connect(c.fd, (struct sockaddr *)&sin, sizeof sin), 0);
    assert_int_equal(fcntl(c.fd, F_SETFL, O_NONBLOCK), 0);
    return c;
}

static inline void client_close(struct client *c)
{
    (void)close(c->fd);
    dv_buf_free(&c->in);
}

/* Ends early when the server has closed. */
static inline void client_send_bytes(struct client *c, const void *bytes, size_t len)
{
    const char *at = bytes;
    int64_t until = dv_clock_now().mono_ms + WAIT_MS;
    while (len > 0) {
        ssize_t n = send(c->fd, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            return;
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
        turn(c->loop);
        assert_true(dv_clock_now().mono_ms < until);
    }
}

static inline void client_send(struct client *c, const char *text)
{
    client_send_bytes(c, text, strlen(text));
}

static inline void client_read_some(struct client *c)
{
    char chunk[65536];
    turn(c->loop);
    (void)poll(&(struct pollfd){.fd = c->fd, .events = POLLIN}, 1, 1);
    ssize_t n = recv(c->fd, chunk, sizeof chunk, 0);
    if (n > 0)
        assert_int_equal(dv_buf_add(&c->in, chunk, (size_t)n), 0);
    else if (n == 0 || errno != EAGAIN)
        c->closed = true;
}

/* Length of the next whole answer in c->in, 0 when there is none yet. */
static inline size_t client_complete(const struct client *c, bool head_only, struct answer *answer)
{
    const char *text = dv_buf_text(&c->in);
    const char *end = strstr(text, "\r\n\r\n");
    if (end == NULL)
        return 0;
    size_t head = (size_t)(end - text) + 4;
    assert_true(head < sizeof answer->head);
    (void)dv_strlcpy(answer->head, text, head + 1);
    assert_true(dv_starts_with(answer->head, "HTTP/1."));
    answer->status = (int)strtol(answer->head + 9, NULL, 10);
    const char *field = strcasestr(answer->head, "content-length: ");
    assert_non_null(field);
    answer->len = head_only ? 0 : (size_t)strtoul(field + 16, NULL, 10);
    if (c->in.len < head + answer->len)
        return 0;
    size_t kept = answer->len < sizeof answer->body ? answer->len : sizeof answer->body - 1;
    memcpy(answer->body, text + head, kept);
    answer->body[kept] = '\0';
    return head + answer->len;
}

/* False when the server closed before a whole answer. */
static inline bool client_answer(struct client *c, bool head_only, struct answer *answer)
{
    int64_t until = dv_clock_now().mono_ms + WAIT_MS;
    for (;;) {
        size_t len = client_complete(c, head_only, answer);
        if (len > 0) {
            dv_buf_drop(&c->in, len);
            return true;
        }
        if (c->closed)
            return false;
        client_read_some(c);
        assert_true(dv_clock_now().mono_ms < until);
    }
}

static inline void client_expect(struct client *c, const char *path, int status, const char *body)
{
    struct answer answer = {0};
    char *request = dv_asprintf("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    client_send(c, request);
    free(request);
    assert_true(client_answer(c, false, &answer));
    assert_int_equal(answer.status, status);
    assert_non_null(strstr(answer.body, body));
    assert_non_null(strstr(answer.head, "Connection: keep-alive\r\n"));
}

static inline void client_expect_closed(struct client *c)
{
    int64_t until = dv_clock_now().mono_ms + WAIT_MS;
    while (!c->closed) {
        client_read_some(c);
        assert_true(dv_clock_now().mono_ms < until);
    }
}

static inline void still_serves(struct loop *loop, int port)
{
    struct client c = client_open(loop, port);
    client_expect(&c, "/healthz", 200, "ok");
    client_close(&c);
}

static inline size_t open_descriptors(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n;
}

#endif

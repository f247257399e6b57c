/* The pages over real sockets, and what is no request at all. */
#include "../support/http_client.h"

#include "base/metrics.h"
#include "web/pulse.h"
#include "web/web.h"

struct fixture {
    struct loop *loop;
    struct web *web;
    int port;
};

static int web_up(void **state)
{
    struct fixture *f = dv_alloc(sizeof *f);
    struct dv_err err = DV_ERR_INIT;
    f->loop = loop_new();
    f->web = web_new(f->loop, "127.0.0.1:0", &err);
    if (f->web == NULL)
        fail_msg("%s", err.text);
    f->port = web_port(f->web);
    assert_true(f->port > 0);
    *state = f;
    return 0;
}

static int web_down(void **state)
{
    struct fixture *f = *state;
    web_free(f->web);
    loop_free(f->loop);
    dv_metrics_free();
    free(f);
    return 0;
}

/* ---------------------------------------------------------------- what is answered */

static void pages(void **state)
{
    static const struct {
        const char *method;
        const char *path;
        int status;
        const char *head;
        const char *body;
    } cases[] = {
        {"GET", "/", 200, "Content-Type: text/plain; charset=utf-8", "/metrics"},
        {"GET", "/healthz", 200, "Cache-Control: no-store", "ok\n"},
        {"GET", "/healthz?verbose=1&x=%20", 200, "200 OK", "ok\n"},
        {"GET", "/%68ealthz", 200, "200 OK", "ok\n"},
        {"GET", "/x/../healthz", 200, "200 OK", "ok\n"},
        {"GET", "/readyz", 503, "503 Service Unavailable", "starting\n"},
        {"GET", "/metrics", 200, "Content-Type: text/plain; version=0.0.4", "distverify_test_total{kind=\"a\"} 7\n"},
        {"GET", "/healthz/", 404, "404 Not Found", "not found\n"},
        {"GET", "/%00x", 400, "400 Bad Request", "bad request\n"},
        {"GET", "/metrics;x", 400, "400 Bad Request", "bad request\n"},
        {"GET", "/../../etc/passwd", 404, "404 Not Found", "not found\n"},
        {"HEAD", "/metrics", 200, "Connection: keep-alive", ""},
        {"HEAD", "/nothing", 404, "404 Not Found", ""},
        {"POST", "/healthz", 405, "Allow: GET, HEAD\r\n", "only GET and HEAD\n"},
        {"PUT", "/metrics", 405, "Connection: close", "only GET and HEAD\n"},
        {"DELETE", "/", 405, "405 Method Not Allowed", "only GET and HEAD\n"},
        {"PATCH", "/readyz", 405, "405 Method Not Allowed", "only GET and HEAD\n"},
        {"OPTIONS", "/nothing", 405, "405 Method Not Allowed", "only GET and HEAD\n"},
        {"OPTIONS", "*", 403, "403", ""},
        {"TRACE", "/healthz", 403, "403", ""},
    };
    struct fixture *f = *state;
    *dv_metric(DV_COUNTER, "distverify_test_total", "A test", "kind=\"a\"") = 7;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct client c = client_open(f->loop, f->port);
        struct answer answer;
        char *request = dv_asprintf("%s %s HTTP/1.1\r\nHost: x\r\n\r\n", cases[i].method, cases[i].path);
        client_send(&c, request);
        if (!client_answer(&c, dv_streq(cases[i].method, "HEAD"), &answer))
            fail_msg("no answer to %s", request);
        if (answer.status != cases[i].status || strstr(answer.head, cases[i].head) == NULL || strstr(answer.body, cases[i].body) == NULL)
            fail_msg("%s -> %s%s", request, answer.head, answer.body);
        free(request);
        client_close(&c);
    }
}

static void readiness_follows(void **state)
{
    struct fixture *f = *state;
    struct client c = client_open(f->loop, f->port);
    web_set_ready(f->web, true, NULL);
    client_expect(&c, "/readyz", 200, "ready\n");
    web_set_ready(f->web, false, "no lease:\r\nheld by b\n");
    client_expect(&c, "/readyz", 503, "no lease:  held by b \n");
    web_set_ready(f->web, false, NULL);
    client_expect(&c, "/readyz", 503, "not ready\n");
    char why[1000];
    memset(why, 'w', sizeof why);
    why[sizeof why - 1] = '\0';
    web_set_ready(f->web, false, why);
    client_expect(&c, "/readyz", 503, "www");
    client_close(&c);
}

static void a_blocked_loop_is_unhealthy(void **state)
{
    struct fixture *f = *state;
    struct client c = client_open(f->loop, f->port);
    client_expect(&c, "/healthz", 200, "ok");
    (void)poll(NULL, 0, WEB_PULSE_LIMIT_MS + 100);
    client_expect(&c, "/healthz", 503, "the event loop was blocked for 5");
    client_expect(&c, "/readyz", 503, "starting\n");
    client_close(&c);
}

static void one_connection_serves_many_requests(void **state)
{
    struct fixture *f = *state;
    struct client c = client_open(f->loop, f->port);
    for (int i = 0; i < 1000; i++)
        client_expect(&c, i % 3 == 0 ? "/metrics" : "/healthz", 200, i % 3 == 0 ? "" : "ok");
    client_close(&c);
}

static void connections_share_the_loop(void **state)
{
    struct fixture *f = *state;
    struct client clients[100];
    for (int i = 0; i < 100; i++)
        clients[i] = client_open(f->loop, f->port);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 100; i++)
            client_send(&clients[i], "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        for (int i = 99; i >= 0; i--) {
            struct answer answer;
            assert_true(client_answer(&clients[i], false, &answer));
            assert_string_equal(answer.body, "ok\n");
        }
    }
    for (int i = 0; i < 100; i++)
        client_close(&clients[i]);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct fixture *f = *state;
    struct client c = client_open(f->loop, f->port);
    static const struct {
        const char *path;
        int status;
    } order[] = {{"/healthz", 200}, {"/nothing", 404}, {"/readyz", 503}, {"/", 200}};
    struct dv_buf text = DV_BUF_INIT(65536);
    for (int i = 0; i < 40; i++)
        (void)dv_buf_addf(&text, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", order[i % 4].path);
    client_send_bytes(&c, text.data, text.len);
    for (int i = 0; i < 40; i++) {
        struct answer answer;
        assert_true(client_answer(&c, false, &answer));
        assert_int_equal(answer.status, order[i % 4].status);
    }
    dv_buf_free(&text);
    client_close(&c);
}

static void a_request_may_come_byte_by_byte(void **state)
{
    struct fixture *f = *state;
    struct client c = client_open(f->loop, f->port);
    for (int round = 0; round < 3; round++) {
        const char *text = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Y: z\r\n\r\n";
        for (; *text != '\0'; text++)
            client_send_bytes(&c, text, 1);
        struct answer answer;
        assert_true(client_answer(&c, false, &answer));
        assert_string_equal(answer.body, "ok\n");
    }
    client_close(&c);
}

static void the_connection_is_closed_when_it_must_be(void **state)
{
    static const char *const requests[] = {
        "GET /healthz HTTP/1.0\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\nGET /metrics HTTP/1.1\r\nHost: evil\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
        "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        ("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
         "AAMAAABkAAQAAP__\r\n\r\n"),
        ("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"),
        "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: irc\r\n\r\n",
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct client c = client_open(f->loop, f->port);
        struct answer answer;
        client_send(&c, requests[i]);
        if (!client_answer(&c, false, &answer))
            fail_msg("no answer to %s", requests[i]);
        if (strstr(answer.head, "keep-alive") != NULL)
            fail_msg("%s -> %s", requests[i], answer.head);
        client_expect_closed(&c);
        assert_int_equal(c.in.len, 0);
        client_close(&c);
    }
}

/* ---------------------------------------------------------------- what is no request */

static void send_and_forget(struct fixture *f, const void *bytes, size_t len)
{
    struct client c = client_open(f->loop, f->port);
    client_send_bytes(&c, bytes, len);
    for (int i = 0; i < 5; i++)
        turn(f->loop);
    client_close(&c);
}

static void garbage_does_not_hurt(void **state)
{
    static const char *const texts[] = {
        "\r\n\r\n",
        "\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "get / http/1.1\r\n\r\n",
        "GET /%zz HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nGET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nPOST / HTTP/1.1\r\n\r\n",
        "CONNECT example:443 HTTP/1.1\r\nHost: example\r\n\r\nraw bytes",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET http://example/ HTTP/1.1\r\nHost: example\r\n\r\n",
        ":authority: x\r\n:path: /\r\n\r\n",
        "GET /?a&b;c=%3d&&&&;;;;&&&& HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        send_and_forget(f, texts[i], strlen(texts[i]));
    uint64_t seed = 88172645463325252U;
    for (int i = 0; i < 300; i++) {
        unsigned char bytes[600];
        size_t prefix = i % 2 == 0 ? 0 : 16;
        memcpy(bytes, "GET /healthz HTT", 16);
        for (size_t k = prefix; k < sizeof bytes; k++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            bytes[k] = (unsigned char)(i % 3 == 0 ? seed & 0x7f : seed);
        }
        send_and_forget(f, bytes, sizeof bytes);
    }
    still_serves(f->loop, f->port);
}

/* Every shape is grown past the limit: it is refused, and the last size that fits is answered. */
static void oversize_is_refused(void **state)
{
    static const struct {
        const char *start;
        const char *unit; /* repeated */
        const char *end;
        bool cannot_end; /* only ever grows */
    } shapes[] = {
        {"GET /", "a", " HTTP/1.1\r\nHost: x\r\n\r\n", false},
        {"GET /?", "a=1&", " HTTP/1.1\r\nHost: x\r\n\r\n", false},
        {"GET /?", "&", " HTTP/1.1\r\nHost: x\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ", "a", "\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: ", "a", "\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: x\r\n", "X-Many: 1\r\n", "\r\n", false},
        {"GET / HTTP/1.1\r\nHost: x\r\n", "Accept: a\r\n", "\r\n", false},
        {"GET / HTTP/1.1\r\nHost: x\r\n", "n", ": v\r\n\r\n", false},
        {"", "a", "", true},
        {"GET /", "../", " HTTP/1.1\r\n\r\n", false},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (size_t size = 1000; size < 200000; size = size * 5 / 4) {
            struct client c = client_open(f->loop, f->port);
            struct dv_buf text = DV_BUF_INIT(1024 * 1024);
            (void)dv_buf_adds(&text, shapes[i].start);
            while (text.len < size)
                (void)dv_buf_adds(&text, shapes[i].unit);
            (void)dv_buf_adds(&text, shapes[i].end);
            client_send_bytes(&c, text.data, text.len);
            struct answer answer = {0};
            bool answered = !shapes[i].cannot_end && client_answer(&c, false, &answer);
            if (answered && answer.status == 200 && size > 20000 && !dv_streq(shapes[i].unit, "../"))
                fail_msg("%zu bytes of %s were taken", size, shapes[i].start);
            dv_buf_free(&text);
            client_close(&c);
        }
    }
    still_serves(f->loop, f->port);
}

static void clients_may_vanish_at_any_byte(void **state)
{
    struct fixture *f = *state;
    static const char text[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    for (size_t len = 0; len < sizeof text; len++) {
        for (int way = 0; way < 3; way++) {
            struct client c = client_open(f->loop, f->port);
            client_send_bytes(&c, text, len);
            if (way == 0)
                (void)setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
            if (way == 1) {
                (void)shutdown(c.fd, SHUT_WR);
                client_expect_closed(&c);
            }
            client_close(&c);
        }
    }
    still_serves(f->loop, f->port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages, web_up, web_down),
        cmocka_unit_test_setup_teardown(readiness_follows, web_up, web_down),
        cmocka_unit_test_setup_teardown(a_blocked_loop_is_unhealthy, web_up, web_down),
        cmocka_unit_test_setup_teardown(one_connection_serves_many_requests, web_up, web_down),
        cmocka_unit_test_setup_teardown(connections_share_the_loop, web_up, web_down),
        cmocka_unit_test_setup_teardown(pipelined_requests_are_answered_in_order, web_up, web_down),
        cmocka_unit_test_setup_teardown(a_request_may_come_byte_by_byte, web_up, web_down),
        cmocka_unit_test_setup_teardown(the_connection_is_closed_when_it_must_be, web_up, web_down),
        cmocka_unit_test_setup_teardown(garbage_does_not_hurt, web_up, web_down),
        cmocka_unit_test_setup_teardown(oversize_is_refused, web_up, web_down),
        cmocka_unit_test_setup_teardown(clients_may_vanish_at_any_byte, web_up, web_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The HTTP server's bounds, its start and its end, over real sockets. */
#include "../support/http_client.h"

#include <sys/resource.h>

#include "loop/ws.h"
#include "web/web.h"

#define BIG ((size_t)6 * 1024 * 1024)

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
    free(f);
    return 0;
}

static void small_handler(void *arg, const struct ws_request *request, struct ws_reply *reply)
{
    (void)arg;
    if (dv_streq(request->path, "/big")) {
        char chunk[4096];
        memset(chunk, 'x', sizeof chunk);
        while (reply->body.len < BIG)
            assert_int_equal(dv_buf_add(&reply->body, chunk, sizeof chunk), 0);
        return;
    }
    (void)dv_buf_addf(&reply->body, "ok %s %s", request->method, request->path);
}

static struct ws_server *server_up(struct loop *loop, struct ws_config config)
{
    struct dv_err err = DV_ERR_INIT;
    config.addr = config.addr != NULL ? config.addr : "127.0.0.1:0";
    config.handler = config.handler != NULL ? config.handler : small_handler;
    struct ws_server *server = ws_server_new(loop, &config, &err);
    if (server == NULL)
        fail_msg("%s", err.text);
    return server;
}

/* ---------------------------------------------------------------- bounds */

static void half_open_connections_end(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "G", "GET /x HTTP/1.1\r\nHost: x\r\nX-Y: half", "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /"};
    struct loop *loop = loop_new();
    struct ws_server *server = server_up(loop, (struct ws_config){.header_s = 1, .idle_s = 2});
    struct client clients[4];
    int64_t start = dv_clock_now().mono_ms;
    for (int i = 0; i < 4; i++) {
        clients[i] = client_open(loop, ws_server_port(server));
        client_send(&clients[i], texts[i]);
    }
    for (int i = 0; i < 4; i++) {
        client_expect_closed(&clients[i]);
        client_close(&clients[i]);
    }
    int64_t took = dv_clock_now().mono_ms - start;
    assert_in_range(took, 500, 6000);
    ws_server_free(server);
    loop_free(loop);
}

static void an_idle_connection_ends(void **state)
{
    (void)state;
    struct loop *loop = loop_new();
    struct ws_server *server = server_up(loop, (struct ws_config){.header_s = 1, .idle_s = 1});
    struct client c = client_open(loop, ws_server_port(server));
    client_expect(&c, "/x", 200, "ok GET /x");
    client_expect_closed(&c);
    client_close(&c);
    ws_server_free(server);
    loop_free(loop);
}

static void a_crowd_waits_outside(void **state)
{
    (void)state;
    struct loop *loop = loop_new();
    struct ws_server *server = server_up(loop, (struct ws_config){.connections = 4});
    struct client clients[12];
    for (int i = 0; i < 12; i++)
        clients[i] = client_open(loop, ws_server_port(server));
    for (int i = 0; i < 4; i++)
        client_expect(&clients[i], "/", 200, "ok");
    for (int i = 4; i < 12; i++)
        client_send(&clients[i], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 50; i++)
        client_read_some(&clients[4]);
    assert_int_equal(clients[4].in.len, 0);
    for (int i = 0; i < 8; i++) {
        struct answer answer;
        client_close(&clients[i]);
        assert_true(client_answer(&clients[i + 4], false, &answer));
        assert_int_equal(answer.status, 200);
    }
    for (int i = 8; i < 12; i++)
        client_close(&clients[i]);
    ws_server_free(server);
    loop_free(loop);
}

static void large_replies_arrive_whole(void **state)
{
    (void)state;
    struct loop *loop = loop_new();
    struct ws_server *server = server_up(loop, (struct ws_config){0});
    struct client c = client_open(loop, ws_server_port(server));
    struct answer answer;
    for (int i = 0; i < 3; i++) {
        client_send(&c, i < 2 ? "GET /big HTTP/1.1\r\nHost: x\r\n\r\n" : "GET /big HTTP/1.0\r\n\r\n");
        assert_true(client_answer(&c, false, &answer));
        assert_int_equal(answer.len, BIG);
    }
    client_expect_closed(&c);
    client_close(&c);
    ws_server_free(server);
    loop_free(loop);
}

static void who_does_not_read_is_dropped(void **state)
{
    (void)state;
    struct loop *loop = loop_new();
    struct ws_server *server = server_up(loop, (struct ws_config){.header_s = 1});
    size_t before = open_descriptors();
    struct client c = client_open(loop, ws_server_port(server));
    client_send(&c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    int64_t until = dv_clock_now().mono_ms + WAIT_MS;
    while (open_descriptors() > before + 1 || dv_clock_now().mono_ms < until - WAIT_MS + 500) {
        turn(loop);
        (void)poll(NULL, 0, 10);
        assert_true(dv_clock_now().mono_ms < until);
    }
    client_close(&c);
    ws_server_free(server);
    loop_free(loop);
}

static void running_out_of_descriptors_passes(void **state)
{
    struct fixture *f = *state;
    const char *preload = getenv("LD_PRELOAD");
    if (preload != NULL && strstr(preload, "valgrind") != NULL)
        skip(); /* it accepts first and looks at the limit then: the connection is lost */
    struct client c = client_open(f->loop, f->port);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    struct rlimit none = {.rlim_cur = (rlim_t)c.fd + 1, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 20; i++)
        turn(f->loop);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    client_expect(&c, "/healthz", 200, "ok");
    client_close(&c);
}

/* ---------------------------------------------------------------- start and stop */

static void addresses(void **state)
{
    (void)state;
    static const char *const good[] = {"127.0.0.1:0", ":0", "0.0.0.0:0"};
    static const char *const bad[] = {
        "",        "8080",           ":",     ":x",   ":65536",      ":-1",  "1.2.3.4",     "[::1]", "[::1:80", "::1:80", "localhost:80",
        "host:80", "[127.0.0.1]:80", "[]:80", "[:80", "1.2.3.4:80 ", " :80", "300.1.1.1:80"};
    struct loop *loop = loop_new();
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct ws_server *server = server_up(loop, (struct ws_config){.addr = good[i]});
        struct client c = client_open(loop, ws_server_port(server));
        client_expect(&c, "/", 200, "ok");
        client_close(&c);
        ws_server_free(server);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct dv_err err = DV_ERR_INIT;
        assert_null(ws_server_new(loop, &(struct ws_config){.addr = bad[i], .handler = small_handler}, &err));
        assert_int_equal(err.kind, DV_ERR_INVALID);
    }
    struct dv_err err = DV_ERR_INIT;
    struct ws_server *v6 = ws_server_new(loop, &(struct ws_config){.addr = "[::1]:0", .handler = small_handler}, &err);
    assert_true(v6 != NULL || strstr(err.text, "cannot listen on \"[::1]:0\"") != NULL); /* a machine may have no IPv6 */
    ws_server_free(v6);
    loop_free(loop);
}

/* An IPv6-only pod is probed at its IPv6 address, an IPv4-only one at its IPv4 address. */
static void no_host_is_both_families(void **state)
{
    (void)state;
    struct loop *loop = loop_new();
    struct ws_server *server = server_up(loop, (struct ws_config){.addr = ":0"});
    uint16_t port = htons((uint16_t)ws_server_port(server));
    struct client v4 = client_open(loop, ws_server_port(server));
    client_expect(&v4, "/4", 200, "ok GET /4");
    client_close(&v4);
    struct client v6 = {.loop = loop, .fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), .in = DV_BUF_INIT(CLIENT_MAX)};
    struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = in6addr_loopback};
    bool there = v6.fd >= 0;
    if (there && connect(v6.fd, (struct sockaddr *)&sin6, sizeof sin6) != 0) {
        assert_int_equal(errno, EADDRNOTAVAIL); /* the machine has no IPv6; refused would be ours */
        there = false;
    }
    if (there) {
        assert_int_equal(fcntl(v6.fd, F_SETFL, O_NONBLOCK), 0);
        client_expect(&v6, "/6", 200, "ok GET /6");
        client_close(&v6);
    }
    ws_server_free(server);
    loop_free(loop);
    if (!there)
        skip();
}

static void a_taken_port_is_said(void **state)
{
    struct fixture *f = *state;
    struct dv_err err = DV_ERR_INIT;
    char addr[64];
    (void)dv_format(addr, sizeof addr, "127.0.0.1:%d", f->port);
    assert_null(web_new(f->loop, addr, &err));
    assert_int_equal(err.kind, DV_ERR_CONFLICT);
    assert_non_null(strstr(err.text, addr));
    still_serves(f->loop, f->port);
}

/* Connections in every state: nothing said, half a request, answered and idle, in the middle of a large reply, just closed. */
static void stop_with_connections(struct loop *loop, struct ws_server *server)
{
    static const char *const texts[] = {"",
                                        "GET /x HTT",
                                        "GET /x HTTP/1.1\r\n\r\n",
                                        "GET /big HTTP/1.1\r\n\r\n",
                                        "GET /big HTTP/1.0\r\n\r\n",
                                        "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n123"};
    struct client clients[6];
    for (int i = 0; i < 6; i++) {
        clients[i] = client_open(loop, ws_server_port(server));
        client_send(&clients[i], texts[i]);
        turn(loop);
    }
    struct client gone = client_open(loop, ws_server_port(server));
    client_close(&gone);
    struct client queued = client_open(loop, ws_server_port(server));
    ws_server_free(server);
    for (int i = 0; i < 6; i++) {
        client_expect_closed(&clients[i]);
        client_close(&clients[i]);
    }
    client_expect_closed(&queued);
    client_close(&queued);
}

static void a_server_starts_and_stops_many_times(void **state)
{
    (void)state;
    struct loop *loop = loop_new();
    char addr[64] = "127.0.0.1:0";
    size_t before = 0;
    for (int i = 0; i < 20; i++) {
        struct ws_server *server = server_up(loop, (struct ws_config){.addr = addr});
        (void)dv_format(addr, sizeof addr, "127.0.0.1:%d", ws_server_port(server));
        if (i % 2 == 0)
            stop_with_connections(loop, server);
        else
            ws_server_free(server);
        if (i % 4 == 1)
            (void)uv_run(loop_uv(loop), UV_RUN_DEFAULT);
        if (i == 1)
            before = open_descriptors();
        if (i == 17)
            assert_int_equal(open_descriptors(), before);
    }
    loop_free(loop);
}

static void a_loop_per_server_each_time(void **state)
{
    (void)state;
    size_t before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        struct loop *loop = loop_new();
        struct ws_server *server = server_up(loop, (struct ws_config){0});
        if (i % 2 == 0)
            turn(loop);
        if (i % 3 == 0)
            stop_with_connections(loop, server);
        else
            ws_server_free(server);
        loop_free(loop);
    }
    assert_int_equal(open_descriptors(), before);
}

static void two_servers_stop_together(void **state)
{
    struct fixture *f = *state;
    struct ws_server *a = server_up(f->loop, (struct ws_config){0});
    struct ws_server *b = server_up(f->loop, (struct ws_config){0});
    struct client ca = client_open(f->loop, ws_server_port(a));
    struct client cb = client_open(f->loop, ws_server_port(b));
    client_expect(&ca, "/a", 200, "ok GET /a");
    client_expect(&cb, "/b", 200, "ok GET /b");
    ws_server_free(a);
    ws_server_free(b);
    client_expect_closed(&ca);
    client_expect_closed(&cb);
    client_close(&ca);
    client_close(&cb);
    still_serves(f->loop, f->port);
}

static void stopping_handler(void *arg, const struct ws_request *request, struct ws_reply *reply)
{
    struct ws_server **server = arg;
    small_handler(NULL, request, reply);
    ws_server_free(*server);
    *server = NULL;
}

static void the_handler_may_stop_the_server(void **state)
{
    struct fixture *f = *state;
    struct ws_server *server = NULL;
    server = server_up(f->loop, (struct ws_config){.handler = stopping_handler, .arg = &server});
    struct client c = client_open(f->loop, ws_server_port(server));
    client_send(&c, "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
    client_expect_closed(&c);
    assert_null(server);
    client_close(&c);
    still_serves(f->loop, f->port);
}

static void null_is_freed(void **state)
{
    (void)state;
    ws_server_free(NULL);
    web_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_open_connections_end),
        cmocka_unit_test(an_idle_connection_ends),
        cmocka_unit_test(a_crowd_waits_outside),
        cmocka_unit_test(large_replies_arrive_whole),
        cmocka_unit_test(who_does_not_read_is_dropped),
        cmocka_unit_test_setup_teardown(running_out_of_descriptors_passes, web_up, web_down),
        cmocka_unit_test(addresses),
        cmocka_unit_test(no_host_is_both_families),
        cmocka_unit_test_setup_teardown(a_taken_port_is_said, web_up, web_down),
        cmocka_unit_test(a_server_starts_and_stops_many_times),
        cmocka_unit_test(a_loop_per_server_each_time),
        cmocka_unit_test_setup_teardown(two_servers_stop_together, web_up, web_down),
        cmocka_unit_test_setup_teardown(the_handler_may_stop_the_server, web_up, web_down),
        cmocka_unit_test(null_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

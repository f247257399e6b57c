/* HTTP peers against a scripted server. */
#include "../support/http_script.h"

#include "loop/http.h"

struct client {
    struct loop *loop;
    struct script *script;
    json_t *exchanges;
    struct http_peer *peer;
    struct loop_timer *limit;
    struct http_call *other; /* cancelled by the first that ends */
    size_t done, wanted, pieces;
    struct dv_err err;
    int status;
    char *body;
    struct dv_buf data;
    int64_t retry_after_ms;
    bool late, free_peer, cancel_self, start_again;
    struct http_call *self;
};

static void client_late(void *arg)
{
    struct client *client = arg;
    client->late = true;
    loop_stop(client->loop);
}

static struct client *client_new(const char *exchanges, size_t max_active)
{
    struct client *client = dv_alloc(sizeof *client);
    char url[64];
    struct dv_err err = DV_ERR_INIT;
    client->loop = loop_new();
    client->exchanges = json_loads(exchanges, 0, NULL);
    assert_non_null(client->exchanges);
    client->script = script_new(client->loop, client->exchanges);
    client->limit = loop_timer_new(client->loop, client_late, client);
    client->data = DV_BUF_INIT(64u * 1024 * 1024);
    struct http_peer_options options = {.url = dv_format(url, sizeof url, "http://127.0.0.1:%d/pre/", client->script->port),
                                        .user_agent = "test/0",
                                        .max_active = max_active};
    client->peer = http_peer_new(client->loop, &options, &err);
    assert_non_null(client->peer);
    return client;
}

static void client_run(struct client *client, int64_t ms)
{
    loop_timer_set(client->limit, ms);
    loop_run(client->loop);
    loop_timer_clear(client->limit);
}

static void client_free(struct client *client)
{
    if (!client->free_peer)
        http_peer_free(client->peer);
    script_free(client->script);
    loop_timer_free(client->limit);
    loop_free(client->loop);
    json_decref(client->exchanges);
    dv_buf_free(&client->data);
    free(client->body);
    free(client);
}

static void on_done(void *arg, const struct http_answer *answer);

static void client_get(struct client *client, const char *target)
{
    struct http_request request = {.method = "GET", .target = target, .timeout_ms = 5000, .on_done = on_done, .arg = client};
    (void)http_start(client->peer, &request);
}

static void on_done(void *arg, const struct http_answer *answer)
{
    struct client *client = arg;
    client->err = answer->err;
    client->status = answer->status;
    client->retry_after_ms = answer->retry_after_ms;
    free(client->body);
    client->body = dv_strdup(answer->body);
    if (client->other != NULL)
        http_cancel(client->other);
    client->other = NULL;
    if (client->start_again)
        client_get(client, "/again");
    client->start_again = false;
    if (client->free_peer)
        http_peer_free(client->peer);
    if (++client->done == client->wanted)
        loop_stop(client->loop);
}

static void on_data(void *arg, const char *bytes, size_t len)
{
    struct client *client = arg;
    client->pieces++;
    (void)dv_buf_add(&client->data, bytes, len);
    if (client->cancel_self) {
        http_cancel(client->self);
        assert_int_equal(bytes[0], 'x'); /* still readable */
        loop_timer_set(client->limit, 50);
    }
    if (client->free_peer) {
        http_peer_free(client->peer);
        loop_timer_set(client->limit, 50);
    }
}

static void client_stream(struct client *client, int64_t stall_ms)
{
    struct http_request request = {
        .method = "GET", .target = "/s", .stall_ms = stall_ms, .on_data = on_data, .on_done = on_done, .arg = client};
    client->self = http_start(client->peer, &request);
}

#define GET(path, respond) "{\"target\": \"/pre" path "\", \"respond\": " respond "}"

static void one_connection_serves_many(void **state)
{
    (void)state;
    struct client *client = client_new("[" GET("/a", "{\"body\": \"one\"}") "," GET(
                                           "/again", "{\"status\": 404, \"body\": \"two\", \"headers\": {\"Retry-After\": \"7\"}}") "]",
                                       0);
    client->wanted = 2;
    client->start_again = true;
    client_get(client, "/a");
    assert_int_equal(client->script->count, 0);
    client_run(client, 3000);
    assert_int_equal(client->done, 2);
    assert_int_equal(client->status, 404);
    assert_string_equal(client->body, "two");
    assert_int_equal(client->retry_after_ms, 7000);
    assert_int_equal(client->err.kind, DV_ERR_NONE);
    assert_int_equal(client->script->connections, 1);
    assert_null(strcasestr(client->script->requests[0].head, "accept-encoding"));
    assert_non_null(strstr(client->script->requests[0].head, "User-Agent: test/0"));
    client_free(client);
}

static void writes_carry_body_and_headers(void **state)
{
    (void)state;
    struct client *client = client_new("[{\"method\": \"PATCH\", \"target\": \"/pre/b\", \"respond\": {\"body\": \"\"}}]", 0);
    static const char *const headers[] = {"X-One: 1", "Content-Type: application/merge-patch+json", NULL};
    char *body = dv_alloc(2u * 1024 * 1024 + 1);
    memset(body, 'y', 2u * 1024 * 1024);
    struct http_request request = {
        .method = "PATCH", .target = "/b", .headers = headers, .body = body, .body_len = strlen(body), .on_done = on_done, .arg = client};
    client->wanted = 1;
    (void)http_start(client->peer, &request);
    memset(body, 'z', 10); /* it was copied */
    client_run(client, 5000);
    assert_int_equal(client->status, 200);
    assert_int_equal(strlen(client->script->requests[0].body), 2u * 1024 * 1024);
    assert_int_equal(client->script->requests[0].body[0], 'y');
    assert_non_null(strstr(client->script->requests[0].head, "X-One: 1"));
    assert_null(strcasestr(client->script->requests[0].head, "Expect:"));
    free(body);
    client_free(client);
}

static void only_so_many_at_once(void **state)
{
    (void)state;
    struct client *client = client_new("[{\"target\": \"/pre/a\", \"repeat\": 7, \"respond\": {\"pieces\": [\"x\"], \"waitMs\": 30}}]", 2);
    client->wanted = 7;
    for (int i = 0; i < 7; i++)
        client_get(client, "/a");
    client_run(client, 5000);
    assert_int_equal(client->done, 7);
    assert_int_equal(client->script->connections, 2);
    client_free(client);
}

static void streams_come_in_pieces(void **state)
{
    (void)state;
    struct client *client =
        client_new("[" GET("/s", "{\"pieces\": [\"ab\", \"cd\", {\"repeat\": \"e\", \"times\": 300000}], \"delayMs\": 20}") "]", 1);
    client->wanted = 1;
    client_stream(client, 1000);
    client_run(client, 5000);
    assert_int_equal(client->done, 1);
    assert_true(client->pieces >= 3);
    assert_int_equal(client->data.len, 300004);
    assert_string_equal(client->body, "");
    client_free(client);
}

static void refused_streams_are_bodies(void **state)
{
    (void)state;
    struct client *client = client_new("[" GET("/s", "{\"status\": 403, \"pieces\": [\"no\", \" way\"]}") "]", 0);
    client->wanted = 1;
    client_stream(client, 1000);
    client_run(client, 5000);
    assert_int_equal(client->pieces, 0);
    assert_int_equal(client->status, 403);
    assert_string_equal(client->body, "no way");
    client_free(client);
}

static void silence_ends_a_stream(void **state)
{
    (void)state;
    struct client *client = client_new("[" GET("/s", "{\"pieces\": [\"a\", \"b\", \"c\"], \"delayMs\": 400, \"end\": \"hang\"}") "]", 0);
    client->wanted = 1;
    client_stream(client, 1000); /* less than all the pieces take together */
    client_run(client, 15000);
    assert_int_equal(client->err.kind, DV_ERR_TIMEOUT);
    assert_string_equal(dv_buf_text(&client->data), "abc");
    client_free(client);
}

static void time_ends_a_call(void **state)
{
    (void)state;
    struct client *client = client_new("[]", 1);
    struct http_request request = {.method = "GET", .target = "/a", .timeout_ms = 100, .on_done = on_done, .arg = client};
    client->wanted = 1;
    (void)http_start(client->peer, &request);
    client_run(client, 5000);
    assert_int_equal(client->err.kind, DV_ERR_TIMEOUT);
    assert_true(client->err.retry);
    assert_non_null(strstr(client->err.text, "127.0.0.1:"));
    client_free(client);
}

static void waiting_too_long_is_not_sent(void **state)
{
    (void)state;
    struct client *client = client_new("[]", 1);
    struct http_request request = {.method = "GET", .target = "/a", .timeout_ms = 1000, .on_done = on_done, .arg = client};
    (void)http_start(client->peer, &request);
    request.timeout_ms = 100;
    client->wanted = 1;
    (void)http_start(client->peer, &request);
    client_run(client, 5000);
    assert_int_equal(client->err.kind, DV_ERR_UNREACHABLE);
    assert_non_null(strstr(client->err.text, "not sent"));
    assert_int_equal(client->script->count, 1);
    client_free(client);
}

static void bodies_are_bounded(void **state)
{
    (void)state;
    struct client *client = client_new("[" GET("/a", "{\"pieces\": [{\"repeat\": \"x\", \"times\": 2000}]}") "]", 0);
    struct http_request request = {.method = "GET", .target = "/a", .max_body = 1000, .on_done = on_done, .arg = client};
    client->wanted = 1;
    (void)http_start(client->peer, &request);
    client_run(client, 5000);
    assert_int_equal(client->err.kind, DV_ERR_LIMIT);
    assert_string_equal(client->body, "");
    client_free(client);
}

static void cancelled_calls_are_silent(void **state)
{
    (void)state;
    struct client *client = client_new("[" GET("/a", "{\"body\": \"x\"}") "]", 0);
    struct http_request request = {.method = "GET", .target = "/other", .on_done = on_done, .arg = client};
    client->wanted = 2;
    client_get(client, "/a");
    client->other = http_start(client->peer, &request);
    struct http_call *third = http_start(client->peer, &request);
    http_cancel(third);
    http_cancel(NULL);
    client_run(client, 200);
    assert_int_equal(client->done, 1);
    client_free(client);
}

static void a_stream_may_cancel_itself(void **state)
{
    (void)state;
    struct client *client = client_new("[" GET("/s", "{\"pieces\": [\"x\", \"x\"], \"delayMs\": 10}") "]", 0);
    client->wanted = 1;
    client->cancel_self = true;
    client_stream(client, 1000);
    client_run(client, 2000);
    assert_int_equal(client->pieces, 1);
    assert_int_equal(client->done, 0);
    client_free(client);
}

static void a_peer_may_end_from_within(void **state)
{
    (void)state;
    struct client *client = client_new("[" GET("/s", "{\"pieces\": [\"x\", \"x\"], \"delayMs\": 10}") "]", 0);
    client->free_peer = true;
    client_stream(client, 1000);
    client_run(client, 2000);
    assert_int_equal(client->pieces, 1);
    client_free(client);

    client = client_new("[" GET("/a", "{\"body\": \"x\"}") "]", 0);
    client->wanted = 1;
    client->free_peer = true;
    client_get(client, "/a");
    client_get(client, "/b");
    client_run(client, 2000);
    assert_int_equal(client->done, 1);
    client_free(client);
}

static void check_unreachable(const char *url, enum dv_err_kind kind, const char *part)
{
    struct client *client = client_new("[]", 0);
    struct dv_err err = DV_ERR_INIT;
    http_peer_free(client->peer);
    client->peer = http_peer_new(client->loop, &(struct http_peer_options){.url = url, .user_agent = "t"}, &err);
    assert_non_null(client->peer);
    client->wanted = 1;
    client_get(client, "/");
    client_run(client, 8000);
    assert_int_equal(client->err.kind, kind);
    if (strstr(client->err.text, part) == NULL)
        fail_msg("%s", client->err.text);
    client_free(client);
}

static void nobody_there(void **state)
{
    (void)state;
    check_unreachable("http://127.0.0.1:1", DV_ERR_UNREACHABLE, "127.0.0.1:1: no connection");
    check_unreachable("https://[::1]:1", DV_ERR_UNREACHABLE, "[::1]:1");
    check_unreachable("http://nowhere.invalid", DV_ERR_UNREACHABLE, "nowhere.invalid:80: host name is not known");
}

static void urls_that_are_none(void **state)
{
    (void)state;
    static const char *const urls[] = {"", "x", "ftp://h", "https://", "https://u:p@h", "https://h/?q", "https://h/#f", "https://h:99999"};
    struct loop *loop = loop_new();
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct dv_err err = DV_ERR_INIT;
        assert_null(http_peer_new(loop, &(struct http_peer_options){.url = urls[i], .user_agent = "t"}, &err));
        assert_int_equal(err.kind, DV_ERR_INVALID);
        assert_null(strstr(err.text, "u:p"));
    }
    struct dv_err err = DV_ERR_INIT;
    assert_null(http_peer_new(loop, &(struct http_peer_options){.url = "https://h", .ca = "nothing", .user_agent = "t"}, &err));
    assert_int_equal(err.kind, DV_ERR_CERT);
    http_peer_free(NULL);
    loop_free(loop);
}

int main(void)
{
    (void)setenv("http_proxy", "http://127.0.0.1:1", 1);
    (void)setenv("HTTPS_PROXY", "http://127.0.0.1:1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_connection_serves_many),
        cmocka_unit_test(writes_carry_body_and_headers),
        cmocka_unit_test(only_so_many_at_once),
        cmocka_unit_test(streams_come_in_pieces),
        cmocka_unit_test(refused_streams_are_bodies),
        cmocka_unit_test(silence_ends_a_stream),
        cmocka_unit_test(time_ends_a_call),
        cmocka_unit_test(waiting_too_long_is_not_sent),
        cmocka_unit_test(bodies_are_bounded),
        cmocka_unit_test(cancelled_calls_are_silent),
        cmocka_unit_test(a_stream_may_cancel_itself),
        cmocka_unit_test(a_peer_may_end_from_within),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(urls_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

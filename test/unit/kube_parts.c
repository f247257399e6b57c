/* The small parts of pkg/kube: lines out of pieces, spans of JSON, base64, paths, the store, back-off. */
#include "../support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/b64.h"
#include "kube/frame.h"
#include "kube/room.h"
#include "kube/scan.h"
#include "kube/store.h"

/* ---------------------------------------------------------------- frame */

struct lines {
    struct dv_buf text;
    size_t stop_after;
    size_t count;
};

static bool take_line(void *arg, char *line, size_t len)
{
    struct lines *lines = arg;
    assert_int_equal(strlen(line), len);
    (void)dv_buf_addf(&lines->text, "[%s]", line);
    return ++lines->count != lines->stop_after;
}

static void lines_out_of_pieces(void **state)
{
    (void)state;
    static const char text[] = "one\ntwo\r\n\n\nthree\nfour";
    for (size_t piece = 1; piece <= sizeof text; piece++) {
        struct kube_frame frame;
        struct lines lines = {.text = DV_BUF_INIT(1000)};
        kube_frame_init(&frame, 5);
        for (size_t at = 0; at < sizeof text - 1; at += piece)
            assert_int_equal(
                kube_frame_feed(&frame, text + at, at + piece < sizeof text - 1 ? piece : sizeof text - 1 - at, take_line, &lines), 0);
        assert_string_equal(dv_buf_text(&lines.text), "[one][two][three]");
        kube_frame_end(&frame, take_line, &lines);
        assert_string_equal(dv_buf_text(&lines.text), "[one][two][three][four]");
        kube_frame_free(&frame);
        dv_buf_free(&lines.text);
    }
}

static void long_lines(void **state)
{
    (void)state;
    struct kube_frame frame;
    struct lines lines = {.text = DV_BUF_INIT(1000)};
    kube_frame_init(&frame, 4);
    assert_int_equal(kube_frame_feed(&frame, "abcd\nab", 7, take_line, &lines), 0);
    assert_int_equal(kube_frame_feed(&frame, "cde\n", 4, take_line, &lines), -1);
    kube_frame_free(&frame);
    kube_frame_feed_cut(&frame, "abc", 3, take_line, &lines);
    kube_frame_feed_cut(&frame, "def", 3, take_line, &lines);
    kube_frame_feed_cut(&frame, "ghi\nnext\n", 9, take_line, &lines);
    assert_string_equal(dv_buf_text(&lines.text), "[abcd][abcd][next]");
    kube_frame_free(&frame);
    lines.stop_after = 4;
    assert_int_equal(kube_frame_feed(&frame, "a\nb\nc\n", 6, take_line, &lines), 0);
    assert_int_equal(lines.count, 4);
    kube_frame_free(&frame);
    dv_buf_free(&lines.text);
}

/* ---------------------------------------------------------------- scan */

static struct scan_span span(const char *text)
{
    return (struct scan_span){text, strlen(text)};
}

static int take_value(void *arg, struct scan_span key, struct scan_span value)
{
    (void)dv_buf_addf(arg, "%.*s=%.*s;", (int)key.len, key.text, (int)value.len, value.text);
    return 0;
}

static void spans(void **state)
{
    (void)state;
    struct dv_buf out = DV_BUF_INIT(1000);
    assert_int_equal(scan_object(span(" { \"a\" : 1 , \"b}\":{\"x\":[\"]\\\"\"]}, \"c\":\"q\\\\\" ,\"d\":null}"), take_value, &out), 0);
    assert_string_equal(dv_buf_text(&out), "a=1;b}={\"x\":[\"]\\\"\"]};c=\"q\\\\\";d=null;");
    dv_buf_reset(&out);
    assert_int_equal(scan_array(span("[1,[2],{}, \"a,b\"]"), take_value, &out), 0);
    assert_string_equal(dv_buf_text(&out), "=1;=[2];={};=\"a,b\";");
    static const char *const broken[] = {"",          "{",           "{\"a\"",     "{\"a\":", "{\"a\":1",
                                         "{\"a\":[}", "{\"a\":\"x}", "{\"a\":1,}", "{a:1}",   "{\"a\" 1}"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_int_equal(scan_object(span(broken[i]), take_value, &out), -1);
    assert_int_equal(scan_array(span("[1"), take_value, &out), -1);
    assert_int_equal(scan_object(span("{}"), take_value, &out), 0);
    assert_true(scan_is_whole_object(span(" {\"a\":[1]} \n")));
    assert_false(scan_is_whole_object(span("{\"a\":[1]}x")));
    assert_false(scan_is_whole_object(span("{\"a\":[1]")));
    assert_false(scan_is_whole_object(span("[]")));
    assert_int_equal(scan_member(span("{\"items\":[1],\"item\":2}"), "item").len, 1);
    assert_null(scan_member(span("[]"), "a").text);
    assert_null(scan_plain_string(span("\"a\\n\"")).text);
    dv_buf_free(&out);
}

static void spans_nest_within_bounds(void **state)
{
    (void)state;
    struct dv_buf out = DV_BUF_INIT(10000);
    char deep[2 * SCAN_DEPTH_MAX + 8];
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    assert_int_equal(scan_array(span(deep), take_value, &out), -1);
    dv_buf_free(&out);
}

/* ---------------------------------------------------------------- base64 */

static void base64(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                                           {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe", "//4="}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        size_t len = 0;
        char *encoded = dv_b64_encode(pairs[i][0], strlen(pairs[i][0]));
        char *decoded = dv_b64_decode(pairs[i][1], strlen(pairs[i][1]), &len);
        assert_string_equal(encoded, pairs[i][1]);
        assert_non_null(decoded);
        assert_int_equal(len, strlen(pairs[i][0]));
        assert_memory_equal(decoded, pairs[i][0], len + 1);
        free(encoded);
        dv_wipe(decoded, len);
    }
    static const char *const broken[] = {"Z", "Zg", "Zg=", "Zg===", "Z===", "=", "Zg==Zg==", "Zm9 v", "Zm9v-", "Zm8=b"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        size_t len = 0;
        assert_null(dv_b64_decode(broken[i], strlen(broken[i]), &len));
    }
    size_t len = 0;
    char *folded = dv_b64_decode("Zm9v\nYg==\r\n", 11, &len);
    assert_string_equal(folded, "foob");
    dv_wipe(folded, len);
    dv_wipe(NULL, 0);
}

/* ---------------------------------------------------------------- paths, texts */

static void paths(void **state)
{
    (void)state;
    struct dv_buf out = DV_BUF_INIT(1000);
    char text[KUBE_RESOURCE_TEXT];
    struct port_resource resource = {.group = "", .plural = "pods", .ns = "a", .name = "b/../c", .subresource = "log"};
    kube_path_add(&out, &resource, "v1");
    kube_query_add(&out, "x", "a=b&c");
    kube_query_add(&out, "y", NULL);
    kube_query_add(&out, "z", "1");
    assert_string_equal(dv_buf_text(&out), "/api/v1/namespaces/a/pods/b%2F..%2Fc/log?x=a%3Db%26c&z=1");
    assert_string_equal(kube_resource_text(&resource, text), "pods/log a/b/../c");
    dv_buf_reset(&out);
    resource = (struct port_resource){.group = "kafka.strimzi.io", .plural = "kafkaconnects"};
    kube_path_add(&out, &resource, "v1");
    assert_string_equal(dv_buf_text(&out), "/apis/kafka.strimzi.io/v1/kafkaconnects");
    assert_string_equal(kube_resource_text(&resource, text), "kafkaconnects.kafka.strimzi.io");
    dv_buf_free(&out);
}

static void store(void **state)
{
    (void)state;
    struct kube_store kept = {.keep_text = true};
    json_t *object = json_pack("{s:i}", "a", 1);
    char ns[64];
    assert_true(kube_store_put(&kept, "n", "x", "1", object));
    assert_false(kube_store_put(&kept, "n", "x", "1", object));
    assert_true(kube_store_put(&kept, "n", "x", "2", object));
    assert_true(kube_store_put(&kept, "", "n/x", "2", object)); /* no name holds a slash; the keys differ all the same */
    struct kube_store_entry *entry = kube_store_find(&kept, "n", "x");
    assert_string_equal(entry->key + entry->name_at, "x");
    assert_string_equal(kube_store_ns(entry, ns), "n");
    assert_string_equal(entry->text, "{\"a\":1}");
    kept.generation++;
    (void)kube_store_put(&kept, "n", "x", "2", object);
    assert_ptr_equal(kube_store_old(&kept), kube_store_find(&kept, "", "n/x"));
    kube_store_remove(&kept, kube_store_old(&kept));
    assert_null(kube_store_old(&kept));
    kube_store_free(&kept);
    json_decref(object);
}

static void back_off(void **state)
{
    (void)state;
    struct kube kube = {.periods_div = 1};
    struct kube_backoff backoff = {0};
    int64_t last = 0;
    for (int i = 0; i < 12; i++) {
        int64_t ms = kube_backoff_next(&kube, &backoff, 0);
        assert_in_range(ms, 500, 30000);
        assert_true(ms > last || ms >= 24000);
        last = ms;
    }
    assert_int_equal(kube_backoff_next(&kube, &backoff, 60000), 60000);
    assert_int_equal(kube_backoff_next(&kube, &backoff, 86399000), 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_out_of_pieces),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(spans),
        cmocka_unit_test(spans_nest_within_bounds),
        cmocka_unit_test(base64),
        cmocka_unit_test(paths),
        cmocka_unit_test(store),
        cmocka_unit_test(back_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

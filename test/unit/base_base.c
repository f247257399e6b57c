#include "../support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/timefmt.h"

#include <stdio.h>
#include <unistd.h>

static void first_error_wins(void **state)
{
    (void)state;
    struct dv_err err = DV_ERR_INIT;
    assert_int_equal(dv_err_set(&err, DV_ERR_NOT_FOUND, "no topic %s", "t\n1"), -1);
    (void)dv_err_set(&err, DV_ERR_INTERNAL, "second");
    (void)dv_err_wrap(&err, "cluster %s", "dc1");
    assert_string_equal(err.text, "cluster dc1: no topic t 1");
    assert_int_equal(err.kind, DV_ERR_NOT_FOUND);
    assert_int_equal(dv_err_set(NULL, DV_ERR_INTERNAL, "nobody listens"), -1);
}

static void long_errors_are_cut(void **state)
{
    (void)state;
    struct dv_err err = DV_ERR_INIT;
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    (void)dv_err_set(&err, DV_ERR_INVALID, "%s", text);
    (void)dv_err_wrap(&err, "%s", text);
    assert_int_equal(strlen(err.text), DV_ERR_TEXT_MAX - 1);
}

/* What becomes a message of a status must be a text that JSON takes. */
static void errors_are_utf8(void **state)
{
    (void)state;
    struct dv_err err = DV_ERR_INIT;
    char text[DV_ERR_TEXT_MAX];
    memset(text, 'x', sizeof text);
    memcpy(text + sizeof text - 3, "\xe2\x82", 3);
    (void)dv_err_set(&err, DV_ERR_INVALID, "M\xfcller\x7f");
    assert_string_equal(err.text, "M?ller ");
    err = DV_ERR_INIT;
    (void)dv_err_set(&err, DV_ERR_INVALID, "%s\xac", text);
    assert_int_equal(strlen(err.text), DV_ERR_TEXT_MAX - 3);
    (void)dv_err_wrap(&err, "caf\xc3");
    assert_int_equal(strncmp(err.text, "caf?: xxx", 9), 0);
}

static void a_buffer_keeps_its_maximum(void **state)
{
    (void)state;
    struct dv_buf buf = DV_BUF_INIT(10);
    assert_string_equal(dv_buf_text(&buf), "");
    assert_int_equal(dv_buf_adds(&buf, "01234"), 0);
    assert_int_equal(dv_buf_addf(&buf, "%d", 123456), -1);
    assert_string_equal(dv_buf_text(&buf), "01234");
    assert_int_equal(dv_buf_addf(&buf, "%d", 56789), 0);
    assert_int_equal(dv_buf_adds(&buf, "x"), -1);
    dv_buf_drop(&buf, 7);
    assert_string_equal(dv_buf_text(&buf), "789");
    dv_buf_drop(&buf, 100);
    assert_int_equal(buf.len, 0);
    dv_buf_free(&buf);
    dv_buf_free(&buf);
}

static void durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"60s", 60000}, {"1h30m", 5400000}, {"500ms", 500}, {"1m500ms", 60500}, {"0s", 0}};
    static const char *const bad[] = {"", "-5s", "5", "s", "5 s", "5d", "1.5s", "99999999999999h", "999999999h", "5s ", "5s-1s"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ms = -1;
        assert_int_equal(dv_duration_parse(good[i].text, &ms), 0);
        assert_int_equal(ms, good[i].ms);
        char text[64];
        dv_duration_format(ms, text, sizeof text);
        int64_t again = -1;
        assert_int_equal(dv_duration_parse(text, &again), 0);
        assert_int_equal(again, ms);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ms = 77;
        assert_int_equal(dv_duration_parse(bad[i], &ms), -1);
        assert_int_equal(ms, 77);
    }
}

static void times(void **state)
{
    (void)state;
    int64_t ms = 0;
    assert_int_equal(dv_time_parse("2026-03-02T10:00:00.123456789Z", &ms), 0);
    assert_int_equal(ms % 1000, 123);
    char text[DV_TIME_TEXT];
    dv_time_format(ms, text);
    assert_string_equal(text, "2026-03-02T10:00:00Z");
    int64_t other = 0;
    assert_int_equal(dv_time_parse("2026-03-02T12:00:00.123+02:00", &other), 0);
    assert_int_equal(other, ms);
    dv_time_format_micro(1772445600123456, text);
    assert_string_equal(text, "2026-03-02T10:00:00.123456Z");
    assert_int_equal(dv_time_parse("2026-03-02", &ms), -1);
    assert_int_equal(dv_time_parse("2026-03-02T10:00:00", &ms), -1);
    assert_int_equal(dv_time_parse(NULL, &ms), -1);
}

/* What is read can be written and read again. */
static void odd_times(void **state)
{
    (void)state;
    static const char *const good[] = {"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0506-03-02T11:03:20Z",
                                       "1969-12-31T23:59:59Z", "2024-02-29T00:00:00Z", "9999-12-31T23:59:59Z"};
    static const char *const bad[] = {"2026-00-01T00:00:00Z",      "2026-13-01T00:00:00Z",      "2026-01-00T00:00:00Z",
                                      "2026-02-29T00:00:00Z",      "2026-04-31T00:00:00Z",      "2026-01-01T24:00:00Z",
                                      "2026-01-01T00:60:00Z",      "2026-01-01T00:00:61Z",      "2026-01-01T00:00:00.Z",
                                      "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60", "0000-01-01T00:00:00+01:00",
                                      "9999-12-31T23:59:59-00:01", "2026-01-01T00:00:00+01:00Z"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ms = 0;
        char text[DV_TIME_TEXT];
        assert_int_equal(dv_time_parse(good[i], &ms), 0);
        dv_time_format(ms, text);
        assert_string_equal(text, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ms = 77;
        if (dv_time_parse(bad[i], &ms) != -1)
            fail_msg("%s is taken", bad[i]);
        assert_int_equal(ms, 77);
    }
    int64_t before = 0;
    char text[DV_TIME_TEXT];
    assert_int_equal(dv_time_parse("1969-12-31T23:59:59.5Z", &before), 0);
    assert_int_equal(before, -500);
    dv_time_format(before, text);
    assert_string_equal(text, "1969-12-31T23:59:59Z");
    dv_time_format_micro(before * 1000, text);
    assert_string_equal(text, "1969-12-31T23:59:59.500000Z");
}

static void log_values_are_cleaned(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    dv_log_setup((struct dv_log_config){.level = DV_LOG_INFO, .fd = fds[1]});
    dv_log(DV_LOG_DEBUG, "not shown", NULL);
    dv_log(DV_LOG_WARN, "something happened", "run", "abc", "text", "a \"b\"\n", "none", NULL, NULL);
    dv_log_setup((struct dv_log_config){.level = DV_LOG_INFO, .fd = 2});
    char line[512];
    ssize_t n = read(fds[0], line, sizeof line - 1);
    assert_true(n > 0);
    line[n] = '\0';
    assert_string_equal(line + 24, " warn something happened run=abc text=\"a \\\"b\\\"\\u000a\"\n");
    (void)close(fds[0]);
    (void)close(fds[1]);
}

/* One line, one JSON object, whatever the values: a line that breaks off would swallow the next one. */
static void log_lines_in_json(void **state)
{
    (void)state;
    int fds[2];
    char controls[1025];
    memset(controls, 1, sizeof controls);
    controls[sizeof controls - 1] = '\0';
    assert_int_equal(pipe(fds), 0);
    dv_log_setup((struct dv_log_config){.level = DV_LOG_INFO, .json = true, .fd = fds[1]});
    dv_log(DV_LOG_WARN, "said", "text", "M\xfcller\xc3", "a", controls, "b", controls, "last", "x", NULL);
    dv_log_setup((struct dv_log_config){.level = DV_LOG_INFO, .fd = 2});
    char line[16384];
    ssize_t n = read(fds[0], line, sizeof line);
    assert_true(n > 0 && memchr(line, '\n', (size_t)n) == line + n - 1);
    json_t *json = json_loadb(line, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
    assert_string_equal(json_string_value(json_object_get(json, "text")), "M?ller");
    assert_string_equal(json_string_value(json_object_get(json, "a")), controls);
    assert_null(json_object_get(json, "b")); /* does not fit */
    assert_string_equal(json_string_value(json_object_get(json, "last")), "x");
    json_decref(json);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void numbers(void **state)
{
    (void)state;
    int64_t value = 5;
    assert_int_equal(dv_parse_i64("12", 0, 100, &value), 0);
    assert_int_equal(value, 12);
    assert_int_equal(dv_parse_i64("101", 0, 100, &value), -1);
    assert_int_equal(dv_parse_i64("", 0, 100, &value), -1);
    assert_int_equal(dv_parse_i64("1x", 0, 100, &value), -1);
    assert_int_equal(dv_parse_i64("\t1", 0, 100, &value), -1);
    assert_int_equal(dv_parse_i64("\n1", 0, 100, &value), -1);
    assert_int_equal(dv_parse_i64("-", -9, 100, &value), -1);
    assert_int_equal(dv_parse_i64("-5", -9, 100, &value), 0);
    assert_int_equal(value, -5);
    assert_int_equal(dv_parse_i64("12", 0, 100, &value), 0);
    assert_int_equal(dv_parse_i64("99999999999999999999", 0, INT64_MAX, &value), -1);
    assert_int_equal(value, 12);
}

static void metrics_are_grouped(void **state)
{
    (void)state;
    *dv_metric(DV_COUNTER, "dv_a_total", "A.", "k=\"1\"") += 2;
    *dv_metric(DV_GAUGE, "dv_b", "B.", "") = 7;
    *dv_metric(DV_COUNTER, "dv_a_total", "A.", "k=\"2\"") += 1;
    *dv_metric(DV_COUNTER, "dv_a_total", "A.", "k=\"1\"") += 1;
    struct dv_buf out = DV_BUF_INIT(4096);
    dv_metrics_print(&out);
    assert_string_equal(dv_buf_text(&out), "# HELP dv_a_total A.\n# TYPE dv_a_total counter\ndv_a_total{k=\"1\"} 3\ndv_a_total{k=\"2\"} 1\n"
                                           "# HELP dv_b B.\n# TYPE dv_b gauge\ndv_b 7\n");
    dv_buf_free(&out);
    dv_metrics_free();
}

static void texts_become_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text, *clean;
    } rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"caf\xc3", "caf"},
        {"\xe2\x82", ""},
        {"x\xf0\x9f\x98", "x"},
        {"M\xfcller", "M?ller"},
        {"\xff\xfe", "??"},
        {"\xc0\xaf", "??"},
        {"\xed\xa0\x80", "???"},
        {"\xf5\x80\x80\x80", "????"},
        {"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[32];
        (void)dv_strlcpy(text, rows[i].text, sizeof text);
        assert_string_equal(dv_utf8_clean(text), rows[i].clean);
    }
}

static void texts_are_shortened_between_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *is;
    } rows[] = {
        {"", ""},
        {"short", "short"},
        {"fits into it, 19 it", "fits into it, 19 it"},
        {"Authentication failed here", "Authentication..."},
        {"it refuses, it: goes on", "it refuses, it..."},
        {"cut after a, (which", "cut after a, (which"},
        {"cut after a b, (which is", "cut after a b..."},
        {"aaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa..."},
        {"a aaaaaaaaaaaaaaaaaaaaa", "a aaaaaaaaaaaaaa..."},
        {"aaaaaaaaaaaaaaa\xc3\xbc\xc3\xbc\xc3\xbc", "aaaaaaaaaaaaaaa..."},
    };
    char text[20];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(dv_shorten(text, rows[i].text, sizeof text), strlen(rows[i].text) < sizeof text);
        assert_string_equal(text, rows[i].is);
    }
    assert_false(dv_shorten(text, "abcd", 3));
    assert_string_equal(text, "ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error_wins),
        cmocka_unit_test(long_errors_are_cut),
        cmocka_unit_test(errors_are_utf8),
        cmocka_unit_test(a_buffer_keeps_its_maximum),
        cmocka_unit_test(durations),
        cmocka_unit_test(times),
        cmocka_unit_test(odd_times),
        cmocka_unit_test(log_values_are_cleaned),
        cmocka_unit_test(log_lines_in_json),
        cmocka_unit_test(numbers),
        cmocka_unit_test(metrics_are_grouped),
        cmocka_unit_test(texts_become_utf8),
        cmocka_unit_test(texts_are_shortened_between_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

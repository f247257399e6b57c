#include "../support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "distributor/distributor.h"

static const char *const kinds[] = {"error",         "out-of-memory", "authorization", "authentication", "authentication-suspected",
                                    "unknown-topic", "retrying",      "config"};

/* ---------------------------------------------------------------- helpers */

static char *joined(const json_t *lines)
{
    struct dv_buf text = DV_BUF_INIT(1 << 20);
    for (size_t i = 0; i < json_array_size(lines); i++)
        assert_int_equal(dv_buf_addf(&text, "%s\n", json_string_value(json_array_get(lines, i))), 0);
    return dv_buf_take(&text);
}

static struct distributor_log *new_log(const json_t *allow)
{
    char *texts[16];
    size_t count = json_array_size(allow);
    for (size_t i = 0; i < count; i++)
        texts[i] = (char *)(uintptr_t)json_string_value(json_array_get(allow, i));
    return distributor_log_new("demo-connect-connect-0", texts, count);
}

/* All that the findings say, for comparison. */
static char *rendered(const struct distributor_log *log)
{
    struct dv_buf text = DV_BUF_INIT(1 << 20);
    const struct fact_log_finding *f = NULL;
    size_t count = distributor_log_findings(log, &f);
    for (size_t i = 0; i < count; i++, f++)
        assert_int_equal(dv_buf_addf(&text,
                                     "%s warning=%d %lld-%lld x%lld %lld..%lld %s|%d subject=%s mechanism=%s pod=%s\n cause=%s\n line=%s\n",
                                     kinds[f->kind], f->warning, (long long)f->first_line, (long long)f->last_line, (long long)f->count,
                                     (long long)f->first_ms, (long long)f->last_ms, f->connector, (int)f->task, f->subject, f->mechanism,
                                     f->pod, f->cause, f->line),
                         0);
    return dv_buf_take(&text);
}

static void feed_chunks(struct distributor_log *log, const char *text, size_t len, uint32_t seed, size_t most)
{
    for (size_t at = 0; at < len;) {
        seed = seed * 1664525U + 1013904223U;
        size_t part = most < 2 ? 1 : 1 + (seed >> 8) % most;
        part = part > len - at ? len - at : part;
        distributor_log_feed(log, text + at, part);
        at += part;
    }
}

static void same(const char *path, const char *how, const char *want, struct distributor_log *log)
{
    distributor_log_flush(log);
    char *have = rendered(log);
    if (strcmp(have, want) != 0)
        fail_msg("%s, %s:\n%s---- instead of\n%s", path, how, have, want);
    free(have);
    distributor_log_free(log);
}

/* ---------------------------------------------------------------- cases */

static void expect_text(const char *path, const json_t *want, const char *key, const char *have)
{
    const json_t *value = json_object_get(want, key);
    if (value != NULL && strcmp(json_string_value(value), have) != 0)
        fail_msg("%s: %s is '%s', not '%s'", path, key, have, json_string_value(value));
}

static void expect_number(const char *path, const json_t *want, const char *key, int64_t have)
{
    const json_t *value = json_object_get(want, key);
    int64_t number = json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
    if (value != NULL && number != have)
        fail_msg("%s: %s is %lld, not %lld", path, key, (long long)have, (long long)number);
}

static void expect_time(const char *path, const json_t *want, const char *key, int64_t have)
{
    const json_t *value = json_object_get(want, key);
    int64_t ms = 0;
    if (json_is_string(value))
        assert_int_equal(dv_time_parse(json_string_value(value), &ms), 0);
    if (value != NULL && ms != have)
        fail_msg("%s: %s is %lld, not %lld", path, key, (long long)have, (long long)ms);
}

static void expect_finding(const char *path, const json_t *want, const struct fact_log_finding *have, int64_t arrival_ms)
{
    expect_text(path, want, "kind", kinds[have->kind]);
    expect_number(path, want, "first", have->first_line);
    expect_number(path, want, "last", have->last_line);
    expect_number(path, want, "count", have->count);
    expect_number(path, want, "warning", have->warning);
    expect_number(path, want, "task", have->task);
    expect_number(path, want, "ended", have->ended);
    expect_number(path, want, "dirty", distributor_log_is_dirty(have, arrival_ms));
    expect_text(path, want, "connector", have->connector);
    expect_text(path, want, "subject", have->subject);
    expect_text(path, want, "mechanism", have->mechanism);
    expect_text(path, want, "cause", have->cause);
    expect_text(path, want, "line", have->line);
    expect_time(path, want, "firstTime", have->first_ms);
    expect_time(path, want, "lastTime", have->last_ms);
}

static void case_whole(const char *path, const json_t *item, const char *text, char **all)
{
    const json_t *wanted = json_object_get(item, "findings");
    const json_t *arrival = json_object_get(item, "arrivalMs");
    struct distributor_log *log = new_log(json_object_get(item, "allow"));
    distributor_log_feed(log, text, strlen(text));
    distributor_log_flush(log);
    *all = rendered(log);
    const struct fact_log_finding *found = NULL;
    size_t count = distributor_log_findings(log, &found);
    if (count != json_array_size(wanted))
        fail_msg("%s: %zu findings, not %zu:\n%s", path, count, json_array_size(wanted), *all);
    for (size_t i = 0; i < count; i++)
        expect_finding(path, json_array_get(wanted, i), &found[i], arrival != NULL ? json_integer_value(arrival) : 60000);
    distributor_log_free(log);
}

static void one_case(const char *path, const char *name, void *arg)
{
    (void)name;
    (void)arg;
    json_t *item = test_read_json(path);
    const json_t *allow = json_object_get(item, "allow");
    char *text = joined(json_object_get(item, "lines"));
    char *want = NULL;
    size_t len = strlen(text);
    case_whole(path, item, text, &want);
    for (uint32_t seed = 0; seed < 40; seed++) {
        struct distributor_log *log = new_log(allow);
        feed_chunks(log, text, len, seed, seed);
        same(path, "in chunks", want, log);
    }
    struct distributor_log *log = new_log(allow);
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        distributor_log_lines(log, line, strcspn(line, "\n"));
        distributor_log_flush(log);
    }
    same(path, "flushed after each line", want, log);
    if (len > 0) {
        log = new_log(allow);
        distributor_log_lines(log, text, len - 1);
        same(path, "as whole lines", want, log);
    }
    free(want);
    free(text);
    json_decref(item);
}

static void logs_of_many_kinds(void **state)
{
    (void)state;
    assert_true(test_each_entry("test/unit/cases/pod-log", one_case, NULL) > 15);
}

/* ---------------------------------------------------------------- bounds */

static void findings_are_bounded_and_a_new_kind_is_never_lost(void **state)
{
    (void)state;
    struct distributor_log *log = distributor_log_new("p", NULL, 0);
    char line[256];
    for (int i = 0; i < 5000; i++) {
        (void)dv_format(line, sizeof line, "2024-04-27 13:41:51,230 ERROR trouble %c%c%c (a.B) [t]", 'a' + i / 676 % 26, 'a' + i / 26 % 26,
                        'a' + i % 26);
        distributor_log_lines(log, line, strlen(line));
    }
    (void)dv_format(line, sizeof line, "2024-04-27 13:41:52,230 WARN Not authorized to read from partition t-0. (a.B) [t]");
    distributor_log_lines(log, line, strlen(line));
    distributor_log_flush(log);
    const struct fact_log_finding *found = NULL;
    size_t count = distributor_log_findings(log, &found);
    int64_t records = 0;
    assert_true(count <= DISTRIBUTOR_LOG_FINDINGS);
    for (size_t i = 0; i < count; i++)
        records += found[i].count;
    assert_int_equal(records, 5001);
    assert_int_equal(found[count - 1].kind, FACT_LOG_AUTHORIZATION);
    assert_string_equal(found[count - 1].subject, "t");
    distributor_log_free(log);
}

static void a_line_without_end_is_cut(void **state)
{
    (void)state;
    char *text = dv_alloc(300001);
    memset(text, 'x', 300000);
    memcpy(text, "2024-04-27 13:41:51 ERROR ", 26);
    char *want = NULL;
    for (uint32_t most = 400000; most > 999; most /= 7) {
        struct distributor_log *log = distributor_log_new("p", NULL, 0);
        feed_chunks(log, text, 300000, most, most);
        distributor_log_feed(log, "\n2024-04-27 13:41:52 ERROR next\n", 32);
        distributor_log_flush(log);
        const struct fact_log_finding *found = NULL;
        assert_int_equal(distributor_log_findings(log, &found), 2);
        assert_int_equal(found[1].first_line, 2);
        if (want == NULL)
            want = rendered(log);
        same("long line", "in chunks", want, log);
    }
    free(want);
    free(text);
}

static void a_trace_that_comes_after_the_flush_is_still_its_own(void **state)
{
    (void)state;
    static const char head[] = "2024-04-27 13:41:51,230 ERROR Commit of offsets failed (a.B) [t]\n";
    static const char trace[] = "org.apache.kafka.common.errors.TimeoutException: late\n";
    struct distributor_log *log = distributor_log_new("p", NULL, 0);
    const struct fact_log_finding *found = NULL;
    distributor_log_feed(log, head, sizeof head - 1);
    assert_int_equal(distributor_log_findings(log, &found), 0);
    distributor_log_flush(log);
    assert_int_equal(distributor_log_findings(log, &found), 1);
    assert_int_equal(found[0].kind, FACT_LOG_ERROR);
    distributor_log_feed(log, trace, sizeof trace - 1);
    distributor_log_flush(log);
    distributor_log_flush(log);
    assert_int_equal(distributor_log_findings(log, &found), 1);
    assert_int_equal(found[0].kind, FACT_LOG_RETRYING);
    assert_int_equal(found[0].count, 1);
    distributor_log_free(log);
}

static void bytes_become_valid_text(void **state)
{
    (void)state;
    static const char bytes[] = "2024-04-27 13:41:51 ERROR \xff\xc3 \xed\xa0\x80 \0 a\x01z \xe2\x82\xac\n";
    struct distributor_log *log = distributor_log_new("p\xff", NULL, 0);
    const struct fact_log_finding *found = NULL;
    distributor_log_feed(log, bytes, sizeof bytes - 1);
    distributor_log_flush(log);
    assert_int_equal(distributor_log_findings(log, &found), 1);
    assert_string_equal(found[0].cause, "?? ??? ? a z \xe2\x82\xac");
    assert_string_equal(found[0].pod, "p?");
    json_t *json = json_string(found[0].cause);
    assert_non_null(json);
    json_decref(json);
    distributor_log_free(log);
    distributor_log_free(NULL);
}

static void findings_in_words(void **state)
{
    (void)state;
    char text[512];
    struct fact_log_finding finding = {
        .kind = FACT_LOG_AUTHORIZATION, .count = 3, .task = 1, .pod = "c-0", .connector = "md", .subject = "t", .cause = "Not authorized"};
    assert_string_equal(distributor_log_text(&finding, text, sizeof text),
                        "authorization failed for t in the log of pod c-0, connector md task 1, 3 times: Not authorized");
    finding = (struct fact_log_finding){.kind = FACT_LOG_OUT_OF_MEMORY, .count = 1, .task = -1, .pod = "c-0", .cause = "Java heap space"};
    assert_string_equal(distributor_log_text(&finding, text, sizeof text), "out of memory in the log of pod c-0: Java heap space");
    assert_string_equal(distributor_log_text(&finding, text, 7), "out of");
    (void)dv_strlcpy(finding.cause, "\xc3\xbc", sizeof finding.cause); /* cut before a character, not within */
    assert_string_equal(distributor_log_text(&finding, text, 39), "out of memory in the log of pod c-0: ");
}

static void lines_without_time_last_at_least_as_long_as_their_retries(void **state)
{
    (void)state;
    struct fact_log_finding finding = {.kind = FACT_LOG_UNKNOWN_TOPIC, .warning = true, .count = 300, .task = -1};
    assert_false(distributor_log_is_dirty(&finding, 60000));
    finding.count = 602;
    assert_true(distributor_log_is_dirty(&finding, 60000));
}

/* ---------------------------------------------------------------- mutation */

static uint32_t fuzz_seed;

static uint32_t fuzz_next(uint32_t below)
{
    fuzz_seed = fuzz_seed * 1664525U + 1013904223U;
    return (fuzz_seed >> 8) % below;
}

static void fuzz_mutate(char *text, size_t len)
{
    static const char bytes[] = "[]{}()|:=-\"\\\t\r\n \0\x1b\xff"
                                "9aZ.,";
    for (uint32_t i = fuzz_next(12) + 1; i > 0 && len > 0; i--) {
        size_t at = fuzz_next((uint32_t)len);
        size_t to = fuzz_next((uint32_t)len);
        switch (fuzz_next(3)) {
        case 0: text[at] = bytes[fuzz_next(sizeof bytes - 1)]; break;
        case 1: text[at] = text[to]; break;
        case 2: memmove(text + (at < to ? at : to), text + (at < to ? to : at), len - (at < to ? to : at)); break;
        }
    }
}

static void feed_and_flush(struct distributor_log *log, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t part = end != NULL ? (size_t)(end - text) - at + 1 : len - at;
        distributor_log_feed(log, text + at, part);
        distributor_log_flush(log);
        at += part;
    }
}

static void fuzz_case(const char *path, const char *name, void *arg)
{
    (void)name;
    (void)arg;
    json_t *item = test_read_json(path);
    char *text = joined(json_object_get(item, "lines"));
    size_t len = strlen(text);
    for (uint32_t round = 0; round < 150; round++) {
        fuzz_seed = round * 7919U + (uint32_t)len;
        char *copy = dv_alloc(len + 1);
        memcpy(copy, text, len);
        fuzz_mutate(copy, len);
        struct distributor_log *whole = new_log(json_object_get(item, "allow"));
        struct distributor_log *chunked = new_log(json_object_get(item, "allow"));
        distributor_log_feed(whole, copy, len);
        distributor_log_flush(whole);
        feed_chunks(chunked, copy, len, round, 1 + round % 60);
        char *want = rendered(whole);
        same(path, "mutated", want, chunked);
        struct distributor_log *flushed = new_log(json_object_get(item, "allow"));
        feed_and_flush(flushed, copy, len);
        same(path, "mutated, flushed after each line", want, flushed);
        free(want);
        distributor_log_free(whole);
        free(copy);
    }
    free(text);
    json_decref(item);
}

static void mutated_logs_do_no_harm(void **state)
{
    (void)state;
    (void)test_each_entry("test/unit/cases/pod-log", fuzz_case, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_of_many_kinds),
        cmocka_unit_test(findings_are_bounded_and_a_new_kind_is_never_lost),
        cmocka_unit_test(a_line_without_end_is_cut),
        cmocka_unit_test(a_trace_that_comes_after_the_flush_is_still_its_own),
        cmocka_unit_test(bytes_become_valid_text),
        cmocka_unit_test(findings_in_words),
        cmocka_unit_test(lines_without_time_last_at_least_as_long_as_their_retries),
        cmocka_unit_test(mutated_logs_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

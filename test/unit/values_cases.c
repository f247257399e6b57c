/* Each file of cases/values holds texts with edits (what becomes of the text, or why it is refused) reads (what stands there) or nears
 * (whether a path that is not there was mistyped). */
#include "../support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "values/values.h"

#define CASES "test/unit/cases/values"
#define KEYS_MAX 16
#define SETS_MAX 8

static char *joined(const json_t *lines, size_t *len)
{
    struct dv_buf buf = DV_BUF_INIT(1 << 20);
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line) assert_int_equal(dv_buf_add(&buf, json_string_value(line), json_string_length(line)), 0);
    *len = buf.len;
    return dv_buf_take(&buf);
}

static struct values_path path_of(const json_t *json, const char **keys)
{
    assert_true(json_is_array(json) && json_array_size(json) <= KEYS_MAX);
    for (size_t i = 0; i < json_array_size(json); i++)
        keys[i] = json_string_value(json_array_get(json, i));
    return (struct values_path){.keys = keys, .count = json_array_size(json)};
}

struct sets {
    struct values_scalar_change items[SETS_MAX];
    const char *keys[SETS_MAX][KEYS_MAX];
    char numbers[SETS_MAX][32];
    size_t count;
};

static void sets_of(const json_t *json, struct sets *sets)
{
    sets->count = json_array_size(json);
    assert_in_range(sets->count, 1, SETS_MAX);
    for (size_t i = 0; i < sets->count; i++) {
        const json_t *set = json_array_get(json, i);
        const json_t *value = json_array_get(set, 1);
        struct values_scalar_change *change = &sets->items[i];
        change->path = path_of(json_array_get(set, 0), sets->keys[i]);
        change->type = json_is_boolean(value) ? VALUES_BOOL : json_is_integer(value) ? VALUES_NUMBER : VALUES_STRING;
        change->text = json_is_boolean(value) ? (json_is_true(value) ? "true" : "false") : json_string_value(value);
        if (json_is_integer(value))
            change->text = dv_format(sets->numbers[i], sizeof sets->numbers[i], "%lld", (long long)json_integer_value(value));
    }
}

struct outcome {
    int rc;
    char *text;
    size_t len;
    bool changed;
    struct dv_err err;
};

static void expect_outcome(const char *label, const json_t *edit, const char *text, size_t len, const struct outcome *out)
{
    const char *refused = json_string_value(json_object_get(edit, "refused"));
    if (refused != NULL) {
        if (out->rc == 0)
            fail_msg("%s: not refused, became:\n%s", label, out->text);
        if (strstr(out->err.text, refused) == NULL)
            fail_msg("%s: refused with: %s\nwanted: %s", label, out->err.text, refused);
        return;
    }
    if (out->rc != 0)
        fail_msg("%s: refused: %s", label, out->err.text);
    bool unchanged = json_is_true(json_object_get(edit, "unchanged"));
    size_t wanted_len = len;
    char *wanted = unchanged ? dv_strndup(text, len) : joined(json_object_get(edit, "becomes"), &wanted_len);
    if (out->len != wanted_len || memcmp(out->text, wanted, wanted_len) != 0)
        fail_msg("%s: became:\n%s\nwanted:\n%s", label, out->text, wanted);
    if (out->changed == unchanged)
        fail_msg("%s: changed is wrong", label);
    free(wanted);
}

/* A boolean alone must go the same way through values_set_bools() and values_can_set(). */
static void expect_same_for_bools(const char *label, const struct sets *sets, const char *text, size_t len, const struct outcome *out)
{
    if (sets->count != 1 || sets->items[0].type != VALUES_BOOL)
        return;
    struct values_change change = {.path = sets->items[0].path, .value = strcmp(sets->items[0].text, "true") == 0};
    char *again = NULL;
    size_t again_len = 0;
    bool changed;
    struct dv_err err = DV_ERR_INIT;
    int rc = values_set_bools(text, len, &change, 1, &again, &again_len, &changed, &err);
    if (rc != out->rc || (rc == 0 && (again_len != out->len || memcmp(again, out->text, again_len) != 0)))
        fail_msg("%s: values_set_bools differs", label);
    free(again);
    VALUES_CLEANUP_DOC struct values_doc *doc = NULL;
    if (values_parse(text, len, &doc, NULL) != 0)
        return;
    bool can = values_can_set(doc, change.path, NULL);
    if (out->rc != 0 ? can : out->changed && !can)
        fail_msg("%s: values_can_set says %d", label, can);
}

static void run_edit(const char *label, const json_t *edit, const char *text, size_t len)
{
    struct sets sets;
    struct outcome out = {.err = DV_ERR_INIT};
    sets_of(json_object_get(edit, "set"), &sets);
    out.rc = values_set_scalars(text, len, sets.items, sets.count, &out.text, &out.len, &out.changed, &out.err);
    expect_outcome(label, edit, text, len, &out);
    expect_same_for_bools(label, &sets, text, len, &out);
    free(out.text);
}

static void expect_error(const char *label, const json_t *kind, const json_t *says, int rc, const struct dv_err *err)
{
    const char *name = json_string_value(kind);
    enum dv_err_kind wanted = strcmp(name, "not_found") == 0 ? DV_ERR_NOT_FOUND : DV_ERR_INVALID;
    if (rc == 0)
        fail_msg("%s: no error", label);
    if (err->kind != wanted || strstr(err->text, json_string_value(says)) == NULL)
        fail_msg("%s: %s error: %s", label, dv_err_kind_name(err->kind), err->text);
}

static void read_type(const char *label, const struct values_doc *doc, struct values_path path, const char *type)
{
    static const char *const names[] = {"absent", "null", "bool", "string", "number", "list", "map"};
    const char *is = names[values_type_at(doc, path)];
    if (strcmp(is, type) != 0)
        fail_msg("%s: %s is %s, wanted %s", label, path.count > 0 ? path.keys[0] : "root", is, type);
}

static void read_bool(const char *label, const struct values_doc *doc, struct values_path path, const json_t *read)
{
    struct dv_err err = DV_ERR_INIT;
    bool value = !json_is_true(json_object_get(read, "bool"));
    int rc = values_get_bool(doc, path, &value, &err);
    const json_t *error = json_object_get(read, "bool_error");
    if (error != NULL) {
        expect_error(label, error, json_object_get(read, "says"), rc, &err);
        return;
    }
    if (rc != 0 || value != json_is_true(json_object_get(read, "bool")))
        fail_msg("%s: %s: wrong (%s)", label, path.keys[0], err.text);
}

static void read_strings(const char *label, const struct values_doc *doc, struct values_path path, const json_t *read)
{
    struct dv_err err = DV_ERR_INIT;
    char **list = NULL;
    size_t count = 99;
    int rc = values_get_strings(doc, path, &list, &count, &err);
    const json_t *error = json_object_get(read, "strings_error");
    if (error != NULL) {
        expect_error(label, error, json_object_get(read, "says"), rc, &err);
        return;
    }
    const json_t *wanted = json_object_get(read, "strings");
    if (rc != 0 || count != json_array_size(wanted))
        fail_msg("%s: %zu strings (%s)", label, count, err.text);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(list[i], json_string_value(json_array_get(wanted, i)));
    values_strings_free(list, count);
}

static void run_read(const char *label, const json_t *read, const char *text, size_t len)
{
    const char *keys[KEYS_MAX];
    struct dv_err err = DV_ERR_INIT;
    VALUES_CLEANUP_DOC struct values_doc *doc = NULL;
    if (values_parse(text, len, &doc, &err) != 0)
        fail_msg("%s: %s", label, err.text);
    struct values_path path = path_of(json_object_get(read, "path"), keys);
    if (json_object_get(read, "type") != NULL)
        read_type(label, doc, path, json_string_value(json_object_get(read, "type")));
    else if (json_object_get(read, "bool") != NULL || json_object_get(read, "bool_error") != NULL)
        read_bool(label, doc, path, read);
    else
        read_strings(label, doc, path, read);
}

/* "says": what the path was meant to be; without it: nothing reads like it. */
static void run_near(const char *label, const json_t *near, const char *text, size_t len)
{
    const char *keys[KEYS_MAX], *known_keys[SETS_MAX][KEYS_MAX];
    struct values_path known[SETS_MAX];
    const json_t *list = json_object_get(near, "known");
    const char *says = json_string_value(json_object_get(near, "says"));
    struct dv_err err = DV_ERR_INIT;
    VALUES_CLEANUP_DOC struct values_doc *doc = NULL;
    if (values_parse(text, len, &doc, &err) != 0)
        fail_msg("%s: %s", label, err.text);
    assert_in_range(json_array_size(list), 0, SETS_MAX);
    for (size_t i = 0; i < json_array_size(list); i++)
        known[i] = path_of(json_array_get(list, i), known_keys[i]);
    bool mistyped = values_mistyped(doc, path_of(json_object_get(near, "path"), keys), known, json_array_size(list), &err);
    if (mistyped != (says != NULL) || (mistyped && strcmp(err.text, says) != 0))
        fail_msg("%s: mistyped %d: %s", label, mistyped, err.text);
}

static void run_case(const char *name, const json_t *item)
{
    size_t len, i;
    char *text = joined(json_object_get(item, "text"), &len);
    json_t *one;
    json_array_foreach(json_object_get(item, "edits"), i, one)
    {
        char *label = dv_asprintf("%s: %s, edit %zu", name, json_string_value(json_object_get(item, "why")), i + 1);
        run_edit(label, one, text, len);
        free(label);
    }
    json_array_foreach(json_object_get(item, "reads"), i, one)
    {
        char *label = dv_asprintf("%s: %s, read %zu", name, json_string_value(json_object_get(item, "why")), i + 1);
        run_read(label, one, text, len);
        free(label);
    }
    json_array_foreach(json_object_get(item, "nears"), i, one)
    {
        char *label = dv_asprintf("%s: %s, near %zu", name, json_string_value(json_object_get(item, "why")), i + 1);
        run_near(label, one, text, len);
        free(label);
    }
    free(text);
}

static void run_file(const char *path, const char *name, void *arg)
{
    json_t *cases = test_read_json(path);
    size_t i;
    json_t *item;
    json_array_foreach(cases, i, item)
    {
        run_case(name, item);
        ++*(size_t *)arg;
    }
    json_decref(cases);
}

static void all_cases(void **state)
{
    (void)state;
    size_t cases = 0;
    (void)test_each_entry(CASES, run_file, &cases);
    assert_in_range(cases, 100, 10000);
}

/* ---------------------------------------------------------------- limits */

static char *repeated(const char *unit, size_t count, const char *tail)
{
    size_t len = strlen(unit);
    char *text = dv_alloc(len * count + strlen(tail) + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * len, unit, len);
    memcpy(text + len * count, tail, strlen(tail));
    return text;
}

static void expect_refused(const char *text, enum dv_err_kind kind)
{
    struct dv_err err = DV_ERR_INIT;
    struct values_doc *doc = NULL;
    assert_int_equal(values_parse(text, strlen(text), &doc, &err), -1);
    assert_int_equal(err.kind, kind);
    assert_null(doc);
}

static void length_is_limited(void **state)
{
    (void)state;
    char *fits = repeated("# 45678\n", VALUES_TEXT_MAX / 8, "");
    char *more = repeated("# 45678\n", VALUES_TEXT_MAX / 8, "\n");
    VALUES_CLEANUP_DOC struct values_doc *doc = NULL;
    assert_int_equal(values_parse(fits, strlen(fits), &doc, NULL), 0);
    expect_refused(more, DV_ERR_LIMIT);
    const char *keys[] = {"a"};
    struct values_change change = {.path = {keys, 1}, .value = true};
    struct dv_err err = DV_ERR_INIT;
    char *out = NULL;
    size_t len;
    bool changed;
    assert_int_equal(values_set_bools(fits, strlen(fits), &change, 1, &out, &len, &changed, &err), -1);
    assert_int_equal(err.kind, DV_ERR_LIMIT);
    free(fits);
    free(more);
}

static void depth_is_limited(void **state)
{
    (void)state;
    static const char *const units[] = {"[", "{a: ", "- ", "[a: ", "[\n", "{a: \n", "- - "};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        char *text = repeated(units[i], 70, "");
        struct dv_err err = DV_ERR_INIT;
        struct values_doc *doc = NULL;
        assert_int_equal(values_parse(text, strlen(text), &doc, &err), -1);
        free(text);
    }
    char *deep = repeated("[", 64, "");
    char *closed = repeated("]", 64, "");
    char *text = dv_asprintf("%s%s", deep, closed);
    VALUES_CLEANUP_DOC struct values_doc *doc = NULL;
    assert_int_equal(values_parse(text, strlen(text), &doc, NULL), 0);
    char *deeper = dv_asprintf("[%s]", text);
    expect_refused(deeper, DV_ERR_LIMIT);
    free(deep);
    free(closed);
    free(text);
    free(deeper);
}

/* Texts of full size that are quadratic or worse for libyaml, or for a careless search, must end at once; a stuck test is the failure. */
static void hostile_texts_end_soon(void **state)
{
    (void)state;
    static const char *const units[] = {
        "[",    "{",      "[\n",          "- ",          "? ",          "{a: ",         "[a: ",     "\"",
        "'",    "a: ",    "a:\n ",        "&a ",         "!a ",         "*a\n",         "- &a 1\n", "- *a\n",
        "%a\n", "---\n",  "...\n",        "{}\n",        "[],",         "\xe2\x80\xa8", "\xc2\x85", "#",
        "\r",   "\t",     "|\n",          ">\n ",        "a\n",         ": ",           "{{",       "a: {{\n",
        "\\",   "x: |\n", "- [[[[[[[[\n", "\"a\": \"\\", "\xef\xbb\xbf"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        char *text = repeated(units[i], VALUES_TEXT_MAX / strlen(units[i]), "");
        VALUES_CLEANUP_DOC struct values_doc *doc = NULL;
        (void)values_parse(text, strlen(text), &doc, NULL);
        free(text);
    }
}

static void many_keys_end_soon(void **state)
{
    (void)state;
    struct dv_buf buf = DV_BUF_INIT(VALUES_TEXT_MAX);
    for (size_t i = 0; dv_buf_addf(&buf, "k%zu: false\n", i) == 0 && buf.len < VALUES_TEXT_MAX - 100; i++)
        ;
    const char *last[] = {"k10000"}, *fresh[] = {"new", "key"};
    struct values_change changes[] = {{.path = {last, 1}, .value = true}, {.path = {fresh, 2}, .value = true}};
    char *out = NULL;
    size_t len;
    bool changed;
    assert_int_equal(values_set_bools(dv_buf_text(&buf), buf.len, changes, 2, &out, &len, &changed, NULL), 0);
    assert_non_null(strstr(out, "k10000: true\n"));
    assert_non_null(strstr(out, "\nnew:\n  key: true\n"));
    free(out);
    dv_buf_free(&buf);
}

static void other_encodings(void **state)
{
    (void)state;
    expect_refused("\xff\xfe"
                   "a",
                   DV_ERR_INVALID);
    expect_refused("\xfe\xff"
                   "a",
                   DV_ERR_INVALID);
    expect_refused("a: \xff\n", DV_ERR_INVALID);
    expect_refused("a: \xc3\n", DV_ERR_INVALID);
    struct values_doc *doc = NULL;
    struct dv_err err = DV_ERR_INIT;
    assert_int_equal(values_parse("a: \0false\n", 10, &doc, &err), -1);
    assert_null(doc);
}

static void paths_are_checked(void **state)
{
    (void)state;
    char *long_key = repeated("k", 600, "");
    const char *keys[70] = {0};
    for (size_t i = 0; i < 70; i++)
        keys[i] = "k";
    const char *control[] = {"a\nb"}, *too_long[] = {long_key}, *broken[] = {"\xff"};
    struct values_path paths[] = {{keys, 0}, {keys, 65}, {control, 1}, {too_long, 1}, {broken, 1}};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct values_change change = {.path = paths[i], .value = true};
        char *out = NULL;
        size_t len;
        bool changed;
        struct dv_err err = DV_ERR_INIT;
        assert_int_equal(values_set_bools("a: 1\n", 5, &change, 1, &out, &len, &changed, &err), -1);
        assert_null(out);
        assert_true(err.text[0] != '\0');
    }
    free(long_key);
}

static void no_value_in_messages(void **state)
{
    (void)state;
    static const char text[] = "a: hunter2\nb: [hunter2, 1]\nc: !x hunter2\n";
    struct dv_err err = DV_ERR_INIT;
    struct values_doc *doc = NULL;
    assert_int_equal(values_parse(text, strlen(text), &doc, &err), -1);
    assert_null(strstr(err.text, "hunter"));
    dv_err_clear(&err);
    assert_int_equal(values_parse(text, 29, &doc, &err), 0);
    const char *a[] = {"a"}, *b[] = {"b"};
    bool value;
    char **list;
    size_t count;
    assert_int_equal(values_get_bool(doc, (struct values_path){a, 1}, &value, &err), -1);
    assert_null(strstr(err.text, "hunter"));
    dv_err_clear(&err);
    assert_int_equal(values_get_strings(doc, (struct values_path){b, 1}, &list, &count, &err), -1);
    assert_null(strstr(err.text, "hunter"));
    values_doc_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases),          cmocka_unit_test(length_is_limited),
        cmocka_unit_test(depth_is_limited),   cmocka_unit_test(hostile_texts_end_soon),
        cmocka_unit_test(many_keys_end_soon), cmocka_unit_test(other_encodings),
        cmocka_unit_test(paths_are_checked),  cmocka_unit_test(no_value_in_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

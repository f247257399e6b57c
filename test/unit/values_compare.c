/* The check behind every change must see each way in which a result can be wrong. */
#include "../support/support.h"

#include <string.h>

#include "base/mem.h"
#include "values/internal.h"

static const char *const ab[] = {"a", "b"}, *const x[] = {"x"};
static const struct values_scalar_change set_ab = {.path = {ab, 2}, .type = VALUES_BOOL, .text = "true"};
static const struct values_scalar_change set_both[] = {{.path = {ab, 2}, .type = VALUES_BOOL, .text = "true"},
                                                       {.path = {x, 1}, .type = VALUES_STRING, .text = "w"}};

static bool compare(const char *before, const char *after, const struct values_scalar_change *changes, size_t count)
{
    VALUES_CLEANUP_DOC struct values_doc *left = NULL;
    VALUES_CLEANUP_DOC struct values_doc *right = NULL;
    struct dv_err err = DV_ERR_INIT;
    if (values_parse(before, strlen(before), &left, &err) != 0 || values_parse(after, strlen(after), &right, &err) != 0)
        fail_msg("%s", err.text);
    return values_compare(left, right, changes, count);
}

static void right_results_pass(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
    } pairs[] = {
        {"a: {b: false}", "a: {b: true}"},
        {"a: {b: false, c: 1}", "a: {b: yes, c: 1}"},
        {"a:\n  b:\n", "a:\n  b: true\n"},
        {"a: {}", "a: {b: true}"},
        {"a:\n", "a:\n  b: true\n"},
        {"a:\n", "a: {b: true}\n"},
        {"c: 1\n", "c: 1\na: {b: true}\n"},
        {"", "a:\n  b: true\n"},
        {"a: &n {b: false}", "a: &n {b: true}"},
        {"# c\na: {b: no}", "a: {b: true} # other comment"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!compare(pairs[i].before, pairs[i].after, &set_ab, 1))
            fail_msg("%s -> %s is right", pairs[i].before, pairs[i].after);
    assert_true(compare("a: {b: no}\nx: z\n", "a: {b: true}\nx: w\n", set_both, 2));
    assert_true(compare("q: 1", "q: 1\na:\n  b: true\nx: w\n", set_both, 2));
    assert_true(compare("q: 1", "q: 1", set_both, 0));
}

static void wrong_results_are_seen(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
    } pairs[] = {
        {"a: {b: false}", "a: {b: false}"},
        {"a: {b: false}", "a: {b: \"true\"}"},
        {"a: {b: false}", "a: {b: !!bool true}"},
        {"a: {b: false}", "a: {b: &n true}"},
        {"a: {b: &n false}", "a: {b: true}"},
        {"a: {b: false}", "a: true"},
        {"a: {b: false}", "a: {b: {c: true}}"},
        {"a: {b: false}", "a: {b: true, c: 1}"},
        {"a: {b: false, c: 1}", "a: {b: true}"},
        {"a: {b: false, c: 1}", "a: {b: true, c: 2}"},
        {"a: {b: false, c: 1}", "a: {b: true, c: '1'}"},
        {"a: {b: false, c: '1'}", "a: {b: true, c: \"1\"}"},
        {"a: {b: false, c: 1}", "a: {c: 1, b: true}"},
        {"a: {c: 1}", "a: {b: true, c: 1}"},
        {"a: {b: false}", "a: {\"b\": true}"},
        {"a: {b: false}", "a:\n  b: true"},
        {"a: {b: false}\nc: 1", "a: {b: true}\n"},
        {"a: {b: false}\n", "a: {b: true}\nc: 1\n"},
        {"a: {b: false}\nc: [1, 2]", "a: {b: true}\nc: [1]"},
        {"a: {b: false}\nc: [1]", "a: {b: true}\nc: [1, 2]"},
        {"a: {b: false}\nc: {d: {e: 1}}", "a: {b: true}\nc: {d: {f: 1}}"},
        {"a: {b: false}\nc: {}", "a: {b: true}\nc:"},
        {"a: {b: false}\nc: |\n  x\n", "a: {b: true}\nc: |\n  x"},
        {"a: {b: false}\nz: &z 1\nc: *z", "a: {b: true}\nz: &z 1\nc: 1"},
        {"a: {b: false}\nz: &z 1\ny: &y 1\nc: *z", "a: {b: true}\nz: &z 1\ny: &y 1\nc: *y"},
        {"a: {b: &n false}\nc: *n", "a: {b: &n true}\nc: 1"},
        {"a: 1", "a: {b: true}"},
        {"a: {b: 1}", "a: {b: true}"},
        {"a: {b: {c: 1}}", "a: {b: true}"},
        {"a: [1]", "a: {b: true}"},
        {"a: &n", "a: {b: true}"},
        {"q: 1", "q: 1\na: {b: true, c: 1}"},
        {"q: 1", "q: 1\nb: true"},
        {"q: 1", "q: 1\na: {x: {b: true}}"},
        {"q: 1", ""},
        {"q: 1", "~"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (compare(pairs[i].before, pairs[i].after, &set_ab, 1))
            fail_msg("%s -> %s is wrong", pairs[i].before, pairs[i].after);
    assert_false(compare("a: {b: no}\nx: z\n", "a: {b: true}\nx: z\n", set_both, 2));
    assert_false(compare("a: {b: no}\nx: z\n", "a: {b: no}\nx: w\n", set_both, 2));
    assert_false(compare("q: 1", "q: 2", set_both, 0));
    assert_false(compare("", "q: 2", set_both, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_results_pass),
        cmocka_unit_test(wrong_results_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

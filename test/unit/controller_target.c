#include "../support/controller_rig.h"

/* What is read from the object that holds a Distributor's values, with the paths of cases/spec/minimal.json. */

static const struct verify_values *target_reads(struct rig *rig, const char *text)
{
    static int version = 1;
    char number[16];
    const char *key = rig->entry->spec->cluster[MODEL_A].distributor.values.key;
    json_t *object = json_pack("{s:{s:s, s:s}, s:{s:s}}", "metadata", "uid", "u", "resourceVersion",
                               dv_format(number, sizeof number, "%d", version++), "data", key, text);
    target_item(rig->entry, MODEL_A, object);
    json_decref(object);
    return &rig->entry->side[MODEL_A].values;
}

#define HEALTHY                                                                    \
    "distribution:\n  enabled: false\nmd: {enabled: true}\nod: {enabled: false}\n" \
    "oc: {enabled: false}\ninit:\n  enabled: true\n  principals: [\"User:a\"]\n"

static void healthy_values_are_read(void **state)
{
    const struct verify_values *values = target_reads(*state, HEALTHY);
    static const enum verify_declared want[MODEL_SWITCHES] = {VERIFY_OFF, VERIFY_ON, VERIFY_ON, VERIFY_OFF, VERIFY_OFF};
    assert_true(values->readable && values->settable && values->principals_readable && !values->principals_absent);
    assert_memory_equal(values->declared, want, sizeof want);
    assert_int_equal(values->principal_count, 1);
    assert_string_equal(values->why_path, "");
}

static void missing_keys_can_be_added(void **state)
{
    const struct verify_values *values = target_reads(*state, "distribution: {enabled: false}\n");
    assert_true(values->readable && values->settable && values->principals_readable && values->principals_absent);
    for (int i = 0; i < MODEL_SWITCHES; i++)
        assert_int_equal(values->declared[i], i == MODEL_SW_DISTRIBUTION ? VERIFY_OFF : VERIFY_ABSENT);
}

/* What is not as the spec says is told with the path in the spec that may be wrong. */
static void a_wrong_path_is_named(void **state)
{
    static const struct {
        const char *text, *why, *path;
    } rows[] = {
        {"distribution: {enabled: false, md: {enabled: true}}\n",
         "switch messageDistributor: md.enabled is not there, but distribution.md.enabled (line 1) is", "switches.messageDistributor.path"},
        {"distribution: {enabled: false}\ninit: {enbled: true}\n", "switch init: init.enabled is not there, but init.enbled (line 2) is",
         "switches.init.path"},
        {"\"init.enabled\": true\n", "switch init: init is not there, but \"init.enabled\" (line 1) is", "switches.init.path"},
        {"init: {enabled: true, principal: [x]}\n", "principals: init.principals is not there, but init.principal (line 1) is",
         "principalsPath"},
        {"distribution: true\n", "distribution (line 1) is a boolean, not a mapping", "switches.distribution.path"},
        {"distribution: {enabled: \"true\"}\n", "switch distribution: distribution.enabled (line 1) is the string \"true\", not a boolean",
         "switches.distribution.path"},
        {"init: {enabled: {now: true}}\n", "switch init: init.enabled (line 1) is a mapping, not a boolean", "switches.init.path"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct verify_values *values = target_reads(*state, rows[i].text);
        assert_true(values->readable);
        if (values->settable || strstr(values->why.text, rows[i].why) == NULL || strcmp(values->why_path, rows[i].path) != 0)
            fail_msg("%zu: %d %s: %s", i, values->settable, values->why_path, values->why.text);
    }
}

/* A later text is read afresh. */
static void a_mended_text_is_right(void **state)
{
    assert_false(target_reads(*state, "init: {enbled: true}\n")->settable);
    assert_true(target_reads(*state, HEALTHY)->settable);
    assert_false(target_reads(*state, "init: [\n")->readable);
    assert_string_equal(target_reads(*state, "init: [\n")->why_path, "");
    assert_true(target_reads(*state, HEALTHY)->settable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy_values_are_read),
        cmocka_unit_test(missing_keys_can_be_added),
        cmocka_unit_test(a_wrong_path_is_named),
        cmocka_unit_test(a_mended_text_is_right),
    };
    return cmocka_run_group_tests(tests, rig_begin, rig_end);
}

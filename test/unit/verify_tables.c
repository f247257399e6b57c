#include "../support/scene.h"

#include <stdio.h>

#include "verify/tables.h"

/* ---------------------------------------------------------------- totality */

static size_t step_rows(const struct verify_table *table, const char *step)
{
    size_t n = 0;
    for (size_t i = 0; i < table->row_count; i++)
        n += dv_streq(table->rows[i].step, step);
    return n;
}

static bool step_known(const struct verify_table *table, const char *step)
{
    for (size_t i = 0; i < table->step_count; i++)
        if (dv_streq(table->steps[i].name, step))
            return true;
    return false;
}

static void check_last_row(const struct verify_table *table, const char *step)
{
    const struct verify_row *last = NULL;
    for (size_t i = 0; i < table->row_count; i++) {
        if (!dv_streq(table->rows[i].step, step))
            continue;
        if (last != NULL && last->guard == always)
            fail_msg("step %s: rows behind the unconditional one", step);
        last = &table->rows[i];
    }
    if (last == NULL || last->guard != always)
        fail_msg("step %s has no unconditional last row", step);
}

static void each_step_ends_unconditionally(void **state)
{
    (void)state;
    for (int stage = 0; stage < MODEL_STAGES; stage++) {
        const struct verify_table *table = &verify_tables[stage];
        for (size_t i = 0; i < table->step_count; i++) {
            assert_true(step_rows(table, table->steps[i].name) > 0);
            check_last_row(table, table->steps[i].name);
            assert_true(strlen(table->steps[i].name) < 32);
        }
    }
}

static void steps_are_named_once(void **state)
{
    (void)state;
    for (int stage = 0; stage < MODEL_STAGES; stage++) {
        const struct verify_table *table = &verify_tables[stage];
        for (size_t i = 0; i < table->step_count; i++)
            for (size_t k = 0; k < i; k++)
                assert_string_not_equal(table->steps[i].name, table->steps[k].name);
    }
}

static void check_row(const struct verify_table *table, const struct verify_row *row)
{
    if (!step_known(table, row->step))
        fail_msg("row of an unknown step %s", row->step);
    if (row->outcome == OUT_GO ? !step_known(table, row->next) : row->next != NULL)
        fail_msg("step %s, %s: next is %s", row->step, row->guard_name, row->next != NULL ? row->next : "missing");
    bool ends = row->outcome == OUT_STOP || row->outcome == OUT_UNSURE || row->outcome == OUT_PASS;
    if (ends == (row->reason == REASON_None))
        fail_msg("step %s, %s: reason \"%s\"", row->step, row->guard_name, model_reason_name(row->reason));
}

static void each_row_leads_somewhere(void **state)
{
    (void)state;
    for (int stage = 0; stage < MODEL_STAGES; stage++) {
        const struct verify_table *table = &verify_tables[stage];
        for (size_t i = 0; i < table->row_count; i++)
            check_row(table, &table->rows[i]);
        assert_true(step_known(table, table->retry));
        for (size_t i = 0; i < table->step_count; i++)
            assert_true(table->steps[i].resume == NULL || step_known(table, table->steps[i].resume));
    }
}

/* From each step the end of the stage can be reached. */
static void each_step_can_pass(void **state)
{
    (void)state;
    for (int stage = 0; stage < MODEL_STAGES; stage++) {
        const struct verify_table *table = &verify_tables[stage];
        bool passes[64] = {false};
        for (size_t round = 0; round <= table->step_count; round++)
            for (size_t i = 0; i < table->row_count; i++) {
                const struct verify_row *row = &table->rows[i];
                size_t at = (size_t)(table_step((enum model_stage)stage, row->step) - table->steps);
                if (row->outcome == OUT_PASS ||
                    (row->outcome == OUT_GO && passes[table_step((enum model_stage)stage, row->next) - table->steps]))
                    passes[at] = true;
            }
        for (size_t i = 0; i < table->step_count; i++)
            if (!passes[i])
                fail_msg("%s: from step %s nothing leads to the end", model_stage_name((enum model_stage)stage), table->steps[i].name);
    }
}

static void waits_say_what_for(void **state)
{
    (void)state;
    for (int stage = 0; stage < MODEL_STAGES; stage++) {
        const struct verify_table *table = &verify_tables[stage];
        for (size_t i = 0; i < table->row_count; i++)
            if (table->rows[i].outcome == OUT_WAIT && table_step((enum model_stage)stage, table->rows[i].step)->what == NULL)
                fail_msg("%s: step %s waits for nothing", model_stage_name((enum model_stage)stage), table->rows[i].step);
    }
}

static void rows_of_every_step_end_or_wait(void **state)
{
    (void)state;
    for (size_t i = 0; i < verify_early_row_count; i++)
        assert_true(verify_early_rows[i].step == NULL && verify_early_rows[i].outcome != OUT_GO &&
                    verify_early_rows[i].outcome != OUT_PASS);
    for (size_t i = 0; i < verify_late_row_count; i++)
        assert_true(verify_late_rows[i].step == NULL && verify_late_rows[i].outcome == OUT_STOP);
}

/* ---------------------------------------------------------------- the normative switches */

/* As verification.md has it: distribution, init, MD, OD, OC of A and of B; "" is not written. */
static void the_switch_table_is_the_normative_one(void **state)
{
    (void)state;
    static const struct {
        enum switch_row row;
        const char *side[MODEL_SIDES];
    } rows[] = {
        {ROW_NOTHING, {"", ""}},
        {ROW_INIT_A, {"01000", ""}},
        {ROW_INIT_B, {"01000", "01000"}},
        {ROW_MESSAGES_A, {"11100", "01000"}},
        {ROW_MESSAGES_B, {"11100", "11100"}},
        {ROW_OFFSETS_7A, {"11100", "11101"}},
        {ROW_OFFSETS_7B, {"11110", "11101"}},
        {ROW_OFFSETS_8A, {"11101", "11101"}},
        {ROW_OFFSETS_8B, {"11101", "11110"}},
        {ROW_PERSIST_9A, {"11101", "11111"}},
        {ROW_PERSIST_9B, {"11111", "11111"}},
        {ROW_FINALLY, {"11111", "11111"}},
        {ROW_LOOP_OFF, {"", ""}},
    };
    struct scene *scene = scene_new();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(rows[i].row, i);
        for (int side = 0; side < MODEL_SIDES; side++) {
            struct model_switches out;
            bool written = table_switches(scene->spec, rows[i].row, (enum model_side)side, &out);
            assert_true(written == (rows[i].side[side][0] != '\0'));
            for (int k = 0; written && k < MODEL_SWITCHES; k++)
                assert_true(out.on[k] == (rows[i].side[side][k] == '1'));
        }
    }
    scene_free(scene);
}

static void finally_is_what_the_spec_says(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    struct model_switches out;
    scene->spec->cluster[MODEL_B].distributor.finally = (struct model_switches){.on = {true, false, true, false, true}};
    assert_true(table_switches(scene->spec, ROW_FINALLY, MODEL_B, &out));
    assert_memory_equal(&out, &scene->spec->cluster[MODEL_B].distributor.finally, sizeof out);
    scene_free(scene);
}

/* Which row is in force from which step on. */
static void steps_are_in_the_right_row(void **state)
{
    (void)state;
    static const struct {
        enum model_stage stage;
        const char *step;
        enum switch_row row;
    } rows[] = {
        {STAGE_PREFLIGHT, "Look", ROW_NOTHING},
        {STAGE_INIT_A, "Principals", ROW_NOTHING},
        {STAGE_INIT_A, "Write", ROW_INIT_A},
        {STAGE_INIT_A, "Acls", ROW_INIT_A},
        {STAGE_INIT_B, "Principals", ROW_INIT_A},
        {STAGE_INIT_B, "Write", ROW_INIT_B},
        {STAGE_INIT_B, "Unreplicated", ROW_INIT_B},
        {STAGE_MESSAGES_A_TO_B, "Write", ROW_MESSAGES_A},
        {STAGE_MESSAGES_A_TO_B, "Passed", ROW_MESSAGES_A},
        {STAGE_MESSAGES_BOTH_WAYS, "Write", ROW_MESSAGES_B},
        {STAGE_MESSAGES_BOTH_WAYS, "SettleFar", ROW_MESSAGES_B},
        {STAGE_LAG_DRAINED, "Mark", ROW_MESSAGES_B},
        {STAGE_LAG_DRAINED, "Counted", ROW_MESSAGES_B},
        {STAGE_OFFSETS_A_TO_B, "WriteCommitter", ROW_OFFSETS_7A},
        {STAGE_OFFSETS_A_TO_B, "TimestampsTopic", ROW_OFFSETS_7A},
        {STAGE_OFFSETS_A_TO_B, "WriteDistributor", ROW_OFFSETS_7B},
        {STAGE_OFFSETS_A_TO_B, "Done", ROW_OFFSETS_7B},
        {STAGE_OFFSETS_B_TO_A, "WriteCommitter", ROW_OFFSETS_8A},
        {STAGE_OFFSETS_B_TO_A, "TimestampsTopic", ROW_OFFSETS_8A},
        {STAGE_OFFSETS_B_TO_A, "WriteDistributor", ROW_OFFSETS_8B},
        {STAGE_OFFSETS_B_TO_A, "Moved", ROW_OFFSETS_8B},
        {STAGE_PERSISTED, "WriteCommitters", ROW_PERSIST_9A},
        {STAGE_PERSISTED, "CommittersOn", ROW_PERSIST_9A},
        {STAGE_PERSISTED, "WriteAll", ROW_PERSIST_9B},
        {STAGE_PERSISTED, "Counted", ROW_PERSIST_9B},
        {STAGE_PERSISTED, "WriteFinally", ROW_FINALLY},
        {STAGE_PERSISTED, "Done", ROW_FINALLY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(step_known(&verify_tables[rows[i].stage], rows[i].step));
        assert_int_equal(table_step(rows[i].stage, rows[i].step)->row, rows[i].row);
    }
    assert_int_equal(table_step(STAGE_LAG_DRAINED, "DisableLast")->row, ROW_LOOP_OFF);
    assert_string_equal(table_step(STAGE_LAG_DRAINED, "NoSuchStep")->name, "Produce");
}

/* ---------------------------------------------------------------- golden */

/* A change of behaviour shows as a change of this file. Written anew with DISTVERIFY_GOLDEN=write. */
static void the_tables_are_as_written_down(void **state)
{
    (void)state;
    static const char path[] = "test/unit/golden/tables.txt";
    char *text = verify_dump_tables();
    if (dv_streq(getenv("DISTVERIFY_GOLDEN"), "write")) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    char *golden = test_read_file(path, NULL);
    if (!dv_streq(golden, text))
        fail_msg("%s differs from the tables; write it anew with DISTVERIFY_GOLDEN=write and review the difference", path);
    free(golden);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_ends_unconditionally),
        cmocka_unit_test(steps_are_named_once),
        cmocka_unit_test(each_row_leads_somewhere),
        cmocka_unit_test(each_step_can_pass),
        cmocka_unit_test(waits_say_what_for),
        cmocka_unit_test(rows_of_every_step_end_or_wait),
        cmocka_unit_test(the_switch_table_is_the_normative_one),
        cmocka_unit_test(finally_is_what_the_spec_says),
        cmocka_unit_test(steps_are_in_the_right_row),
        cmocka_unit_test(the_tables_are_as_written_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

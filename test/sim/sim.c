/* Whole runs in memory. `sim [--only <part of a name>] [--seeds <n>] [--from <seed>] [--step <n>] [--verbose] [--status]` */
#include "../support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "sim_cases.h"
#include "sim_people.h"
#include "sim_run.h"
#include "sim_sweep.h"

static struct {
    const char *only;
    bool status;
    int seeds, step;
    uint64_t from;
} options = {.seeds = 200, .step = 41, .from = 1};

static struct dv_buf messages = DV_BUF_INIT(1 << 20);

/* ---------------------------------------------------------------- the table of runs */

static void case_run(void **state)
{
    const struct sim_case *c = *state;
    struct sim_setup setup = {.seed = 1, .script = c->script, .field = c->field, .two = c->two};
    struct sim_outcome out;
    sim_run(&setup, &out);
    if (options.status)
        print_message("%s\n", out.status);
    bool same = dv_streq(out.result, c->result) && dv_streq(out.reason, c->reason) && dv_streq(out.stage, c->stage) &&
                dv_streq(out.switches[MODEL_A], c->a) && dv_streq(out.switches[MODEL_B], c->b) && strstr(out.message, c->message) != NULL &&
                out.retries <= c->retries && out.broken[0] == '\0';
    if (!same)
        print_error("%s: %s %s %s [%s] [%s] %d retries, %lld ms: %s\n  wanted %s %s %s [%s] [%s]: %s\n  %s\n", c->name, out.result,
                    out.reason, out.stage, out.switches[MODEL_A], out.switches[MODEL_B], out.retries, (long long)out.took_ms, out.message,
                    c->result, c->reason, c->stage, c->a, c->b, c->message, out.broken);
    (void)dv_buf_addf(&messages, "%-36s %-12s %-26s %s\n", c->name, out.result, out.reason, out.message);
    sim_outcome_clear(&out);
    assert_true(same);
}

static size_t case_tests(struct CMUnitTest *tests)
{
    size_t count = 0;
    for (size_t i = 0; i < sim_case_count; i++)
        if (options.only == NULL || strstr(sim_cases[i].name, options.only) != NULL)
            tests[count++] =
                (struct CMUnitTest){.name = sim_cases[i].name, .test_func = case_run, .initial_state = (void *)(uintptr_t)&sim_cases[i]};
    return count;
}

/* ---------------------------------------------------------------- sweeps */

static void kills_at_effects(void **state)
{
    (void)state;
    sweep_kill_effects(1);
}

static void kills_at_events(void **state)
{
    (void)state;
    sweep_kill_events(options.step);
}

static void worlds_by_chance(void **state)
{
    (void)state;
    sweep_benign(options.from, options.seeds);
}

static void faults_by_chance(void **state)
{
    (void)state;
    sweep_faults(options.from, options.seeds);
}

/* ---------------------------------------------------------------- golden */

/* The sentences that people read, one case a line; written anew with DISTVERIFY_GOLDEN=write. */
static void messages_are_as_written_down(void **state)
{
    static const char path[] = "test/sim/golden/messages.txt";
    (void)state;
    if (options.only != NULL)
        return;
    if (dv_streq(getenv("DISTVERIFY_GOLDEN"), "write")) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(dv_buf_text(&messages), file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    char *golden = test_read_file(path, NULL);
    if (!dv_streq(golden, dv_buf_text(&messages)))
        fail_msg("%s differs from what the runs say; write it anew with DISTVERIFY_GOLDEN=write and review the difference", path);
    free(golden);
}

/* ---------------------------------------------------------------- main */

static void options_read(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int64_t number = 0;
        bool more = i + 1 < argc;
        bool numbered = more && dv_parse_i64(argv[i + 1], 0, INT32_MAX, &number) == 0;
        sim_verbose = sim_verbose || dv_streq(argv[i], "--verbose");
        options.status = options.status || dv_streq(argv[i], "--status");
        if (dv_streq(argv[i], "--only") && more)
            options.only = argv[++i];
        else if (dv_streq(argv[i], "--seeds") && numbered)
            options.seeds = (int)number;
        else if (dv_streq(argv[i], "--from") && numbered)
            options.from = (uint64_t)number;
        else if (dv_streq(argv[i], "--step") && numbered)
            options.step = (int)number;
    }
}

static size_t named_tests(struct CMUnitTest *tests)
{
    static const struct CMUnitTest named[] = {cmocka_unit_test(messages_are_as_written_down),
                                              cmocka_unit_test(people_spec_change_in_mid_run),
                                              cmocka_unit_test(people_spec_change_is_no_end),
                                              cmocka_unit_test(people_spec_change_during_a_patch),
                                              cmocka_unit_test(people_unusable_spec_during_a_patch),
                                              cmocka_unit_test(people_allow_a_line_while_suspended),
                                              cmocka_unit_test(people_stale_then_reverify),
                                              cmocka_unit_test(people_reverify_during_a_run),
                                              cmocka_unit_test(people_reverify_with_a_long_token),
                                              cmocka_unit_test(people_run_again_after_failure),
                                              cmocka_unit_test(people_are_told_once),
                                              cmocka_unit_test(people_delete_in_mid_run),
                                              cmocka_unit_test(people_delete_while_unreachable),
                                              cmocka_unit_test(people_recreated),
                                              cmocka_unit_test(people_two_on_one_distributor),
                                              cmocka_unit_test(people_one_place_for_two),
                                              cmocka_unit_test(people_two_from_the_start),
                                              cmocka_unit_test(people_two_by_other_kubeconfigs),
                                              cmocka_unit_test(people_one_place_from_the_start),
                                              cmocka_unit_test(people_waiting_over_a_restart),
                                              cmocka_unit_test(people_invalid_spec_is_corrected),
                                              cmocka_unit_test(people_suspended_from_the_start),
                                              cmocka_unit_test(people_lag_of_the_whole_group),
                                              cmocka_unit_test(people_store_from_a_backup),
                                              cmocka_unit_test(people_other_cluster_behind_the_kubeconfig),
                                              cmocka_unit_test(people_crd_too_old),
                                              cmocka_unit_test(kills_at_effects),
                                              cmocka_unit_test(kills_at_events),
                                              cmocka_unit_test(worlds_by_chance),
                                              cmocka_unit_test(faults_by_chance)};
    size_t count = 0;
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (options.only == NULL || strstr(named[i].name, options.only) != NULL)
            tests[count++] = named[i];
    return count;
}

int main(int argc, char **argv)
{
    options_read(argc, argv);
    dv_log_setup((struct dv_log_config){.level = sim_verbose ? DV_LOG_DEBUG : DV_LOG_ERROR, .fd = 2});
    struct CMUnitTest *tests = dv_calloc(sim_case_count + 64, sizeof *tests);
    size_t count = case_tests(tests);
    count += named_tests(tests + count);
    int failed = _cmocka_run_group_tests("sim", tests, count, NULL, NULL);
    free(tests);
    dv_buf_free(&messages);
    return failed;
}

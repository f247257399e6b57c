/* Whole runs in memory. `sim [--only <part of a name>] [--update] [--verbose] [--status]` */
#include "../support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "sim_cases.h"
#include "sim_run.h"

static struct {
    const char *only;
    bool update, status;
} options;

/* ---------------------------------------------------------------- the table of runs */

static void case_run(void **state)
{
    const struct sim_case *c = *state;
    struct sim_setup setup = {.seed = 1, .script = c->script, .field = c->field};
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

/* ---------------------------------------------------------------- main */

static void options_read(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        sim_verbose = sim_verbose || dv_streq(argv[i], "--verbose");
        options.update = options.update || dv_streq(argv[i], "--update");
        options.status = options.status || dv_streq(argv[i], "--status");
        if (dv_streq(argv[i], "--only") && more)
            options.only = argv[++i];
    }
}

int main(int argc, char **argv)
{
    options_read(argc, argv);
    dv_log_setup((struct dv_log_config){.level = sim_verbose ? DV_LOG_INFO : DV_LOG_ERROR, .fd = 2});
    struct CMUnitTest *tests = dv_calloc(sim_case_count + 64, sizeof *tests);
    size_t count = case_tests(tests);
    int failed = _cmocka_run_group_tests("sim", tests, count, NULL, NULL);
    free(tests);
    return failed;
}

/* Whole runs in memory. `sim [--only <part of a name>] [--seeds <n>] [--from <seed>] [--update] [--verbose]` */
#include "../support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "sim_run.h"

static void test_healthy(void **state)
{
    struct sim_setup setup = {.seed = 1, .script = *state};
    struct sim_outcome out;
    sim_run(&setup, &out);
    if (out.broken[0] != '\0' || !dv_streq(out.result, "Passed"))
        fail_msg("%s %s %s: %s\n%s\n%s", out.result, out.reason, out.stage, out.message, out.broken, out.status);
    print_message("took %lld ms, %lld events, %lld turns, %lld writes, %lld asks\n", (long long)out.took_ms, (long long)out.events,
                  (long long)out.counts.turns, (long long)out.counts.status_writes, (long long)out.counts.asks);
    sim_outcome_clear(&out);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        sim_verbose = sim_verbose || dv_streq(argv[i], "--verbose");
    dv_log_setup((struct dv_log_config){.level = sim_verbose ? DV_LOG_INFO : DV_LOG_ERROR, .fd = 2});
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_healthy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

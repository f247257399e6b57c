/* The table of runs: what is wrong with the world, and what must come of it. */
#ifndef DV_SIM_CASES_H
#define DV_SIM_CASES_H

#include <stdbool.h>
#include <stddef.h>

struct sim_case {
    const char *name;
    const char *script;
    const char *result, *reason, *stage;
    const char *a, *b;   /* switches at the end: distribution init MD OD OC */
    const char *message; /* part of the top message */
    bool field, two;
    int retries; /* stages that had to be tried again, at most */
};

extern const struct sim_case sim_cases[];
extern const size_t sim_case_count;

#endif

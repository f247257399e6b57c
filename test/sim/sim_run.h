/* Drives a world until its verification has ended, and looks after what must always hold. */
#ifndef DV_SIM_RUN_H
#define DV_SIM_RUN_H

#include "world.h"

struct sim_setup {
    const char *script; /* of world_faults.c */
    uint64_t seed;
    bool field;
    int max_runs;     /* 0: 8 */
    bool two;         /* side B lives on an API server of its own */
    bool far;         /* both sides live there */
    bool lenient;     /* what the script waits for need not come */
    int64_t limit_ms; /* virtual; 0: what the run's deadline makes of it */
    /* the end of the process: at the n-th time of what kind says, counted from 1; 0: never */
    int kill_at;
    enum sim_kill { SIM_KILL_NONE, SIM_KILL_EFFECT, SIM_KILL_EVENT } kill;
    int kills; /* so many times over, each kill_at further on; 0 means 1 */
};

struct sim_outcome {
    char result[16], reason[40], stage[24], message[256];
    char switches[MODEL_SIDES][12];
    char broken[512];
    int64_t took_ms;
    int64_t events;  /* events taken by the controller's process */
    int64_t effects; /* failpoints passed */
    int64_t killed;
    struct world_counts counts;
    int64_t resumes;
    int retries; /* StageRetried events */
    char steps_seen[64];
    char *status; /* JSON, owned */
};

/* The world is made, driven to the end, judged and freed. */
void sim_run(const struct sim_setup *setup, struct sim_outcome *out);
void sim_outcome_clear(struct sim_outcome *out);
/* Prepares the world of a run and drives it; for tests with more than one resource. The caller frees the world. */
struct world *sim_world(const struct sim_setup *setup);
void sim_end(struct world *world);
/* Until done says so or the time is over; false: over. */
bool sim_drive(struct world *world, bool (*done)(struct world *world), int64_t limit_ms);
bool sim_finished(struct world *world);
const char *sim_condition(struct world *world, const char *name, const char *type, const char *field);

extern bool sim_verbose;

#endif

/* Runs by the hundred: the process ended at every place, and worlds drawn by chance. */
#ifndef DV_SIM_SWEEP_H
#define DV_SIM_SWEEP_H

#include <stdint.h>

/* Both end the cmocka test at the first run that is not as it must be, and say how to repeat it. */
void sweep_kill_effects(int step); /* each step-th failpoint of a healthy run */
void sweep_kill_events(int step);  /* each step-th event */
void sweep_benign(uint64_t from, int seeds);
void sweep_faults(uint64_t from, int seeds);

#endif

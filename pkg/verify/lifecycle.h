/* Inside pkg/verify: when runs start, pause and end. */
#ifndef DV_VERIFY_LIFECYCLE_H
#define DV_VERIFY_LIFECYCLE_H

#include "verify/turn.h"

void lifecycle_decide(struct turn *t);
void lifecycle_finish(struct turn *t, enum model_verdict verdict, enum model_reason reason);
/* In decide.c: one turn of an active run. */
void decide_run(struct turn *t);
/* A run is to start: now, or once nothing is in its way. */
bool lifecycle_wanted(const struct verify_snapshot *s, const struct model_status *st);
/* True when what passed is no longer what is live or asked for; says why. */
bool lifecycle_stale(const struct verify_snapshot *s, const struct model_status *st, char *why, size_t size);

#endif

/* What the offset guards share: which side commits, what the right answer is, how far another one is from it. */
#ifndef DV_VERIFY_OFFSETS_H
#define DV_VERIFY_OFFSETS_H

#include "verify/guards.h"

struct answer {
    int64_t expected; /* offset of the barrier's copy: q */
    int64_t actual;   /* committed: p */
    int64_t before;
};

/* Which side commits follows from stage and step. Offsets are those of the test group on the test topic, -1: none. */
enum model_side offsets_near(const struct turn *t);
enum model_side offsets_far(const struct turn *t);
int64_t offsets_deadline_ms(const struct turn *t);
bool offsets_track(struct turn *t, enum model_side side); /* memory's last and changed_ms; false: not known in this step */
const struct probe *offsets_barrier(const struct turn *t, int32_t partition); /* NULL: not produced */
bool offsets_answer(struct turn *t, int32_t partition, struct answer *out);   /* false: not known */
int32_t offsets_partitions(const struct turn *t);
bool offsets_known(struct turn *t);
/* Data records in [from, to) that are older than the barrier, not counted far beyond what is tolerated; INT64_MAX without any commit; -1:
 * asked for, not known yet. */
int64_t offsets_older(struct turn *t, enum model_side side, int32_t partition, int64_t from, int64_t to);
/* Of the far commit to the right answer, in records that would be read again; -1: not known yet. */
int64_t offsets_distance(struct turn *t, int32_t partition, const struct answer *a);
/* for_ms without disturbance since then; else it is looked at again when they are over. */
bool offsets_over(struct turn *t, int64_t since_ms, int64_t for_ms);

#endif

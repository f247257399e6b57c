#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "verify/offsets.h"

/* Barrier: three records per partition with a millisecond each; the middle one's offset is committed on the near side. The right answer on
 * the far side is the offset of its copy. */
#define BARRIER_RECORDS 3
#define BARRIER_MIDDLE 1

/* In the last stage both directions are proven one after the other: which side commits follows from the step. */
enum model_side offsets_near(const struct turn *t)
{
    if (t->stage == STAGE_PERSISTED && t->m->step[0] != '\0' && dv_ends_with(t->m->step, "B"))
        return MODEL_B;
    return t->stage == STAGE_PERSISTED ? MODEL_A : t->near;
}

enum model_side offsets_far(const struct turn *t)
{
    return model_far(offsets_near(t));
}

int64_t offsets_deadline_ms(const struct turn *t)
{
    return 2 * t->spec->window_ms + verify_commit_interval_ms(t->s) + 30000;
}

/* ---------------------------------------------------------------- before */

bool offsets_track(struct turn *t, enum model_side side)
{
    const struct fact_offsets *now = t->s->side[side].test_commits;
    if (!turn_fresh(t, side, VF_TEST_COMMITS, t->m->step_since_ms) || now == NULL)
        return false;
    bool first = t->m->changed_ms[side] == 0;
    bool changed = false;
    for (int32_t p = 0; p < now->partitions && p < MODEL_PARTITIONS_MAX; p++) {
        changed = changed || t->m->last[side][p] != now->high[p];
        t->m->last[side][p] = now->high[p];
    }
    if (first || changed)
        t->m->changed_ms[side] = t->now;
    if (changed && !first)
        t->m->changes[side]++;
    return true;
}

void start_before(struct turn *t)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        t->m->changed_ms[side] = 0;
        t->m->changes[side] = 0;
    }
    t->m->right_ms = 0;
    t->m->best_ts = 0;
}

/* The far offset, read after one whole window without change. */
bool before_steady(struct turn *t)
{
    enum model_side far = offsets_far(t);
    bool members = turn_fresh(t, MODEL_A, VF_GROUPS, t->m->step_since_ms);
    members = turn_fresh(t, MODEL_B, VF_GROUPS, t->m->step_since_ms) && members;
    if (!offsets_track(t, far) || !members)
        return false;
    int64_t due = t->m->changed_ms[far] + t->spec->window_ms;
    turn_wake(t, due);
    if (t->now < due || t->s->side[far].stamp[VF_TEST_COMMITS].as_of_ms + turn_poll_ms(t) < due)
        return false;
    memcpy(t->m->before, t->m->last[far], sizeof t->m->before);
    return true;
}

bool ts_reader_ready(struct turn *t)
{
    enum model_side far = offsets_far(t);
    if (t->s->side[far].ts_reader_at_ms != 0)
        return true;
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "the reader of topic %s on %s to reach the log end",
                    turn_cluster(t, far)->timestamps_topic, turn_name(t, far));
    return false;
}

/* ---------------------------------------------------------------- barrier and commit */

void produce_barrier(struct turn *t)
{
    intent_records(t, offsets_near(t), BARRIER_RECORDS);
}

const struct probe *offsets_barrier(const struct turn *t, int32_t partition)
{
    const struct probe_table *table = t->s->probes;
    size_t batch = turn_batch(t, offsets_near(t));
    return table != NULL && batch < table->batch_count ? probes_find(table, batch, partition, BARRIER_MIDDLE) : NULL;
}

static bool offsets_barrier_copied(struct turn *t)
{
    enum model_side near = offsets_near(t);
    size_t batch = turn_batch(t, near);
    const struct probe_table *table = t->s->probes;
    if (table == NULL || batch >= table->batch_count)
        return false;
    for (int32_t p = 0; p < table->partitions; p++)
        for (int32_t s = 0; s < BARRIER_RECORDS; s++)
            for (int side = 0; side < MODEL_SIDES; side++)
                if (probes_find(table, batch, p, s)->on[side].count != 1)
                    return false;
    return true;
}

bool barrier_known(struct turn *t)
{
    if (offsets_barrier_copied(t))
        return true;
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "the barrier records of %s to be on both clusters",
                    turn_name(t, offsets_near(t)));
    return false;
}

void commit_barrier(struct turn *t)
{
    int32_t n = t->s->probes->partitions;
    int64_t *offsets = dv_calloc((size_t)n, sizeof *offsets);
    for (int32_t p = 0; p < n; p++) {
        const struct probe *barrier = offsets_barrier(t, p);
        offsets[p] = barrier != NULL ? barrier->on[offsets_near(t)].offset : -1;
    }
    intent_commit(t, offsets_near(t), offsets, t->m->before, n);
    for (int32_t p = 0; p < n; p++)
        t->m->mark[offsets_near(t)][p] = offsets[p];
    free(offsets);
    t->m->right_ms = 0;
    t->m->ts_last_ms = 0;
    t->m->ts_base = t->s->side[offsets_far(t)].ts_seen;
}

/* ---------------------------------------------------------------- the far answer */

bool offsets_answer(struct turn *t, int32_t partition, struct answer *out)
{
    enum model_side far = offsets_far(t);
    const struct probe *barrier = offsets_barrier(t, partition);
    const struct fact_offsets *commits = t->s->side[far].test_commits;
    if (barrier == NULL || commits == NULL || partition >= commits->partitions)
        return false;
    *out = (struct answer){.expected = barrier->on[far].offset, .actual = commits->high[partition], .before = t->m->before[partition]};
    return true;
}

int32_t offsets_partitions(const struct turn *t)
{
    return t->s->probes != NULL ? t->s->probes->partitions : 0;
}

bool offsets_known(struct turn *t)
{
    return turn_fresh(t, offsets_far(t), VF_TEST_COMMITS, t->m->step_since_ms);
}

/* The group was looked at since its offsets were: a member that moved them is seen first. */
static bool offsets_alone(struct turn *t, enum model_side side)
{
    return turn_fresh(t, side, VF_GROUPS, t->s->side[side].stamp[VF_TEST_COMMITS].as_of_ms);
}

/* First partition whose near offset is not the one that we set; -1: none. */
static int32_t offsets_near_off(const struct turn *t)
{
    enum model_side near = offsets_near(t);
    const struct fact_offsets *commits = t->s->side[near].test_commits;
    for (int32_t p = 0; commits != NULL && p < offsets_partitions(t) && p < commits->partitions; p++)
        if (commits->high[p] != t->m->mark[near][p])
            return p;
    return -1;
}

/* The near side was looked at since the far one was, and stands where we set it: what the far side shows came of our commit. */
static bool offsets_near_set(struct turn *t)
{
    enum model_side near = offsets_near(t);
    bool known = turn_fresh(t, near, VF_TEST_COMMITS, t->s->side[offsets_far(t)].stamp[VF_TEST_COMMITS].as_of_ms);
    return known && t->s->side[near].test_commits != NULL && offsets_near_off(t) < 0;
}

/* The near side's Offset Committer is off: whatever else the group's offset is there, a stranger set it, and the far side follows. In the
 * last stage it may be an echo (near_moved). */
bool near_reset(struct turn *t)
{
    enum model_side near = offsets_near(t);
    if (t->stage == STAGE_PERSISTED || !turn_fresh(t, near, VF_TEST_COMMITS, t->m->step_since_ms))
        return false;
    int32_t p = offsets_near_off(t);
    if (p < 0)
        return false;
    turn_say(
        t,
        "the offset of group %s on %s is %lld in partition %d, this run set it to %lld: somebody else sets it; keep others off the group",
        turn_cluster(t, near)->group, turn_name(t, near), (long long)t->s->side[near].test_commits->high[p], p,
        (long long)t->m->mark[near][p]);
    return true;
}

bool offset_beyond_end(struct turn *t)
{
    enum model_side far = offsets_far(t);
    struct answer a;
    const struct fact_offsets *log = t->s->side[far].test_log;
    bool known = turn_fresh(t, far, VF_TEST_LOG, t->m->step_since_ms) && log != NULL;
    if (!offsets_known(t) || !known || !offsets_alone(t, far) || !offsets_near_set(t))
        return false;
    for (int32_t p = 0; p < offsets_partitions(t) && p < log->partitions; p++) {
        if (!offsets_answer(t, p, &a) || a.actual <= t->s->side[far].test_log->high[p])
            continue;
        turn_say(t, "the offset of group %s on %s is %lld in partition %d, past the log end %lld: the number was copied, not translated",
                 turn_cluster(t, far)->group, turn_name(t, far), (long long)a.actual, p, (long long)t->s->side[far].test_log->high[p]);
        return true;
    }
    return false;
}

bool offset_ahead(struct turn *t)
{
    enum model_side far = offsets_far(t);
    struct answer a;
    if (!offsets_known(t) || !offsets_alone(t, far) || !offsets_near_set(t))
        return false;
    for (int32_t p = 0; p < offsets_partitions(t); p++) {
        if (!offsets_answer(t, p, &a) || a.actual <= a.expected)
            continue;
        evidence_offset(t, far, p, a.before, t->m->mark[offsets_near(t)][p], a.expected, a.actual, a.expected - a.actual);
        turn_say(t,
                 "the offset of group %s on %s is %lld in partition %d, %lld ahead of the right one (%lld): consumers would skip records",
                 turn_cluster(t, far)->group, turn_name(t, far), (long long)a.actual, p, (long long)(a.actual - a.expected),
                 (long long)a.expected);
        return true;
    }
    return false;
}

#define OFFSETS_COUNTED 10000 /* as far as a distance is counted out: a scan of millions would not end in time */

/* What is more than is tolerated and more than is counted is only known to be more. */
static int64_t offsets_most(const struct turn *t)
{
    return t->spec->behind_tolerance > OFFSETS_COUNTED ? t->spec->behind_tolerance : OFFSETS_COUNTED;
}

int64_t offsets_older(struct turn *t, enum model_side side, int32_t partition, int64_t from, int64_t to)
{
    struct verify_distance question = {.partition = partition,
                                       .from = from,
                                       .to = to,
                                       .before_ms = offsets_barrier(t, partition)->on[side].timestamp_ms,
                                       .limit = offsets_most(t) + 1};
    return from < 0 ? INT64_MAX : turn_distance(t, side, &question);
}

/* How far the far commit is behind the barrier's copy, in records a consumer would see again. */
int64_t offsets_distance(struct turn *t, int32_t partition, const struct answer *a)
{
    return a->actual >= a->expected ? 0 : offsets_older(t, offsets_far(t), partition, a->actual, a->expected);
}

static bool offsets_moved(const struct answer *a)
{
    return a->actual >= 0 && a->actual != a->before;
}

static bool offsets_right(struct turn *t, int32_t partition)
{
    struct answer a;
    if (!offsets_answer(t, partition, &a))
        return false;
    int64_t distance = offsets_moved(&a) ? offsets_distance(t, partition, &a) : -1;
    if (a.actual <= a.expected && distance >= 0 && distance <= t->spec->behind_tolerance)
        return true;
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "the offset of group %s on %s, partition %d, to become %lld (now %lld)",
                    turn_cluster(t, offsets_far(t))->group, turn_name(t, offsets_far(t)), partition, (long long)a.expected,
                    (long long)a.actual);
    return false;
}

static void offsets_ts_score(struct turn *t)
{
    int64_t seen = t->s->side[offsets_far(t)].ts_seen;
    if (ts_seen(t) && (seen > t->m->best_ts || t->m->ts_last_ms == 0))
        t->m->ts_last_ms = t->now;
    if (seen > t->m->best_ts) {
        t->m->best_ts = seen;
        turn_progress(t);
    }
}

bool offset_right(struct turn *t)
{
    offsets_ts_score(t);
    if (!offsets_known(t) || offsets_partitions(t) == 0)
        return false;
    bool right = true;
    for (int32_t p = 0; p < offsets_partitions(t); p++)
        right = offsets_right(t, p) && right;
    if (right && t->m->right_ms == 0)
        t->m->right_ms = t->now;
    return right;
}

bool ts_seen(struct turn *t)
{
    return t->s->side[offsets_far(t)].ts_seen > t->m->ts_base; /* it may come before the commit's own answer */
}

bool offsets_over(struct turn *t, int64_t since_ms, int64_t for_ms)
{
    since_ms = turn_undisturbed(t, since_ms);
    if (t->now - since_ms >= for_ms)
        return true;
    turn_wake(t, since_ms + for_ms); /* not when it is over already: a time in the past would wake every millisecond */
    return false;
}

/* Over, and the far offsets were looked at since: what was known before a suspension says nothing about the time after it. */
static bool offsets_waited(struct turn *t, int64_t since_ms, int64_t for_ms)
{
    int64_t end = turn_undisturbed(t, since_ms) + for_ms;
    return offsets_over(t, since_ms, for_ms) && turn_fresh(t, offsets_far(t), VF_TEST_COMMITS, end) && !connectors_away(t, end);
}

bool ts_not_seen_late(struct turn *t)
{
    if (t->m->right_ms == 0 || ts_seen(t) || !offsets_over(t, t->m->right_ms, verify_commit_interval_ms(t->s) + 30000))
        return false;
    turn_say(t,
             "the offset on %s is right, but no record for group %s was seen in topic %s: is its name right, or did something else move "
             "the offset?",
             turn_name(t, offsets_far(t)), turn_cluster(t, offsets_far(t))->group, turn_cluster(t, offsets_far(t))->timestamps_topic);
    return true;
}

static bool offsets_all_moved(struct turn *t)
{
    struct answer a;
    for (int32_t p = 0; p < offsets_partitions(t); p++)
        if (!offsets_answer(t, p, &a) || !offsets_moved(&a))
            return false;
    return offsets_partitions(t) > 0;
}

bool ts_missing_late(struct turn *t)
{
    if (ts_seen(t) || offsets_all_moved(t) || !offsets_waited(t, t->m->step_since_ms, offsets_deadline_ms(t)))
        return false;
    turn_say(t,
             "no timestamps record for group %s was written to topic %s on %s within %lld s of the commit on %s; look at the Offset "
             "Distributor of %s",
             turn_cluster(t, offsets_far(t))->group, turn_cluster(t, offsets_far(t))->timestamps_topic, turn_name(t, offsets_far(t)),
             (long long)(offsets_deadline_ms(t) / 1000), turn_name(t, offsets_near(t)), turn_name(t, offsets_near(t)));
    return true;
}

/* Both had their time: the Offset Distributor since our commit, the Offset Committer since the last timestamps record. An Offset
 * Distributor that is switched on first tells of older commits of the group, and of whose commit a record is cannot be seen: ours may still
 * come. */
static bool offsets_patience_over(struct turn *t)
{
    return offsets_waited(t, t->m->step_since_ms, offsets_deadline_ms(t)) &&
           (!ts_seen(t) || offsets_waited(t, t->m->ts_last_ms, verify_commit_interval_ms(t->s) + 30000));
}

bool offset_not_moved_late(struct turn *t)
{
    struct answer a;
    if (!ts_seen(t) || !offsets_patience_over(t))
        return false;
    for (int32_t p = 0; p < offsets_partitions(t); p++) {
        if (!offsets_answer(t, p, &a) || offsets_moved(&a))
            continue;
        if (a.actual >= 0 && offsets_older(t, offsets_far(t), p, a.actual, a.actual + 1) < 0)
            return false; /* whether it stands at a record out of order is being asked */
        char still[32] = "none";
        if (a.actual >= 0)
            (void)dv_format(still, sizeof still, "%lld", (long long)a.actual);
        turn_say(t,
                 "timestamps records for group %s arrived on %s, but its offset in partition %d is still %s; look at the Offset "
                 "Committer of %s",
                 turn_cluster(t, offsets_far(t))->group, turn_name(t, offsets_far(t)), p, still, turn_name(t, offsets_far(t)));
        return true;
    }
    return false;
}

/* The far commit stands at a record that is younger than the barrier although it lies before the barrier's copy: a foreign record whose
 * timestamp is out of order. A search by timestamp ends there, and rightly so. */
bool timestamps_out_of_order(struct turn *t)
{
    struct answer a;
    if (!ts_seen(t))
        return false;
    for (int32_t p = 0; p < offsets_partitions(t); p++) {
        if (!offsets_answer(t, p, &a) || a.actual < 0 || a.actual >= a.expected ||
            (offsets_moved(&a) ? offsets_distance(t, p, &a) <= t->spec->behind_tolerance : !offsets_patience_over(t)) ||
            offsets_older(t, offsets_far(t), p, a.actual, a.actual + 1) != 0)
            continue;
        turn_say(
            t, "records with out-of-order timestamps lie before the barrier in partition %d of topic %s on %s; keep other producers off it",
            p, turn_cluster(t, offsets_far(t))->topic, turn_name(t, offsets_far(t)));
        return true;
    }
    return false;
}

/* Whether it stands at a record out of order, or has not moved at all, is known of every partition that is behind: both are told first,
 * whichever answer comes first. */
static bool offsets_told(struct turn *t)
{
    struct answer a;
    bool told = true;
    for (int32_t p = 0; p < offsets_partitions(t); p++) {
        if (!offsets_answer(t, p, &a) || a.actual < 0 || a.actual >= a.expected)
            continue;
        int64_t distance = offsets_moved(&a) ? offsets_distance(t, p, &a) : INT64_MAX;
        if (distance >= 0 && distance <= t->spec->behind_tolerance)
            continue;
        int64_t older = offsets_older(t, offsets_far(t), p, a.actual, a.actual + 1);
        told = told && older >= 0 && (older > 0 || distance >= 0);
    }
    return told;
}

bool offset_behind_late(struct turn *t)
{
    struct answer a;
    if (!offsets_patience_over(t) || (ts_seen(t) && !offsets_told(t)))
        return false;
    for (int32_t p = 0; p < offsets_partitions(t); p++) {
        if (!offsets_answer(t, p, &a) || a.actual < 0) /* no commit at all is told of by the other rows */
            continue;
        int64_t distance = offsets_distance(t, p, &a);
        if (distance < 0 || distance <= t->spec->behind_tolerance)
            continue;
        bool more = distance > offsets_most(t);
        evidence_offset(t, offsets_far(t), p, a.before, t->m->mark[offsets_near(t)][p], a.expected, a.actual,
                        more ? EVIDENCE_UNCOUNTED : distance);
        turn_say(
            t, "the offset of group %s on %s is %lld in partition %d, %s%lld records behind the right one (%lld), where %lld are tolerated",
            turn_cluster(t, offsets_far(t))->group, turn_name(t, offsets_far(t)), (long long)a.actual, p, more ? "more than " : "",
            (long long)(more ? offsets_most(t) : distance), (long long)a.expected, (long long)t->spec->behind_tolerance);
        return true;
    }
    return false;
}

void note_offsets(struct turn *t)
{
    struct answer a;
    int64_t most = 0;
    for (int32_t p = 0; p < offsets_partitions(t); p++) {
        if (!offsets_answer(t, p, &a))
            continue;
        int64_t distance = offsets_distance(t, p, &a);
        if (distance != 0)
            evidence_offset(t, offsets_far(t), p, a.before, t->m->mark[offsets_near(t)][p], a.expected, a.actual, distance);
        most = distance > most ? distance : most;
        t->m->mark[offsets_far(t)][p] = a.actual;
    }
    turn_note(t, "offsets of group %s follow from %s to %s in %d partitions, at most %lld records behind",
              turn_cluster(t, offsets_far(t))->group, turn_name(t, offsets_near(t)), turn_name(t, offsets_far(t)), offsets_partitions(t),
              (long long)most);
    t->m->changed_ms[MODEL_A] = 0;
    t->m->changed_ms[MODEL_B] = 0;
    t->m->changes[MODEL_A] = 0;
    t->m->changes[MODEL_B] = 0;
}

/* ---------------------------------------------------------------- equal timestamps */

/* The barrier once more with one timestamp for all of its records: a search by timestamp cannot tell them apart and may end at the first of
 * them. Reported; only an offset that is ahead fails. */
void produce_equal(struct turn *t)
{
    produce_barrier(t);
}

void commit_equal(struct turn *t)
{
    memcpy(t->m->before, t->m->mark[offsets_far(t)], sizeof t->m->before);
    commit_barrier(t);
}

void note_equal(struct turn *t)
{
    struct answer a;
    int64_t most = 0;
    for (int32_t p = 0; p < offsets_partitions(t); p++) {
        if (!offsets_answer(t, p, &a))
            continue;
        most = a.expected - a.actual > most ? a.expected - a.actual : most;
        t->m->mark[offsets_far(t)][p] = a.actual;
    }
    turn_note(t, "among %d records with equal timestamps the offset on %s is at most %lld records behind, never ahead", BARRIER_RECORDS,
              turn_name(t, offsets_far(t)), (long long)most);
}

bool equal_late(struct turn *t)
{
    return offsets_over(t, t->m->step_since_ms, offsets_deadline_ms(t));
}

void note_equal_late(struct turn *t)
{
    turn_note(t, "an offset among records with equal timestamps did not follow to %s within %lld s", turn_name(t, offsets_far(t)),
              (long long)(offsets_deadline_ms(t) / 1000));
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "verify/guards.h"

/* ---------------------------------------------------------------- start offsets and readers */

bool marks_taken(struct turn *t)
{
    return t->st->run.partitions > 0;
}

/* The log ends before the first record of the run: all counting starts here. */
void take_marks(struct turn *t)
{
    struct model_run *run = &t->st->run;
    bool known = true;
    EACH_SIDE (side)
        known = turn_fresh(t, (enum model_side)side, VF_TEST_LOG, t->m->step_since_ms) && t->s->side[side].test_log != NULL && known;
    if (!known || run->partitions > 0)
        return;
    int32_t n = t->s->side[MODEL_A].test_log->partitions;
    if (n != t->s->side[MODEL_B].test_log->partitions || n < 1 || n > MODEL_PARTITIONS_MAX)
        return;
    run->partitions = n;
    EACH_SIDE (side) {
        run->start_offsets[side] = dv_calloc((size_t)n, sizeof(int64_t));
        memcpy(run->start_offsets[side], t->s->side[side].test_log->high, (size_t)n * sizeof(int64_t));
    }
}

/* The readers stand at the end of every partition: nothing that is produced from now on can be missed. */
bool readers_ready(struct turn *t)
{
    EACH_SIDE (side) {
        if (t->s->side[side].reader_at_ms != 0)
            continue;
        (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "the reader of topic %s on %s to reach the log end",
                        turn_cluster(t, (enum model_side)side)->topic, turn_name(t, (enum model_side)side));
        return false;
    }
    return true;
}

void produce_near(struct turn *t)
{
    intent_records(t, t->near, (int32_t)t->spec->records_per_partition);
}

void produce_far(struct turn *t)
{
    intent_records(t, t->far, (int32_t)t->spec->records_per_partition);
}

/* Whatever was produced since the start offsets must stay: a log that starts later has lost some of it. */
bool records_deleted(struct turn *t)
{
    const struct model_run *run = &t->st->run;
    EACH_SIDE (side) {
        const struct fact_offsets *log = t->s->side[side].test_log;
        for (int32_t p = 0; log != NULL && log->low != NULL && p < run->partitions && p < log->partitions; p++) {
            if (log->low[p] <= run->start_offsets[side][p])
                continue;
            turn_say(t,
                     "records of this run were deleted from partition %d of topic %s on %s (it starts at offset %lld now); raise its "
                     "retention, and delete nothing during a run",
                     p, turn_cluster(t, (enum model_side)side)->topic, turn_name(t, (enum model_side)side), (long long)log->low[p]);
            return true;
        }
    }
    return false;
}

/* The log ends before a record of ours that was read from it: the topic was made anew, or its log was cut off. */
static bool messages_behind_end(const struct verify_side *facts, enum model_side side, const struct probe *probe)
{
    const struct probe_copies *copies = &probe->on[side];
    const struct fact_offsets *log = facts->test_log;
    return copies->count > 0 && copies->last_ms < facts->stamp[VF_TEST_LOG].as_of_ms && probe->partition < log->partitions &&
           log->high[probe->partition] <= copies->last_offset;
}

bool log_cut_off(struct turn *t)
{
    const struct probe_table *table = t->s->probes;
    EACH_SIDE (side) {
        const struct verify_side *facts = &t->s->side[side];
        for (size_t i = 0; table != NULL && facts->test_log != NULL && i < table->count; i++) {
            const struct probe *probe = &table->probes[i];
            if (!messages_behind_end(facts, (enum model_side)side, probe))
                continue;
            turn_say(t,
                     "partition %d of topic %s on %s ends at offset %lld, before a record of this run (%lld): the topic was made anew or "
                     "cut off; delete nothing during a run",
                     probe->partition, turn_cluster(t, (enum model_side)side)->topic, turn_name(t, (enum model_side)side),
                     (long long)facts->test_log->high[probe->partition], (long long)probe->on[side].last_offset);
            return true;
        }
    }
    return false;
}

/* A run proves the partitions that it began with: those that came since were neither produced to nor counted. */
bool partitions_changed(struct turn *t)
{
    const struct model_run *run = &t->st->run;
    const struct fact_offsets *log[MODEL_SIDES] = {t->s->side[MODEL_A].test_log, t->s->side[MODEL_B].test_log};
    EACH_SIDE (side) {
        if (run->partitions == 0 || log[side] == NULL || log[side]->partitions == run->partitions)
            continue;
        turn_say(
            t, "topic %s on %s has %d partitions now, it had %d when the run began; make them equal on both clusters and start a new run",
            turn_cluster(t, (enum model_side)side)->topic, turn_name(t, (enum model_side)side), log[side]->partitions, run->partitions);
        return true;
    }
    return t->stage != STAGE_PREFLIGHT && log[MODEL_A] != NULL && log[MODEL_B] != NULL &&
           partitions_differ(t, log[MODEL_A]->partitions, log[MODEL_B]->partitions);
}

/* ---------------------------------------------------------------- counting */

/* Both readers have read to the log ends as they were at `since` or later: nothing that was there then is unseen. A broker out of reach
 * leaves this unknown, never true. */
static bool messages_caught_up(struct turn *t, int64_t since_ms)
{
    bool caught = true;
    EACH_SIDE (side) {
        const struct verify_side *facts = &t->s->side[side];
        bool known = turn_fresh(t, (enum model_side)side, VF_TEST_LOG, since_ms) && facts->test_log != NULL && facts->reader_next != NULL;
        caught = caught && known;
        for (int32_t p = 0; caught && p < facts->test_log->partitions && p < t->st->run.partitions; p++)
            caught = facts->reader_next[p] >= facts->test_log->high[p];
    }
    return caught;
}

/* Calls until each returns false. Probes that may never have been produced are left out. */
static bool messages_each(struct turn *t, size_t only_batch, bool (*each)(struct turn *t, const struct probe *probe, enum model_side born))
{
    const struct probe_table *table = t->s->probes;
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        const struct probe *probe = &table->probes[i];
        const struct model_batch *batch = &table->batches[probe->batch];
        if (batch->maybe || (only_batch != MODEL_BATCHES_MAX && probe->batch != only_batch))
            continue;
        if (!each(t, probe, batch->side))
            return false;
    }
    return true;
}

static bool messages_once_near(struct turn *t, const struct probe *probe, enum model_side born)
{
    if (probe->on[born].count > 0)
        return true;
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "a record produced on %s to be read there (partition %d)", turn_name(t, born),
                    probe->partition);
    return false;
}

static bool messages_far_copy(struct turn *t, const struct probe *probe, enum model_side born)
{
    if (!messages_once_near(t, probe, born))
        return false;
    if (probe->on[model_far(born)].count > 0)
        return true;
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "a record produced on %s to arrive on %s (partition %d)", turn_name(t, born),
                    turn_name(t, model_far(born)), probe->partition);
    return false;
}

/* Commits up to here are progress: what others write behind the last copy of ours, or behind the mark, is not waited for. */
static void messages_goals(const struct turn *t, enum model_side side, int64_t goal[MODEL_PARTITIONS_MAX])
{
    const struct probe_table *table = t->s->probes;
    for (int32_t p = 0; p < MODEL_PARTITIONS_MAX; p++)
        goal[p] = t->stage == STAGE_LAG_DRAINED ? t->m->mark[side][p] : 0;
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        const struct probe *probe = &table->probes[i];
        int64_t last = probe->on[side].count > 0 ? probe->on[side].last_offset : -1;
        if (probe->partition < MODEL_PARTITIONS_MAX && last >= goal[probe->partition])
            goal[probe->partition] = last + 1;
    }
}

static int64_t messages_committed(const struct turn *t)
{
    int64_t goal[MODEL_PARTITIONS_MAX];
    int64_t commits = 0;
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct fact_offsets *md = t->s->side[side].md_commits;
        if (md == NULL)
            continue;
        messages_goals(t, (enum model_side)side, goal);
        for (int32_t p = 0; p < md->partitions && p < MODEL_PARTITIONS_MAX; p++)
            if (md->high[p] > 0) /* none yet is nothing, not less than nothing */
                commits += md->high[p] > goal[p] ? goal[p] : md->high[p];
    }
    return commits;
}

/* Commits and log ends are asked for as long as something is waited for that follows from them. */
static void messages_score(struct turn *t)
{
    const struct probe_table *table = t->s->probes;
    for (int side = 0; side < MODEL_SIDES; side++) {
        if (!turn_wants_connector(t, (enum model_side)side, MODEL_MD))
            continue;
        (void)turn_fresh(t, (enum model_side)side, VF_MD_COMMITS, t->m->step_since_ms);
        (void)turn_fresh(t, (enum model_side)side, VF_TEST_LOG, t->m->step_since_ms);
    }
    int64_t copies = table != NULL ? table->copies[MODEL_A] + table->copies[MODEL_B] : 0;
    if (copies > t->m->best_copies) {
        t->m->best_copies = copies;
        turn_progress(t);
    }
    int64_t commits = messages_committed(t);
    if (commits > t->m->best_commit) {
        t->m->best_commit = commits;
        turn_progress(t);
    }
}

static bool messages_batch_arrived(struct turn *t, enum model_side side)
{
    size_t batch = turn_batch(t, side);
    messages_score(t);
    return t->s->probes != NULL && batch < t->s->probes->batch_count && messages_each(t, batch, messages_far_copy);
}

bool near_arrived(struct turn *t)
{
    return messages_batch_arrived(t, t->near);
}

bool far_arrived(struct turn *t)
{
    return messages_batch_arrived(t, t->far);
}

/* All records of the run that were produced so far: the control's too. */
bool both_arrived(struct turn *t)
{
    messages_score(t);
    return t->s->probes != NULL && t->s->probes->batch_count == t->st->run.batch_count &&
           messages_each(t, MODEL_BATCHES_MAX, messages_far_copy);
}

bool both_counted(struct turn *t)
{
    const struct model_run *run = &t->st->run;
    bool counted[MODEL_SIDES] = {false, false};
    for (size_t i = 0; i < run->batch_count; i++)
        counted[run->batches[i].side] = counted[run->batches[i].side] || !run->batches[i].maybe;
    return counted[MODEL_A] && counted[MODEL_B];
}

/* ---------------------------------------------------------------- negative control */

static bool messages_control_far(struct turn *t, const struct probe *probe, enum model_side born)
{
    if (probe->on[model_far(born)].count == 0)
        return true;
    turn_say(
        t,
        "a record produced on %s arrived on %s although every connector is off: something else copies topic %s (a MirrorMaker?); stop it",
        turn_name(t, born), turn_name(t, model_far(born)), turn_cluster(t, born)->topic);
    return false;
}

bool replicated_while_off(struct turn *t)
{
    return !messages_each(t, MODEL_BATCHES_MAX, messages_control_far);
}

/* Seen once where it was produced, and then not on the other side for the settle time: the readers looked at the end of it. */
bool control_settled(struct turn *t)
{
    t->unknown = false;
    bool near = t->s->probes != NULL && t->s->probes->batch_count == t->st->run.batch_count &&
                messages_each(t, MODEL_BATCHES_MAX, messages_once_near);
    return turn_held(t, near, t->spec->settle_ms) && messages_caught_up(t, t->m->hold_since_ms + t->spec->settle_ms);
}

/* ---------------------------------------------------------------- commits of the Message Distributors */

static bool messages_commits_known(struct turn *t, enum model_side side)
{
    return turn_fresh(t, side, VF_MD_COMMITS, t->m->step_since_ms) && t->s->side[side].md_commits != NULL;
}

/* Both Message Distributors that are on have committed past every copy that lies on their local cluster: each had its chance to send it on.
 */
static bool messages_side_passed(struct turn *t, enum model_side side)
{
    const struct probe_table *table = t->s->probes;
    (void)turn_fresh(t, side, VF_TEST_LOG, t->m->step_since_ms);
    if (!messages_commits_known(t, side))
        return false;
    const struct fact_offsets *md = t->s->side[side].md_commits;
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        const struct probe *probe = &table->probes[i];
        const struct probe_copies *copies = &probe->on[side];
        int64_t commit = probe->partition < md->partitions ? md->high[probe->partition] : -1;
        if (copies->count == 0 || commit > copies->last_offset)
            continue;
        (void)dv_format(t->p->waits_for, sizeof t->p->waits_for,
                        "the Message Distributor of %s to commit past offset %lld of partition %d (now %lld)", turn_name(t, side),
                        (long long)copies->last_offset, probe->partition, (long long)commit);
        return false;
    }
    return true;
}

bool near_passed(struct turn *t)
{
    messages_score(t);
    return messages_side_passed(t, t->near);
}

bool commits_passed(struct turn *t)
{
    messages_score(t);
    bool passed = true;
    EACH_SIDE (side)
        if (turn_wants_connector(t, (enum model_side)side, MODEL_MD))
            passed = messages_side_passed(t, (enum model_side)side) && passed;
    return passed;
}

/* A copy that came later lies past a commit: that is waited for by name, and the settle time begins anew after it. */
bool commits_behind(struct turn *t)
{
    t->unknown = false;
    return !commits_passed(t) && !t->unknown;
}

bool settled(struct turn *t)
{
    t->unknown = false;
    bool passed = commits_passed(t);
    return turn_held(t, passed, t->spec->settle_ms) && messages_caught_up(t, t->m->hold_since_ms + t->spec->settle_ms);
}

static bool messages_lost(struct turn *t, const struct probe *probe, enum model_side born)
{
    const struct fact_offsets *md = t->s->side[born].md_commits;
    enum model_side far = model_far(born);
    if (!turn_wants_connector(t, born, MODEL_MD) || md == NULL || probe->on[born].count == 0 || probe->on[far].count > 0 ||
        probe->partition >= md->partitions || md->high[probe->partition] <= probe->on[born].offset)
        return true;
    turn_say(t,
             "a record produced on %s (partition %d, offset %lld) did not arrive on %s although the Message Distributor of %s committed "
             "past it; check level, left-over copy flags and filters",
             turn_name(t, born), probe->partition, (long long)probe->on[born].offset, turn_name(t, far), turn_name(t, born));
    return false;
}

/* Committed past it and no copy: looked at once the readers have read beyond the commit. A sink flushes before it commits, so one more
 * look after a commit interval tells a late reader from a lost record. */
bool records_missing(struct turn *t)
{
    messages_score(t);
    if (messages_each(t, MODEL_BATCHES_MAX, messages_lost)) {
        t->m->look_ms = 0;
        return false;
    }
    int64_t patience = verify_commit_interval_ms(t->s) + 1000;
    if (t->m->look_ms == 0)
        t->m->look_ms = t->now;
    if (t->now - t->m->look_ms < patience) {
        turn_wake(t, t->m->look_ms + patience);
        return false;
    }
    return messages_caught_up(t, t->m->look_ms);
}

/* Assigned, commit below the record, neither commit nor copies moved for arrival. */
bool distribution_stalled(struct turn *t)
{
    int64_t due = turn_arrival_due(t);
    if (t->now < due) {
        turn_wake(t, due);
        return false;
    }
    if (connectors_away(t, due))
        return false;
    turn_say(t, "distribution stands still for %lld s: %s", (long long)(verify_arrival_ms(t->s) / 1000), t->p->waits_for);
    return true;
}

/* ---------------------------------------------------------------- lag */

bool mark_known(struct turn *t)
{
    bool known = true;
    EACH_SIDE (side)
        known = turn_fresh(t, (enum model_side)side, VF_TEST_LOG, t->m->step_since_ms) && t->s->side[side].test_log != NULL && known;
    return known;
}

void set_mark(struct turn *t)
{
    EACH_SIDE (side) {
        const struct fact_offsets *log = t->s->side[side].test_log;
        for (int32_t p = 0; p < log->partitions && p < MODEL_PARTITIONS_MAX; p++)
            t->m->mark[side][p] = log->high[p];
    }
}

#define LAG_LOOK_MAX 1000 /* records that are read again to find out what they are */

/* A sink commits last delivered + 1: behind it transaction markers leave a lag that never goes. What lies there is read: data or nothing.
 */
static bool messages_only_control(struct turn *t, enum model_side side, int32_t p, int64_t commit)
{
    int64_t mark = t->m->mark[side][p];
    if (commit < 0 || mark - commit > LAG_LOOK_MAX)
        return false;
    return turn_distance(t, side,
                         &(struct verify_distance){.partition = p, .from = commit, .to = mark, .before_ms = INT64_MAX, .limit = 1}) == 0;
}

static bool messages_side_drained(struct turn *t, enum model_side side)
{
    const struct verify_side *facts = turn_side(t, side);
    if (!messages_commits_known(t, side))
        return false;
    for (int32_t p = 0; p < t->st->run.partitions; p++) {
        int64_t commit = p < facts->md_commits->partitions ? facts->md_commits->high[p] : -1;
        bool empty = facts->test_log != NULL && p < facts->test_log->partitions && facts->test_log->low[p] == t->m->mark[side][p];
        if (commit >= t->m->mark[side][p] || (commit < 0 && empty))
            continue;
        if (messages_only_control(t, side, p, commit)) {
            t->m->mark[side][p] = commit; /* found out once */
            continue;
        }
        (void)dv_format(t->p->waits_for, sizeof t->p->waits_for,
                        "the Message Distributor of %s to reach offset %lld of partition %d (now %lld)", turn_name(t, side),
                        (long long)t->m->mark[side][p], p, (long long)commit);
        return false;
    }
    return true;
}

bool mark_reached(struct turn *t)
{
    messages_score(t);
    bool a = messages_side_drained(t, MODEL_A);
    return messages_side_drained(t, MODEL_B) && a;
}

#define DRAIN_MARGIN_MS 30000

/* What was produced before the second mark is committed within one commit interval, or it is not drained: another mark. */
bool second_mark_late(struct turn *t)
{
    int64_t due = turn_undisturbed(t, t->m->step_since_ms) + verify_commit_interval_ms(t->s) + DRAIN_MARGIN_MS;
    if (t->now < due) {
        turn_wake(t, due);
        return false;
    }
    turn_note(t, "a mark was not reached within the commit interval: %s", t->p->waits_for);
    return true;
}

/* ---------------------------------------------------------------- reading again */

void read_again(struct turn *t)
{
    t->m->probes_generation++;
    t->m->reread_ms = t->now;
}

bool read_again_complete(struct turn *t)
{
    EACH_SIDE (side) {
        const struct verify_side *facts = &t->s->side[side];
        bool known = turn_fresh(t, (enum model_side)side, VF_TEST_LOG, t->m->step_since_ms);
        known = turn_fresh(t, (enum model_side)side, VF_TEST_TOPIC, t->m->step_since_ms) && known;
        if (facts->reader_at_ms <= t->m->reread_ms || !known)
            return false;
    }
    return t->s->probes != NULL && messages_each(t, MODEL_BATCHES_MAX, messages_far_copy);
}

bool read_again_missing(struct turn *t)
{
    EACH_SIDE (side)
        if (t->s->side[side].reader_at_ms <= t->m->reread_ms)
            return false;
    if (turn_step_age(t) < verify_arrival_ms(t->s)) {
        turn_wake(t, t->m->step_since_ms + verify_arrival_ms(t->s));
        return false;
    }
    if (t->s->probes == NULL || messages_each(t, MODEL_BATCHES_MAX, messages_far_copy))
        return false;
    turn_say(t, "when the topic was read again a record was gone: %s", t->p->waits_for);
    return true;
}

/* ---------------------------------------------------------------- lag over all topics: reported, never judged */

/* Waited for until there is an answer or none can be had, and no longer than arrival. */
static bool messages_group_lag_open(struct turn *t, enum model_side side)
{
    const struct verify_stamp *stamp = &t->s->side[side].stamp[VF_GROUP_LAG];
    int64_t since = t->m->step_since_ms;
    int64_t due = since + verify_arrival_ms(t->s);
    if (stamp->as_of_ms >= since)
        return false;
    (void)turn_fresh(t, side, VF_GROUP_LAG, since);
    if (stamp->failed_ms >= since || t->now >= due)
        return false;
    turn_wake(t, due);
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "the lag of the Message Distributor's group on %s over all topics",
                    turn_name(t, side));
    return true;
}

bool read_again_and_lag_asked(struct turn *t)
{
    bool open = false;
    EACH_SIDE (side)
        open = messages_group_lag_open(t, (enum model_side)side) || open;
    return read_again_complete(t) && !open;
}

void note_group_lag(struct turn *t)
{
    EACH_SIDE (side) {
        const struct verify_stamp *stamp = &t->s->side[side].stamp[VF_GROUP_LAG];
        if (stamp->as_of_ms >= t->m->step_since_ms)
            continue;
        turn_note(t, "the lag of the Message Distributor's group on %s over all topics is not known: %s",
                  turn_name(t, (enum model_side)side),
                  stamp->failed_ms >= t->m->step_since_ms ? stamp->err.text : "there was no answer within the arrival time");
    }
}

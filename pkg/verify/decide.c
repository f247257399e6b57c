#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "verify/guards.h"
#include "verify/lifecycle.h"
#include "base/buf.h"
#include "verify/tables.h"

#define MOVES_PER_TURN 32
#define DISTURBED_AGAIN_MS 10000 /* a disturbance that lasts is written down so often */

/* ---------------------------------------------------------------- disturbances outlive a stage, an attempt and a restart */

/* The aftermath of a disturbance comes within arrival: a member's session ends, its tasks start elsewhere and deliver again. */
static void decide_carry_disturbance(struct turn *t)
{
    if (t->m->disturbed_ms != 0 && t->now - t->m->disturbed_ms < verify_arrival_ms(t->s))
        return;
    t->m->disturbed_ms = 0;
    t->st->run.disturbed_ms = 0;
}

static void decide_remember_disturbance(struct turn *t)
{
    if (t->m->disturbed_ms == 0)
        return;
    int64_t wall_ms = t->s->now.wall_ms - (t->now - t->m->disturbed_ms);
    if (wall_ms >= t->st->run.disturbed_ms + DISTURBED_AGAIN_MS)
        t->st->run.disturbed_ms = wall_ms;
}

static int64_t decide_logs_since(const struct model_status *st)
{
    return st->run.logs_since_ms != 0 ? st->run.logs_since_ms : st->stages[st->stage].started_ms;
}

/* ---------------------------------------------------------------- entering stages and runs */

static void decide_enter_stage(struct turn *t, enum model_stage stage)
{
    struct model_stage_status *st = &t->st->stages[stage];
    struct verify_memory *m = t->m;
    const struct verify_step *first = &verify_tables[stage].steps[0];
    t->st->stage = stage;
    t->st->run.attempt = 1;
    st->state = STATE_RUNNING;
    st->attempts = 1;
    st->started_ms = t->s->now.wall_ms;
    (void)dv_strlcpy(st->step, first->name, sizeof st->step);
    (void)dv_strlcpy(m->step, first->name, sizeof m->step);
    m->stage = stage;
    m->stage_since_ms = t->now;
    m->step_since_ms = t->now;
    turn_progress(t);
    t->st->run.last_progress_ms = t->s->now.wall_ms;
    m->resumed = false;
    m->hold_since_ms = m->look_ms = m->extra_since_ms = 0;
    m->best_score = 0;
    m->logs_since_wall_ms = t->s->now.wall_ms;
    t->st->run.logs_since_ms = 0;
    decide_carry_disturbance(t);
    memset(m->restarts_known, 0, sizeof m->restarts_known);
    m->pod_lives[MODEL_A] = m->pod_lives[MODEL_B] = -1;
}

static void decide_take_stage(struct turn *t)
{
    t->stage = t->st->stage;
    t->near = t->stage == STAGE_INIT_B || t->stage == STAGE_MESSAGES_BOTH_WAYS || t->stage == STAGE_OFFSETS_B_TO_A ? MODEL_B : MODEL_A;
    if (t->stage == STAGE_MESSAGES_BOTH_WAYS)
        t->near = MODEL_A; /* A's records first, then B's */
    t->far = model_far(t->near);
    t->step = table_step(t->stage, t->m->step);
}

/* Time without progress before a restart counts; what is left is long enough to see progress again. */
static int64_t decide_idle_before(const struct turn *t)
{
    int64_t idle = t->s->now.wall_ms - t->st->run.last_progress_ms;
    int64_t most = t->spec->stage_deadline_ms - verify_arrival_ms(t->s);
    if (t->st->run.last_progress_ms == 0 || idle < 0 || most < 0)
        return 0;
    return idle < most ? idle : most;
}

/* After a restart nothing is remembered: the step is taken up where everything it needs is seen again. Settle and held start anew. */
static void decide_resume(struct turn *t)
{
    struct verify_memory *m = t->m;
    struct model_run *run = &t->st->run;
    const struct verify_step *step = table_step(t->st->stage, t->st->stages[t->st->stage].step);
    memset(m, 0, sizeof *m);
    (void)dv_strlcpy(m->run, run->id, sizeof m->run);
    (void)dv_strlcpy(m->step, step->resume != NULL ? step->resume : step->name, sizeof m->step);
    m->stage = t->st->stage;
    m->stage_since_ms = m->step_since_ms = m->progress_ms = t->now;
    m->idle_before_ms = decide_idle_before(t);
    m->logs_since_wall_ms = decide_logs_since(t->st);
    if (run->disturbed_ms != 0)
        m->disturbed_ms = t->now > t->s->now.wall_ms - run->disturbed_ms ? t->now - (t->s->now.wall_ms - run->disturbed_ms) : 1;
    m->pod_lives[MODEL_A] = m->pod_lives[MODEL_B] = -1;
    if (t->s->status->run.id[0] != '\0' && dv_streq(t->s->status->run.id, run->id)) {
        run->resumes++;
        m->resumed = true;
        turn_event(t, false, "RunResumed", "run %s taken up again in stage %s", run->id, model_stage_name(t->st->stage));
    }
}

/* ---------------------------------------------------------------- ends */

static enum model_state decide_state(enum model_verdict verdict)
{
    switch (verdict) {
    case MODEL_PASSED: return STATE_PASSED;
    case MODEL_FAILED: return STATE_FAILED;
    case MODEL_INCONCLUSIVE: return STATE_INCONCLUSIVE;
    case MODEL_ABORTED: return STATE_ABORTED;
    case MODEL_ERROR:
    case MODEL_NO_VERDICT: break;
    }
    return STATE_ERROR;
}

static void decide_end_stage(struct turn *t, enum model_verdict verdict, enum model_reason reason)
{
    struct model_stage_status *st = &t->st->stages[t->stage];
    evidence_wait(t, t->step->what, t->step->demanded, turn_step_age(t));
    evidence_stage(t);
    st->state = decide_state(verdict);
    st->reason = reason;
    st->finished_ms = t->s->now.wall_ms;
    (void)dv_strlcpy(st->message, t->said, sizeof st->message);
}

static void decide_fail(struct turn *t, enum model_verdict verdict, enum model_reason reason)
{
    decide_end_stage(t, verdict, reason);
    lifecycle_finish(t, verdict, reason);
}

static void decide_pass(struct turn *t)
{
    turn_say(t, "%s passed", model_stage_name(t->stage));
    decide_end_stage(t, MODEL_PASSED, REASON_Passed);
    turn_event(t, false, "StagePassed", "run %s: stage %s passed", t->st->run.id, model_stage_name(t->stage));
    if (t->stage + 1 < MODEL_STAGES) {
        decide_enter_stage(t, (enum model_stage)(t->stage + 1));
        decide_take_stage(t);
        return;
    }
    lifecycle_finish(t, MODEL_PASSED, REASON_Passed);
}

static void decide_doubt_batches(struct turn *t, enum model_reason reason)
{
    struct model_run *run = &t->st->run;
    for (size_t i = 0; i < run->batch_count; i++)
        if (reason == REASON_RedeliverySuspected || (run->batches[i].stage == t->stage && i + 2 >= run->batch_count))
            run->batches[i].maybe = true;
}

/* Where the stage produces, or where it stands when it has not come that far: no step is left out. */
static const char *decide_retry_step(const struct turn *t)
{
    const struct verify_step *from = table_step(t->stage, verify_tables[t->stage].retry);
    return t->step < from ? t->step->name : from->name;
}

/* Measured, and cannot be told apart: again with new ids, from where the stage produces. */
static bool decide_retry(struct turn *t, enum model_reason reason)
{
    struct model_stage_status *st = &t->st->stages[t->stage];
    if (st->attempts > t->spec->retries)
        return false;
    st->attempts++;
    t->st->run.attempt = st->attempts;
    decide_doubt_batches(t, reason);
    turn_note(t, "attempt %d was inconclusive (%s): %s", st->attempts - 1, model_reason_name(reason), t->said);
    turn_event(t, false, "StageRetried", "run %s: stage %s is tried again: %s", t->st->run.id, model_stage_name(t->stage), t->said);
    turn_go(t, decide_retry_step(t));
    t->m->retry_ms = reason == REASON_EffectUnknown ? 0 : t->now + t->spec->window_ms; /* what was in the way needs time to go */
    t->m->extra_since_ms = 0;
    t->m->resumed = false; /* the new records are produced by this process */
    decide_carry_disturbance(t);
    t->m->logs_since_wall_ms = t->s->now.wall_ms;
    t->st->run.logs_since_ms = t->s->now.wall_ms + 999; /* whole seconds in the status: no line of before counts again */
    turn_progress(t);
    return true;
}

static bool decide_disable_first(struct turn *t, enum model_reason reason)
{
    const struct model_run *run = &t->st->run;
    if (reason != REASON_LoopDetected || t->spec->on_loop != MODEL_LOOP_DISABLE_LAST || !run->have_left[MODEL_B] ||
        !run->left[MODEL_B].on[MODEL_SW_MD])
        return false;
    struct model_stage_status *st = &t->st->stages[t->stage];
    st->reason = reason;
    (void)dv_strlcpy(st->message, t->said, sizeof st->message);
    turn_event(t, true, "LoopDetected", "run %s: %s", run->id, t->said);
    turn_go(t, "DisableLast");
    t->m->retry_ms = 0; /* nor does the way out wait */
    return true;
}

static bool decide_stop(struct turn *t, enum model_verdict verdict, enum model_reason reason)
{
    if (verdict == MODEL_INCONCLUSIVE && decide_retry(t, reason)) {
        turn_wake(t, t->now); /* findings and facts of this turn are those of the attempt that was given up */
        return false;
    }
    if (decide_disable_first(t, reason))
        return true;
    decide_fail(t, verdict, reason);
    return false;
}

/* The Message Distributor that is off in the values is still there; a loop fills disks, and so it is told when it does not go away. */
static bool decide_still_runs(struct turn *t)
{
    const struct verify_connector *md = turn_connector(t, MODEL_B, MODEL_MD);
    return turn_side(t, MODEL_B)->stamp[VF_CONNECTORS].as_of_ms != 0 && md != NULL && md->fact->state != FACT_STATE_STOPPED;
}

/* The loop is the verdict whatever comes of the clean-up. */
static void decide_disabled(struct turn *t, bool off, bool runs)
{
    turn_note(
        t, off ? "the Message Distributor of %s was switched off in the values" : "the Message Distributor of %s could not be switched off",
        turn_name(t, MODEL_B));
    (void)dv_strlcpy(t->said, t->st->stages[t->stage].message, sizeof t->said);
    if (runs)
        turn_say(t, "%.600s; the Message Distributor of %s still runs%s: stop it by hand", t->st->stages[t->stage].message,
                 turn_name(t, MODEL_B), off ? " although it is off in the values" : "");
    decide_fail(t, MODEL_FAILED, REASON_LoopDetected);
}

static void decide_disable(struct turn *t)
{
    struct model_switches want;
    enum model_reason unused = REASON_None;
    bool off = turn_want(t, MODEL_B, &want) && turn_declared(t, MODEL_B, &want);
    bool runs = decide_still_runs(t);
    enum row_outcome outcome = intent_drive(t, &unused);
    bool going = off && runs && outcome == OUT_GO; /* it is off, and only its connector is still to go */
    int64_t patience = going ? verify_arrival_ms(t->s) : t->spec->stage_deadline_ms;
    bool late = turn_step_age(t) >= patience;
    if (!late && !off && outcome == OUT_GO) {
        intent_values(t, MODEL_B);
        return;
    }
    if (!late && (going || outcome == OUT_WAIT)) {
        turn_wake(t, t->m->step_since_ms + patience);
        return;
    }
    t->st->run.left[MODEL_B] = want;
    decide_disabled(t, off, runs);
}

/* ---------------------------------------------------------------- rows */

static const struct verify_row *decide_match(struct turn *t, const struct verify_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((rows[i].step == NULL || dv_streq(rows[i].step, t->m->step)) && rows[i].guard(t))
            return &rows[i];
    return NULL;
}

/* What a stage passes on must be seen now: no watch or log that cannot be read, and what it switched on (or off) still so. */
static bool decide_in_sight(struct turn *t)
{
    EACH_SIDE (side) {
        for (int fact = VF_ASKED_COUNT; fact < VF_COUNT; fact++) {
            const struct verify_stamp *stamp = &t->s->side[side].stamp[fact];
            if (stamp->failed_ms <= stamp->as_of_ms)
                continue;
            (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "%s of %s: %s", verify_fact_text((enum verify_fact)fact),
                            turn_name(t, (enum model_side)side), stamp->err.text);
            return false;
        }
    }
    return t->stage == STAGE_PREFLIGHT || connectors_on(t);
}

static const struct verify_row decide_unseen = ROW(NULL, always, nothing, OUT_WAIT, None, NULL);

static const struct verify_row *decide_row(struct turn *t)
{
    const struct verify_table *table = &verify_tables[t->stage];
    const struct verify_row *row = decide_match(t, verify_early_rows, verify_early_row_count);
    if (row == NULL)
        row = decide_match(t, table->rows, table->row_count);
    t->unseen = row != NULL && row->outcome == OUT_PASS && !decide_in_sight(t);
    if (t->unseen)
        row = &decide_unseen;
    if (row != NULL && row->outcome != OUT_WAIT)
        return row;
    const struct verify_row *late = decide_match(t, verify_late_rows, verify_late_row_count);
    return late != NULL ? late : row;
}

/* Applies one row; false: nothing more to do in this turn. */
static bool decide_apply(struct turn *t, const struct verify_row *row)
{
    if (row == NULL)
        return false;
    row->act(t);
    switch (row->outcome) {
    case OUT_WAIT: return false;
    case OUT_GO: turn_go(t, row->next); return true;
    case OUT_PASS: decide_pass(t); return model_run_active(t->st);
    case OUT_STOP: return decide_stop(t, model_reason_verdict(row->reason), row->reason);
    case OUT_UNSURE: return decide_stop(t, MODEL_INCONCLUSIVE, row->reason);
    }
    return false;
}

/* Changes when a container restarts and when a pod is replaced: never negative. */
static int64_t decide_pod_lives(const struct verify_side *facts)
{
    uint64_t lives = 0;
    for (size_t i = 0; i < facts->pod_count; i++)
        lives += dv_hash64(dv_hash64(DV_HASH_INIT, facts->pods[i]->uid, strlen(facts->pods[i]->uid)), &facts->pods[i]->restarts,
                           sizeof facts->pods[i]->restarts);
    return (int64_t)(lives >> 1);
}

/* Records between two offsets may be out of reach for a transaction's sake alone. */
static bool decide_is_outage(const struct verify_stamp *stamp, enum verify_fact fact)
{
    if (fact == VF_GROUP_LAG)
        return false;
    return stamp->err.kind == DV_ERR_UNREACHABLE || (stamp->err.kind == DV_ERR_TIMEOUT && fact != VF_DISTANCE);
}

/* A task that went on to another worker starts again at its last commit, as after a restart. */
static bool decide_reassigned(struct turn *t, enum model_side side)
{
    bool moved = false;
    for (int c = 0; c < MODEL_CONNECTORS; c++) {
        const struct verify_connector *connector = turn_connector(t, side, (enum model_connector)c);
        uint64_t now = connector != NULL ? connector->fact->workers : 0;
        uint64_t *was = &t->m->workers[side][c];
        moved = moved || (*was != 0 && now != 0 && *was != now);
        *was = now != 0 || connector == NULL ? now : *was; /* between two workers it is on none */
    }
    return moved;
}

/* A restart in Kafka Connect or a broker out of reach explains noise for the rest of the stage. */
static void decide_disturbance(struct turn *t)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_side *facts = &t->s->side[side];
        int64_t lives = decide_pod_lives(facts);
        bool known = facts->stamp[VF_PODS].as_of_ms != 0;
        bool disturbed = known && t->m->pod_lives[side] >= 0 && lives != t->m->pod_lives[side];
        disturbed = decide_reassigned(t, (enum model_side)side) || disturbed;
        for (size_t i = 0; i < facts->pod_count; i++)
            disturbed = disturbed || (!facts->pods[i]->ready && !facts->pods[i]->deleting); /* it lasts until it is up again */
        if (disturbed)
            t->m->disturbed_ms = t->now;
        /* A question that nobody asks again keeps its failure: it disturbed when it failed, not ever since. */
        for (int fact = 0; fact < VF_ASKED_COUNT; fact++)
            if (decide_is_outage(&facts->stamp[fact], (enum verify_fact)fact) && facts->stamp[fact].failed_ms >= t->m->stage_since_ms &&
                facts->stamp[fact].failed_ms > t->m->disturbed_ms)
                t->m->disturbed_ms = facts->stamp[fact].failed_ms;
        if (known)
            t->m->pod_lives[side] = lives;
    }
}

static bool decide_move(struct turn *t)
{
    enum model_reason reason = REASON_None;
    if (dv_streq(t->m->step, "DisableLast")) {
        decide_disable(t);
        return false;
    }
    enum row_outcome outcome = intent_drive(t, &reason);
    if (outcome == OUT_STOP)
        return decide_stop(t, model_reason_verdict(reason), reason);
    if (outcome == OUT_WAIT) {
        const struct verify_row *late = decide_match(t, verify_late_rows, verify_late_row_count);
        return late != NULL && t->m->effect != EFFECT_ASKED && decide_apply(t, late);
    }
    return decide_apply(t, decide_row(t));
}

/* Steps whose open wait is told in full: it names an object and changes seldom. Elsewhere it holds numbers that change all the time, and
 * each text is a write. */
static bool decide_tells_all(const struct turn *t)
{
    return t->p->waits_for[0] != '\0' &&
           (t->unseen || t->m->retry_ms > t->now || t->m->effect_err.kind != DV_ERR_NONE || t->step->late == REASON_ValuesNotApplied ||
            t->step->late == REASON_ConnectNotReady || dv_streq(t->step->what, "the connectors to be on"));
}

/* What is out of reach comes before what is waited for. The text is stable: no number in it counts. */
static void decide_waits(struct turn *t, char *out, size_t size)
{
    const struct verify_stamp *stamp = world_out_of_reach(t);
    const char *open = turn_open_wait(t);
    if (stamp != NULL)
        (void)dv_format(out, size, "waiting: %s", stamp->err.text);
    else
        (void)dv_format(out, size, "waiting for %s", decide_tells_all(t) ? open : turn_what(t));
}

static void decide_message(struct turn *t)
{
    if (!model_run_active(t->st))
        return;
    const char *what = turn_what(t);
    bool for_values = t->step->late == REASON_ValuesNotApplied;
    t->st->stages[t->stage].state = for_values ? STATE_WAITING_FOR_VALUES : STATE_RUNNING;
    char text[600];
    decide_waits(t, text, sizeof text);
    texts_top(t->st->message, sizeof t->st->message, model_stage_name(t->stage), text);
    (void)dv_strlcpy(t->st->stages[t->stage].step, t->m->step, sizeof t->st->stages[t->stage].step);
    if (t->p->waits_for[0] == '\0')
        (void)dv_strlcpy(t->p->waits_for, what, sizeof t->p->waits_for);
}

static bool decide_reads_timestamps(const struct turn *t)
{
    static const char *const steps[] = {"Before", "Reader", "Barrier", "Copied", "Commit", "Moved", "Equal", "Echo"};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (t->stage >= STAGE_OFFSETS_A_TO_B && dv_starts_with(t->m->step, steps[i]) && !dv_starts_with(t->m->step, "Committ"))
            return true;
    return false;
}

static void decide_observe(struct turn *t)
{
    struct verify_observe *observe = &t->p->observe;
    bool active = model_run_active(t->st);
    if (active && dv_streq(t->m->run, t->st->run.id))
        decide_take_stage(t);
    observe->watches = active || t->st->result == MODEL_PASSED;
    observe->clients = active;
    observe->readers = active && t->st->run.partitions > 0;
    observe->probes_generation = t->m->probes_generation;
    /* suspended since before a restart: the stage has not been taken up yet, and its log begins where it began */
    bool taken_up = dv_streq(t->m->run, t->st->run.id);
    observe->logs_since_ms = taken_up ? t->m->logs_since_wall_ms : decide_logs_since(t->st);
    if (active && decide_reads_timestamps(t))
        observe->ts_reader[t->stage == STAGE_PERSISTED && dv_ends_with(t->m->step, "B") ? MODEL_A
                           : t->stage == STAGE_PERSISTED                                ? MODEL_B
                                                                                        : t->far] = true;
}

/* Before the next attempt only what is surely bad counts: a loop does not wait. */
static void decide_pause(struct turn *t)
{
    turn_wake(t, t->m->retry_ms);
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "the pause of %lld s before attempt %d",
                    (long long)(t->spec->window_ms / 1000), t->st->stages[t->stage].attempts);
    for (size_t i = 0; i < verify_early_row_count; i++) {
        const struct verify_row *row = &verify_early_rows[i];
        bool bad = row->outcome == OUT_STOP && model_reason_verdict(row->reason) != MODEL_INCONCLUSIVE;
        if (!bad || !row->guard(t))
            continue;
        (void)decide_apply(t, row);
        return;
    }
}

static void decide_moves(struct turn *t)
{
    for (int i = 0; i < MOVES_PER_TURN; i++)
        if (!decide_move(t))
            return;
}

void decide_run(struct turn *t)
{
    if (!dv_streq(t->m->run, t->st->run.id))
        decide_resume(t);
    if (t->st->stages[t->st->stage].state == STATE_PENDING)
        decide_enter_stage(t, t->st->stage);
    t->m->partitions = t->st->run.partitions;
    decide_take_stage(t);
    decide_disturbance(t);
    decide_remember_disturbance(t);
    init_jobs_look(t);
    if (t->m->retry_ms > t->now)
        decide_pause(t);
    else
        decide_moves(t);
    decide_message(t);
}

void verify_decide(const struct verify_snapshot *snapshot, struct verify_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    model_status_copy(&plan->status, snapshot->status);
    if (snapshot->memory != NULL)
        plan->memory = *snapshot->memory;
    plan->wake_ms = INT64_MAX;
    struct turn t = {
        .s = snapshot, .spec = snapshot->spec, .p = plan, .st = &plan->status, .m = &plan->memory, .now = snapshot->now.mono_ms};
    plan->status.observed_generation = snapshot->generation;
    lifecycle_decide(&t);
    if (snapshot->spec != NULL)
        decide_observe(&t);
    texts_conditions(snapshot, &plan->status);
}

void verify_plan_clear(struct verify_plan *plan)
{
    model_status_clear(&plan->status);
}

/* ---------------------------------------------------------------- dump */

static void decide_dump_row(struct dv_buf *out, const struct verify_row *row)
{
    static const char *const outcomes[] = {"wait", "go", "pass", "stop", "unsure"};
    (void)dv_buf_addf(out, "  %-20s %-26s %-18s %-7s %s%s\n", row->step != NULL ? row->step : "*", row->guard_name, row->act_name,
                      outcomes[row->outcome], row->outcome == OUT_GO ? row->next : "",
                      row->outcome == OUT_GO ? "" : model_reason_name(row->reason));
}

static void decide_dump_rows(struct dv_buf *out, const char *title, const struct verify_row *rows, size_t count)
{
    (void)dv_buf_addf(out, "%s\n", title);
    for (size_t i = 0; i < count; i++)
        decide_dump_row(out, &rows[i]);
}

char *verify_dump_tables(void)
{
    struct dv_buf out = DV_BUF_INIT(1 << 20);
    decide_dump_rows(&out, "every step, first", verify_early_rows, verify_early_row_count);
    decide_dump_rows(&out, "every step, when it waits", verify_late_rows, verify_late_row_count);
    for (int stage = 0; stage < MODEL_STAGES; stage++) {
        const struct verify_table *table = &verify_tables[stage];
        decide_dump_rows(&out, model_stage_name((enum model_stage)stage), table->rows, table->row_count);
        for (size_t i = 0; i < table->step_count; i++)
            (void)dv_buf_addf(&out, "  step %-20s switches %2d %-8s resume %-16s %s\n", table->steps[i].name, (int)table->steps[i].row,
                              table->steps[i].demanded ? "demanded" : "world",
                              table->steps[i].resume != NULL ? table->steps[i].resume : table->steps[i].name,
                              table->steps[i].what != NULL ? table->steps[i].what : "-");
    }
    return dv_buf_take(&out);
}

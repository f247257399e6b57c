#include "verify/lifecycle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LIFECYCLE_PASSED "distribution is verified in both directions"

/* ---------------------------------------------------------------- fingerprint */

/* Switches, principals, connector class, config and tasksMax of both sides: what a pass vouches for. */
static bool lifecycle_fingerprint(const struct verify_snapshot *s, char out[17])
{
    uint64_t hash = DV_HASH_INIT;
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_side *facts = &s->side[side];
        if (facts->values == NULL || !facts->values->readable || facts->stamp[VF_CONNECTORS].as_of_ms == 0)
            return false;
        hash = dv_hash64(hash, facts->values->declared, sizeof facts->values->declared);
        for (size_t i = 0; i < facts->values->principal_count; i++)
            hash = dv_hash64(hash, facts->values->principals[i], strlen(facts->values->principals[i]) + 1);
        for (int c = 0; c < MODEL_CONNECTORS; c++) {
            const char *name = s->spec->cluster[side].distributor.switches[model_connector_switch((enum model_connector)c)].connector;
            const struct verify_connector *connector = turn_connector_named(facts, name);
            if (connector != NULL)
                hash = dv_hash64(hash, &connector->fact->spec_hash, sizeof connector->fact->spec_hash);
        }
    }
    (void)dv_format(out, 17, "%016llx", (unsigned long long)hash);
    return true;
}

static bool lifecycle_was_stale(const struct model_status *st)
{
    for (size_t i = 0; i < st->condition_count; i++)
        if (dv_streq(st->conditions[i].type, "Ready") && dv_streq(st->conditions[i].reason, "Stale"))
            return true;
    return false;
}

static const char *lifecycle_switch_text(enum verify_declared declared)
{
    return declared == VERIFY_ON ? "on" : declared == VERIFY_OFF ? "off" : declared == VERIFY_ABSENT ? "not there" : "not readable";
}

/* A switch that is not as the pass left it. */
static bool lifecycle_switch_moved(const struct verify_snapshot *s, const struct model_status *st, char *why, size_t size)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct model_switches *left = &st->run.left[side];
        int which = st->run.have_left[side] ? turn_undeclared(s->side[side].values, left) : -1;
        if (which < 0)
            continue;
        (void)dv_format(why, size, "switch %s of %s is %s in the values, it was %s when the run passed",
                        model_switch_name((enum model_switch)which), s->spec->cluster[side].name,
                        lifecycle_switch_text(s->side[side].values->declared[which]), left->on[which] ? "on" : "off");
        return true;
    }
    return false;
}

/* A connector that the switches want and that is gone. */
static bool lifecycle_connector_gone(const struct verify_snapshot *s, const struct model_status *st, char *why, size_t size)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct model_switches *left = &st->run.left[side];
        for (int c = 0; c < MODEL_CONNECTORS; c++) {
            enum model_switch sw = model_connector_switch((enum model_connector)c);
            const char *name = s->spec->cluster[side].distributor.switches[sw].connector;
            if (!left->on[MODEL_SW_DISTRIBUTION] || !left->on[sw] || turn_connector_named(&s->side[side], name) != NULL)
                continue;
            (void)dv_format(why, size, "KafkaConnector %s of %s is gone", name, s->spec->cluster[side].name);
            return true;
        }
    }
    return false;
}

/* Values that are known to be gone or unreadable: a pass vouches for what nobody can see any more. */
static bool lifecycle_values_lost(const struct verify_snapshot *s, char *why, size_t size)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_values *values = s->side[side].values;
        const struct model_values_target *target = &s->spec->cluster[side].distributor.values;
        if (values == NULL || s->side[side].stamp[VF_VALUES].as_of_ms == 0 || (values->found && values->key_found && values->readable))
            continue;
        (void)dv_format(why, size, "%.40s in %s %.60s of %.40s %s", target->key, model_values_kind(target), target->name,
                        s->spec->cluster[side].name, values->found && values->key_found ? "cannot be read" : "is gone");
        return true;
    }
    return false;
}

bool lifecycle_stale(const struct verify_snapshot *s, const struct model_status *st, char *why, size_t size)
{
    char now[17];
    if (st->result != MODEL_PASSED || s->spec == NULL)
        return false;
    if (!dv_streq(st->run.spec_hash, s->spec->hash)) {
        (void)dv_strlcpy(why, "the spec changed after the pass", size);
        return true;
    }
    if (lifecycle_values_lost(s, why, size))
        return true;
    if (!lifecycle_fingerprint(s, now)) { /* not known yet: as it was */
        (void)dv_strlcpy(why, "switches, principals or connectors changed after the pass", size);
        return lifecycle_was_stale(s->status);
    }
    if (st->run.fingerprint[0] == '\0' || dv_streq(now, st->run.fingerprint))
        return false;
    if (!lifecycle_switch_moved(s, st, why, size) && !lifecycle_connector_gone(s, st, why, size))
        (void)dv_strlcpy(why, "principals, or class, config or tasksMax of a connector, changed after the pass", size);
    return true;
}

/* ---------------------------------------------------------------- start and end */

static void lifecycle_remember(struct model_status *st)
{
    size_t keep = st->history_count < MODEL_HISTORY_MAX ? st->history_count : MODEL_HISTORY_MAX - 1;
    memmove(&st->history[1], &st->history[0], keep * sizeof st->history[0]);
    st->history[0] = (struct model_history){.result = st->result,
                                            .stage = st->stage,
                                            .reason = st->stages[st->stage].reason,
                                            .started_ms = st->run.started_ms,
                                            .finished_ms = st->run.finished_ms};
    (void)dv_strlcpy(st->history[0].run, st->run.id, sizeof st->history[0].run);
    st->history_count = keep + 1;
}

/* A warning where a person should act: not on what people did themselves, nor again on a loop that was told when it was seen. */
static void lifecycle_tell_end(struct turn *t, enum model_verdict verdict, enum model_reason reason)
{
    bool told = reason == REASON_LoopDetected && dv_streq(t->m->step, "DisableLast");
    bool asked_for = reason == REASON_Aborted || reason == REASON_SpecChanged;
    turn_event(t, !told && !asked_for, told ? "RunFailed" : model_reason_name(reason), "run %s ended %s in stage %s: %s", t->st->run.id,
               model_verdict_name(verdict), model_stage_name(t->st->stage), t->said);
}

void lifecycle_finish(struct turn *t, enum model_verdict verdict, enum model_reason reason)
{
    struct model_status *st = t->st;
    st->result = verdict;
    st->run.finished_ms = t->s->now.wall_ms;
    free(st->run.intent.offsets);
    free(st->run.intent.before);
    st->run.intent = (struct model_intent){0};
    if (verdict == MODEL_PASSED) {
        (void)lifecycle_fingerprint(t->s, st->run.fingerprint);
        (void)dv_strlcpy(st->message, LIFECYCLE_PASSED, sizeof st->message);
        turn_event(t, false, "RunPassed", "run %s: all nine stages passed", st->run.id);
    } else {
        texts_end(st->message, sizeof st->message, model_stage_name(st->stage), t->said, reason);
        lifecycle_tell_end(t, verdict, reason);
    }
    lifecycle_remember(st);
    t->p->release = true;
}

/* What the run before left counts only where it left it: another Distributor of the same name or place is not ours to switch off. */
static void lifecycle_keep_left(struct turn *t, const struct model_run *before, enum model_side side)
{
    struct model_run *run = &t->st->run;
    model_target_hash(&t->spec->cluster[side], run->left_of[side]);
    run->left[side] = before->left[side];
    run->have_left[side] = before->have_left[side] && dv_streq(before->left_of[side], run->left_of[side]);
}

/* A token as the status keeps it. One that is too long for it is cut between characters, and its hash tells it from others that begin
 * alike. */
static const char *lifecycle_token(const char *reverify, char out[MODEL_TOKEN_MAX + 1])
{
    size_t len = strlen(reverify);
    size_t keep = MODEL_TOKEN_MAX - 17;
    (void)dv_strlcpy(out, reverify, MODEL_TOKEN_MAX + 1);
    if (len > MODEL_TOKEN_MAX) {
        while (keep > 0 && ((unsigned char)reverify[keep] & 0xc0) == 0x80)
            keep--;
        (void)dv_format(out + keep, 18, "#%016llx", (unsigned long long)dv_hash64(DV_HASH_INIT, reverify, len));
    }
    return dv_utf8_clean(out);
}

static void lifecycle_start(struct turn *t)
{
    struct model_status *st = t->st;
    struct model_run *run = &st->run;
    struct model_run before = *run;
    for (int i = 0; i < MODEL_STAGES; i++) {
        json_decref(st->stages[i].evidence);
        st->stages[i] = (struct model_stage_status){0};
    }
    free(run->start_offsets[MODEL_A]);
    free(run->start_offsets[MODEL_B]);
    free(run->intent.offsets);
    free(run->intent.before);
    *run = (struct model_run){.started_ms = t->s->now.wall_ms, .attempt = 1};
    (void)dv_strlcpy(run->id, t->s->new_run_id, sizeof run->id);
    (void)dv_strlcpy(run->spec_hash, t->spec->hash, sizeof run->spec_hash);
    for (int side = 0; side < MODEL_SIDES; side++)
        lifecycle_keep_left(t, &before, (enum model_side)side);
    st->stage = STAGE_PREFLIGHT;
    st->result = MODEL_NO_VERDICT;
    if (t->s->reverify != NULL)
        (void)lifecycle_token(t->s->reverify, st->last_handled_reverify);
    turn_event(t, false, "RunStarted", "run %s started", run->id);
}

/* "distribution, init, messageDistributor", "all", "nothing" */
static void lifecycle_on(const struct model_switches *switches, char *out, size_t size)
{
    size_t on = 0;
    out[0] = '\0';
    for (int i = 0; i < MODEL_SWITCHES; i++) {
        if (!switches->on[i])
            continue;
        dv_list_add(out, size, model_switch_name((enum model_switch)i));
        on++;
    }
    if (on == 0 || on == MODEL_SWITCHES)
        (void)dv_strlcpy(out, on == 0 ? "nothing" : "all", size);
}

/* A run that people end leaves the switches where they are: says where. */
static void lifecycle_say_left(struct turn *t)
{
    const struct model_run *run = &t->st->run;
    char why[600];
    char side_text[MODEL_SIDES][400] = {"", ""};
    char on[100];
    (void)dv_strlcpy(why, t->said, sizeof why);
    EACH_SIDE (side) {
        if (!run->have_left[side])
            continue;
        lifecycle_on(&run->left[side], on, sizeof on);
        (void)dv_format(side_text[side], sizeof side_text[side], "%s of %s", on, turn_name(t, (enum model_side)side));
    }
    const char *a = side_text[MODEL_A], *b = side_text[MODEL_B];
    if (a[0] != '\0' || b[0] != '\0')
        turn_say(t, "%s; left on: %s%s%s", why, a, a[0] != '\0' && b[0] != '\0' ? " and " : "", b);
    else
        turn_say(t, "%s; no switch was touched", why);
}

static void lifecycle_break(struct turn *t, enum model_verdict verdict, enum model_reason reason, const char *why)
{
    struct model_stage_status *st = &t->st->stages[t->st->stage];
    turn_say(t, "%s", why);
    if (verdict == MODEL_ABORTED && reason != REASON_SpecChanged)
        lifecycle_say_left(t);
    t->stage = t->st->stage;
    st->state = verdict == MODEL_ABORTED ? STATE_ABORTED : STATE_ERROR;
    st->reason = reason;
    st->finished_ms = t->s->now.wall_ms;
    (void)dv_strlcpy(st->message, t->said, sizeof st->message);
    lifecycle_finish(t, verdict, reason);
}

static void lifecycle_abort(struct turn *t, enum model_reason reason, const char *why)
{
    lifecycle_break(t, MODEL_ABORTED, reason, why);
}

/* ---------------------------------------------------------------- decide */

bool lifecycle_wanted(const struct verify_snapshot *s, const struct model_status *st)
{
    if (model_run_active(st) || s->spec == NULL || s->deleting)
        return false;
    if (st->run.id[0] == '\0')
        return true;
    char token[MODEL_TOKEN_MAX + 1];
    if (s->reverify != NULL && s->reverify[0] != '\0' && !dv_streq(lifecycle_token(s->reverify, token), st->last_handled_reverify))
        return true;
    bool mended = st->result == MODEL_ABORTED && st->stages[st->stage].reason == REASON_InvalidSpec;
    return st->result != MODEL_PASSED && (mended || !dv_streq(st->run.spec_hash, s->spec->hash));
}

static bool lifecycle_effect_open(const struct turn *t)
{
    return t->st->run.intent.kind != INTENT_NONE && dv_streq(t->m->effect_id, t->st->run.intent.id) && t->m->effect == EFFECT_ASKED;
}

/* An intent whose effect may have been: it is seen through before the run ends, or the next run would not know what this one left. */
static bool lifecycle_intent_open(const struct turn *t)
{
    bool untouched = dv_streq(t->m->effect_id, t->st->run.intent.id) && t->m->effect == EFFECT_NONE;
    return t->st->run.intent.kind != INTENT_NONE && !untouched;
}

static void lifecycle_pending(struct turn *t, const char *why)
{
    (void)dv_strlcpy(t->st->message, why, sizeof t->st->message);
}

/* Nothing is done and no time counts until lifecycle_unpause(). */
static void lifecycle_pause(struct turn *t, const char *why)
{
    if (t->m->paused_since_ms == 0)
        t->m->paused_since_ms = t->now;
    if (t->st->run.paused_at_ms == 0)
        t->st->run.paused_at_ms = t->s->now.wall_ms;
    lifecycle_pending(t, why);
}

static void lifecycle_suspend(struct turn *t)
{
    const struct model_stage_status *st = &t->st->stages[t->st->stage];
    char why[201];
    lifecycle_pause(t, dv_format(why, sizeof why, "%s: suspended in step %s: set spec.suspend to false to go on",
                                 model_stage_name(t->st->stage), st->step[0] != '\0' ? st->step : "Start"));
}

static void lifecycle_wait_for(struct turn *t, const char *other, void (*wait)(struct turn *t, const char *why))
{
    char why[201];
    wait(t, dv_format(why, sizeof why, "waiting: DistributionVerification %.120s drives one of these Distributors", other));
}

/* Time in Suspended counts nowhere: when it ends, all monotonic marks of waits move on by it. Since when it lasts stands in the status: a
 * restart of the controller ends no suspension. */
static void lifecycle_unpause(struct turn *t)
{
    struct verify_memory *m = t->m;
    int64_t *marks[] = {&m->step_since_ms, &m->stage_since_ms,      &m->progress_ms,         &m->extra_since_ms,
                        &m->right_ms,      &m->ts_last_ms,          &m->stuck_since_ms,      &m->look_ms,
                        &m->retry_ms,      &m->changed_ms[MODEL_A], &m->changed_ms[MODEL_B], &m->write_after_ms};
    struct model_run *run = &t->st->run;
    int64_t paused = m->paused_since_ms != 0 ? t->now - m->paused_since_ms : 0;
    if (run->paused_at_ms == 0)
        return;
    run->paused_ms += t->s->now.wall_ms > run->paused_at_ms ? t->s->now.wall_ms - run->paused_at_ms : 0;
    run->paused_at_ms = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (*marks[i] != 0)
            *marks[i] += paused;
    m->hold_since_ms = 0;
    m->paused_since_ms = 0;
}

static void lifecycle_begin(struct turn *t)
{
    t->p->finalizer = true;
    if (t->spec->suspend)
        lifecycle_pending(t, "suspended: set spec.suspend to false to start");
    else if (t->s->conflict != NULL)
        lifecycle_wait_for(t, t->s->conflict, lifecycle_pending);
    else if (!t->s->may_run)
        lifecycle_pending(t, "waiting for a place: --max-runs verifications are running");
    else if (!t->s->has_finalizer)
        lifecycle_pending(t, "starting");
    else {
        lifecycle_start(t);
        decide_run(t);
    }
}

static bool lifecycle_in_history(const struct model_status *st, const char *run)
{
    for (size_t i = 0; i < st->history_count; i++)
        if (dv_streq(st->history[i].run, run))
            return true;
    return false;
}

/* The annotation of an earlier run may stand for ever; one that names no run at all is a slip, and told once. */
static void lifecycle_abort_other(struct turn *t)
{
    const char *abort = t->s->abort;
    if (abort == NULL || dv_streq(abort, t->st->run.id) || lifecycle_in_history(t->st, abort) || !dv_streq(t->m->run, t->st->run.id))
        return;
    uint64_t hash = dv_hash64(DV_HASH_INIT, abort, strlen(abort) + 1);
    if (t->m->abort_told == hash)
        return;
    t->m->abort_told = hash;
    turn_event(t, true, "AbortIgnored", "the annotation distverify.io/abort names %.63s, but run %s is in progress: set it to %s to end it",
               abort, t->st->run.id, t->st->run.id);
}

/* A changed spec ends the run and starts the next in one status: nobody sees an end that is none. */
static void lifecycle_active(struct turn *t)
{
    t->p->finalizer = true;
    if (lifecycle_intent_open(t)) {
        decide_run(t);
        return;
    }
    lifecycle_abort_other(t);
    if (dv_streq(t->s->abort, t->st->run.id)) {
        lifecycle_abort(t, REASON_Aborted, "aborted by the annotation distverify.io/abort");
    } else if (!dv_streq(t->st->run.spec_hash, t->spec->hash)) {
        lifecycle_abort(t, REASON_SpecChanged, "the spec changed during the run");
        lifecycle_begin(t);
    } else if (t->spec->suspend) {
        lifecycle_suspend(t);
    } else if (t->s->goes_first != NULL && t->st->stage == STAGE_PREFLIGHT) {
        lifecycle_wait_for(t, t->s->goes_first, lifecycle_pause); /* that it is the same one showed after the start */
    } else {
        lifecycle_unpause(t);
        decide_run(t);
    }
}

static void lifecycle_delete(struct turn *t)
{
    bool open = lifecycle_effect_open(t);
    t->p->finalizer = open; /* an effect that was asked for is waited out; its answer is bounded */
    if (model_run_active(t->st) && !open)
        lifecycle_abort(t, REASON_Aborted, "the resource is being deleted");
}

/* What cannot be written down must not be done. */
static void lifecycle_crd_too_old(struct turn *t)
{
    if (lifecycle_wanted(t->s, t->st))
        lifecycle_start(t);
    if (!model_run_active(t->st))
        return;
    if (lifecycle_intent_open(t)) { /* its effect is seen through; a further one is not written down and so never begun */
        decide_run(t);
        if (!model_run_active(t->st) || dv_streq(t->st->run.intent.id, t->s->status->run.intent.id))
            return;
    }
    lifecycle_break(t, MODEL_ERROR, REASON_CRDTooOld, t->s->crd_too_old);
}

static void lifecycle_go_stale(struct turn *t, const char *why)
{
    char todo[200] = "distverify.io/reverify starts a new run, which interrupts distribution";
    if (t->s->conflict != NULL) /* that is what changed it, and may put it back */
        (void)dv_format(todo, sizeof todo, "DistributionVerification %.120s drives these Distributors now", t->s->conflict);
    (void)dv_format(t->st->message, sizeof t->st->message, "stale: %s; %s", why, todo);
    if (!lifecycle_was_stale(t->s->status))
        turn_event(t, true, "Stale", "run %s passed and is stale: %s; %s", t->st->run.id, why, todo);
}

void lifecycle_decide(struct turn *t)
{
    char why[160];
    if (t->s->deleting) {
        lifecycle_delete(t);
        return;
    }
    t->p->finalizer = t->s->has_finalizer;
    if (t->spec == NULL) {
        if (model_run_active(t->st))
            lifecycle_abort(t, REASON_InvalidSpec, t->s->spec_err->text);
        (void)dv_format(t->st->message, sizeof t->st->message, "%.200s", t->s->spec_err->text);
    } else if (t->s->crd_too_old != NULL) {
        lifecycle_crd_too_old(t);
    } else if (model_run_active(t->st)) {
        lifecycle_active(t);
    } else if (lifecycle_wanted(t->s, t->st)) {
        lifecycle_begin(t);
    } else if (lifecycle_stale(t->s, t->st, why, sizeof why)) {
        lifecycle_go_stale(t, why);
    } else if (t->st->result == MODEL_PASSED) {
        lifecycle_pending(t, LIFECYCLE_PASSED); /* what had changed is as it was again */
    }
}

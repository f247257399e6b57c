#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "verify/guards.h"

/* ---------------------------------------------------------------- access to the systems */

#define GLOBAL_FAILURE_MS 30000 /* readers tell their trouble every 10 s, questions fail within 15 s */

/* An API server that was just started refuses for a moment what it allows: a watch that was served before is given time. */
static bool global_may_pass(struct turn *t, int fact, const struct verify_stamp *stamp)
{
    bool refusal = stamp->err.kind == DV_ERR_DENIED || stamp->err.kind == DV_ERR_AUTH;
    if (!refusal || fact < VF_ASKED_COUNT || stamp->as_of_ms == 0 || t->now - stamp->failed_ms >= TURN_REFUSED_MS)
        return false;
    turn_wake(t, stamp->failed_ms + TURN_REFUSED_MS);
    return true;
}

static const struct verify_stamp *global_failing(struct turn *t, enum dv_err_kind kind)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        for (int fact = 0; fact < VF_COUNT; fact++) {
            const struct verify_stamp *stamp = &t->s->side[side].stamp[fact];
            bool passing = kind == DV_ERR_UNREACHABLE || kind == DV_ERR_TIMEOUT;
            bool old = fact < VF_ASKED_COUNT && t->now - stamp->failed_ms > GLOBAL_FAILURE_MS; /* nobody has asked again */
            if (fact == VF_GROUP_LAG || stamp->failed_ms <= stamp->as_of_ms || stamp->err.kind != kind || (passing && old) ||
                global_may_pass(t, fact, stamp))
                continue;
            turn_say(t, "%s: %s", turn_name(t, (enum model_side)side), stamp->err.text);
            return stamp;
        }
    }
    return NULL;
}

const struct verify_stamp *world_out_of_reach(struct turn *t)
{
    const struct verify_stamp *stamp = global_failing(t, DV_ERR_UNREACHABLE);
    return stamp != NULL ? stamp : global_failing(t, DV_ERR_TIMEOUT);
}

bool secret_missing(struct turn *t)
{
    return global_failing(t, DV_ERR_SECRET) != NULL;
}

bool credentials_refused(struct turn *t)
{
    return global_failing(t, DV_ERR_AUTH) != NULL;
}

bool certificate_unusable(struct turn *t)
{
    return global_failing(t, DV_ERR_CERT) != NULL;
}

bool right_missing(struct turn *t)
{
    return global_failing(t, DV_ERR_DENIED) != NULL;
}

/* ---------------------------------------------------------------- values */

static const char *global_values_kind(const struct model_cluster *cluster)
{
    return cluster->distributor.values.secret ? "Secret" : "ConfigMap";
}

bool values_gone(struct turn *t)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_side *facts = &t->s->side[side];
        const struct model_cluster *cluster = turn_cluster(t, (enum model_side)side);
        if (facts->values == NULL || facts->stamp[VF_VALUES].as_of_ms == 0 || (facts->values->found && facts->values->key_found))
            continue;
        const struct model_values_target *target = &cluster->distributor.values;
        if (!facts->values->found)
            turn_say(t, "%s: %s %s/%s with the Distributor's values does not exist", cluster->name, global_values_kind(cluster),
                     cluster->ns, target->name);
        else if (facts->values->key_binary)
            turn_say(t, "%s: %s %s/%s holds key %s as binaryData; it must be UTF-8 text", cluster->name, global_values_kind(cluster),
                     cluster->ns, target->name, target->key);
        else
            turn_say(t, "%s: %s %s/%s has no key %s", cluster->name, global_values_kind(cluster), cluster->ns, target->name, target->key);
        return true;
    }
    return false;
}

bool values_unusable(struct turn *t)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_side *facts = &t->s->side[side];
        const struct model_cluster *cluster = turn_cluster(t, (enum model_side)side);
        if (facts->values == NULL || !facts->values->found || !facts->values->key_found ||
            (facts->values->readable && facts->values->settable))
            continue;
        turn_say(t, "%s: %s in %s %s/%s: %s", cluster->name, cluster->distributor.values.key, global_values_kind(cluster), cluster->ns,
                 cluster->distributor.values.name, facts->values->why.text);
        return true;
    }
    return false;
}

static bool global_differs(const struct verify_values *values, const struct model_switches *from, int *which)
{
    for (int i = 0; i < MODEL_SWITCHES; i++) {
        if (values->declared[i] == (from->on[i] ? VERIFY_ON : VERIFY_OFF))
            continue;
        *which = i;
        return true;
    }
    return false;
}

/* A patch whose answer was lost shows as what the step wants. */
static bool global_as_wanted(struct turn *t, enum model_side side, const struct verify_values *values)
{
    struct model_switches want;
    int unused = 0;
    return turn_want(t, side, &want) && !global_differs(values, &want, &unused);
}

/* From the first write on this run answers for a side's values. */
static bool global_answers_for(const struct turn *t, enum model_side side)
{
    enum model_stage first = side == MODEL_A ? STAGE_INIT_A : STAGE_INIT_B;
    return t->stage > first || (t->stage == first && t->step > table_step(first, "Write"));
}

/* Declared values that are not what this run last declared. reverted: they are what they were before the run. */
static bool global_values_moved(struct turn *t, bool reverted)
{
    const struct model_run *run = &t->st->run;
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_values *values = t->s->side[side].values;
        int which = 0;
        int unused = 0;
        bool open = run->intent.kind == INTENT_VALUES && run->intent.side == (enum model_side)side;
        if (values == NULL || !values->readable || !global_answers_for(t, (enum model_side)side) || !run->have_left[side] || open ||
            !global_differs(values, &run->left[side], &which))
            continue;
        if (global_as_wanted(t, (enum model_side)side, values))
            continue;
        bool as_before = run->have_before[side] && !global_differs(values, &run->before[side], &unused);
        if (as_before != reverted)
            continue;
        const struct model_cluster *cluster = turn_cluster(t, (enum model_side)side);
        turn_say(t, "%s: switch %s in %s %s/%s is no longer as this run wrote it; last changed by field manager \"%s\"", cluster->name,
                 model_switch_name((enum model_switch)which), global_values_kind(cluster), cluster->ns, cluster->distributor.values.name,
                 values->manager[0] != '\0' ? values->manager : "unknown");
        return true;
    }
    return false;
}

bool values_reverted(struct turn *t)
{
    return global_values_moved(t, true);
}

bool values_changed(struct turn *t)
{
    return global_values_moved(t, false);
}

/* ---------------------------------------------------------------- deadlines */

static bool global_stage_over(struct turn *t)
{
    int64_t due = t->m->progress_ms + t->spec->stage_deadline_ms - t->m->idle_before_ms;
    if (t->now >= due)
        return true;
    turn_wake(t, due);
    return false;
}

static bool global_run_over(struct turn *t)
{
    int64_t spent = t->s->now.wall_ms - t->st->run.started_ms - t->st->run.paused_ms;
    if (spent >= t->spec->run_deadline_ms)
        return true;
    turn_wake(t, t->now + t->spec->run_deadline_ms - spent);
    return false;
}

static bool global_over(struct turn *t)
{
    return global_stage_over(t) || global_run_over(t);
}

bool unreachable_late(struct turn *t)
{
    if (!global_over(t))
        return false;
    return global_failing(t, DV_ERR_UNREACHABLE) != NULL || global_failing(t, DV_ERR_TIMEOUT) != NULL;
}

bool connect_late(struct turn *t)
{
    if (!global_over(t))
        return false;
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_side *facts = &t->s->side[side];
        for (size_t i = 0; i < facts->pod_count; i++) {
            if (facts->pods[i]->ready || facts->pods[i]->deleting)
                continue;
            turn_say(t, "%s: Kafka Connect pod %s is not ready (%s)", turn_name(t, (enum model_side)side), facts->pods[i]->name,
                     facts->pods[i]->waiting != NULL ? facts->pods[i]->waiting : facts->pods[i]->phase);
            return true;
        }
    }
    return false;
}

bool values_late(struct turn *t)
{
    if (t->step->late != REASON_ValuesNotApplied || !global_over(t))
        return false;
    turn_say(t, "after %lld s the values are not in effect: %s", (long long)(turn_step_age(t) / 1000),
             t->p->waits_for[0] != '\0' ? t->p->waits_for : "nothing changed");
    return true;
}

bool drain_late(struct turn *t)
{
    if (t->step->late != REASON_LagNotDrained || !global_run_over(t))
        return false;
    turn_say(t, "the Message Distributors did not reach the mark: %s", t->p->waits_for);
    return true;
}

bool run_late(struct turn *t)
{
    if (!global_run_over(t))
        return false;
    turn_say(t, "the run took longer than spec.deadlines.run; it still waited for %s", turn_what(t));
    return true;
}

bool stage_late(struct turn *t)
{
    if (!global_stage_over(t))
        return false;
    turn_say(t, "no progress within spec.deadlines.stage, waiting for %s", t->p->waits_for[0] != '\0' ? t->p->waits_for : turn_what(t));
    return true;
}

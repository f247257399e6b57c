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

/* ---------------------------------------------------------------- deadlines */

static bool global_stage_over(struct turn *t)
{
    int64_t due = turn_stage_due(t);
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
    turn_say(t, "after %lld s the values are not in effect: %s", (long long)(turn_step_age(t) / 1000), turn_open_wait(t));
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
    turn_say(t, "the run took longer than spec.deadlines.run, still waiting for %s", turn_open_wait(t));
    return true;
}

bool stage_late(struct turn *t)
{
    if (!global_stage_over(t))
        return false;
    turn_say(t, "no progress within spec.deadlines.stage, waiting for %s", turn_open_wait(t));
    return true;
}

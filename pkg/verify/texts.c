#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "verify/lifecycle.h"
#include "verify/turn.h"

/* The conditions are a function of the rest of the status; only lastTransitionTime has a memory. */

/* "<stage>: <text>", cut between words where it is too long. */
static void texts_cut(char *out, size_t size, const char *stage, const char *text, size_t len)
{
    char whole[1024];
    (void)dv_format(whole, sizeof whole, "%s: %.*s", stage, (int)len, text);
    (void)dv_shorten(out, whole, size);
}

void texts_top(char *out, size_t size, const char *stage, const char *text)
{
    texts_cut(out, size, stage, text, strlen(text));
}

/* What to do, as the text itself says it after its last semicolon; NULL when it does not. */
static const char *texts_todo(const char *text)
{
    const char *todo = NULL;
    for (const char *p = strstr(text, "; "); p != NULL; p = strstr(todo, "; "))
        todo = p + 2;
    return todo;
}

/* How a run ended. What to do comes last and is not cut: the text says it after a semicolon, or the reason knows it. */
void texts_end(char *out, size_t size, const char *stage, const char *text, enum model_reason reason)
{
    const char *own = texts_todo(text);
    const char *todo = own != NULL ? own : model_reason_todo(reason);
    size_t said = own != NULL ? (size_t)(own - text) - 2 : strlen(text);
    size_t need = strlen(todo) + 2;
    if (todo[0] == '\0' || dv_starts_with(todo, "nothing") || need + 60 > size) {
        texts_top(out, size, stage, text);
        return;
    }
    texts_cut(out, size - need, stage, text, said);
    size_t len = strlen(out);
    (void)snprintf(out + len, size - len, "; %s", todo);
}

struct conditions {
    struct model_status *st;
    const struct verify_snapshot *s;
    bool pending; /* a run is to start, or the spec cannot be used: what the last one found holds no more */
    struct model_condition old[MODEL_CONDITIONS_MAX];
    size_t old_count;
};

static void texts_put(struct conditions *c, const char *type, const char *status, const char *reason, const char *message)
{
    struct model_condition *condition = &c->st->conditions[c->st->condition_count++];
    *condition = (struct model_condition){.type = type, .status = status, .observed_generation = c->s->generation};
    (void)dv_strlcpy(condition->reason, reason, sizeof condition->reason);
    (void)dv_strlcpy(condition->message, message, sizeof condition->message);
    condition->transition_ms = c->s->now.wall_ms;
    for (size_t i = 0; i < c->old_count; i++)
        if (dv_streq(c->old[i].type, type) && dv_streq(c->old[i].status, status))
            condition->transition_ms = c->old[i].transition_ms;
}

static const char *texts_pending_reason(const struct verify_snapshot *s)
{
    if (s->spec == NULL)
        return "InvalidSpec";
    if (s->spec->suspend)
        return "Suspended";
    return s->conflict != NULL ? "Conflict" : "Pending";
}

static const char *texts_active_reason(const struct verify_snapshot *s, const struct model_status *st)
{
    if (s->spec != NULL && s->spec->suspend)
        return "Suspended";
    return s->goes_first != NULL && st->stage == STAGE_PREFLIGHT ? "Conflict" : "Running";
}

static const char *texts_end_reason(const struct model_status *st)
{
    const char *reason = model_reason_name(st->stages[st->stage].reason);
    return reason[0] != '\0' ? reason : model_verdict_name(st->result);
}

static void texts_ready(struct conditions *c, bool stale)
{
    const struct model_status *st = c->st;
    bool active = model_run_active(st);
    if (active)
        texts_put(c, "Ready", "Unknown", texts_active_reason(c->s, st), st->message);
    else if (c->s->spec == NULL)
        texts_put(c, "Ready", "False", "InvalidSpec", st->message);
    else if (c->pending || st->result == MODEL_NO_VERDICT)
        texts_put(c, "Ready", "Unknown", texts_pending_reason(c->s), st->message);
    else if (st->result == MODEL_PASSED)
        texts_put(c, "Ready", stale ? "False" : "True", stale ? "Stale" : "Passed", st->message);
    else
        texts_put(c, "Ready", "False", texts_end_reason(st), st->message);
    if (!active && !c->pending && st->result != MODEL_NO_VERDICT)
        texts_put(c, "Finished", "True", model_verdict_name(st->result), st->message);
    else
        texts_put(c, "Finished", "Unknown", active ? "Running" : "Pending", st->message);
}

/* True when all of the stages passed, False when one Failed, Unknown otherwise. */
static void texts_stages(struct conditions *c, const char *type, enum model_stage from, enum model_stage to)
{
    const struct model_stage_status *st = &c->st->stages[from];
    for (int i = (int)from; i < (int)to && st->state == STATE_PASSED; i++)
        st = &c->st->stages[i + 1];
    if (c->pending)
        texts_put(c, type, "Unknown", "Pending", "");
    else if (st->state == STATE_PASSED)
        texts_put(c, type, "True", "Passed", st->message);
    else if (st->state == STATE_FAILED)
        texts_put(c, type, "False", model_reason_name(st->reason), st->message);
    else if (st->state == STATE_PENDING || st->state == STATE_RUNNING || st->state == STATE_WAITING_FOR_VALUES)
        texts_put(c, type, "Unknown", st->state == STATE_PENDING ? "Pending" : "Running", "");
    else
        texts_put(c, type, "Unknown", st->reason != REASON_None ? model_reason_name(st->reason) : model_state_name(st->state), st->message);
}

void texts_conditions(const struct verify_snapshot *s, struct model_status *st)
{
    char why[160];
    struct conditions c = {.st = st,
                           .s = s,
                           .pending = lifecycle_wanted(s, st) || (s->spec == NULL && !model_run_active(st)),
                           .old_count = st->condition_count};
    memcpy(c.old, st->conditions, sizeof c.old);
    st->condition_count = 0;
    bool stale = !model_run_active(st) && !c.pending && lifecycle_stale(s, st, why, sizeof why);
    texts_ready(&c, stale);
    texts_stages(&c, "PreflightPassed", STAGE_PREFLIGHT, STAGE_PREFLIGHT);
    texts_stages(&c, "InitVerified", STAGE_INIT_A, STAGE_INIT_B);
    texts_stages(&c, "MessagesVerified", STAGE_MESSAGES_A_TO_B, STAGE_MESSAGES_BOTH_WAYS);
    texts_stages(&c, "LagDrained", STAGE_LAG_DRAINED, STAGE_LAG_DRAINED);
    texts_stages(&c, "OffsetsVerified", STAGE_OFFSETS_A_TO_B, STAGE_OFFSETS_B_TO_A);
    texts_stages(&c, "ValuesPersisted", STAGE_PERSISTED, STAGE_PERSISTED);
    if (model_run_active(st))
        texts_put(&c, "Reconciling", "True", texts_active_reason(s, st), st->message);
    else if (s->spec == NULL)
        texts_put(&c, "Stalled", "True", "InvalidSpec", st->message);
    else if (stale)
        texts_put(&c, "Stalled", "True", "Stale", st->message);
    else if (!c.pending && st->result != MODEL_NO_VERDICT && st->result != MODEL_PASSED)
        texts_put(&c, "Stalled", "True", texts_end_reason(st), st->message);
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "verify/turn.h"

#define WRITE_AGAIN_MS 5000 /* between a write that failed and the next one */

/* An intent is written into the status before its effect. The effect is asked for by the first plan whose snapshot already holds the
 * intent: whoever reads the status later knows that it may have happened. */

static void intent_open(struct turn *t, enum model_intent_kind kind, enum model_side side, const char *hash_of)
{
    struct model_intent *intent = &t->st->run.intent;
    *intent = (struct model_intent){.kind = kind, .side = side, .at_ms = t->s->now.wall_ms};
    uint64_t hash = dv_hash64(DV_HASH_INIT, hash_of, strlen(hash_of));
    (void)dv_format(intent->hash, sizeof intent->hash, "%016llx", (unsigned long long)hash);
    (void)dv_format(intent->id, sizeof intent->id, "%08llx", (unsigned long long)(dv_hash64(hash, &t->now, sizeof t->now) & 0xffffffffu));
    (void)dv_strlcpy(t->m->effect_id, intent->id, sizeof t->m->effect_id);
    t->m->effect = EFFECT_NONE;
    if (kind != INTENT_VALUES) /* why the values could not be written is told until they are */
        dv_err_clear(&t->m->effect_err);
}

static void intent_close(struct turn *t)
{
    struct model_intent *intent = &t->st->run.intent;
    free(intent->offsets);
    free(intent->before);
    *intent = (struct model_intent){0};
    t->m->effect_id[0] = '\0';
    t->m->effect = EFFECT_NONE;
}

void intent_values(struct turn *t, enum model_side side)
{
    struct model_switches want = {0};
    char text[32];
    if (t->now < t->m->write_after_ms) {
        turn_wake(t, t->m->write_after_ms);
        return;
    }
    (void)turn_want(t, side, &want);
    (void)dv_format(text, sizeof text, "%d%d%d%d%d", want.on[0], want.on[1], want.on[2], want.on[3], want.on[4]);
    intent_open(t, INTENT_VALUES, side, text);
}

void intent_records(struct turn *t, enum model_side side, int32_t per_partition)
{
    struct model_run *run = &t->st->run;
    if (run->batch_count == MODEL_BATCHES_MAX)
        return;
    struct model_batch *batch = &run->batches[run->batch_count];
    *batch = (struct model_batch){.side = side, .per_partition = per_partition, .stage = t->stage};
    (void)dv_format(batch->id, sizeof batch->id, "b%u", (unsigned)run->batch_count & 0xffffu);
    run->batch_count++;
    intent_open(t, INTENT_RECORDS, side, batch->id);
}

static int64_t *intent_offsets_copy(const int64_t *from, int32_t n)
{
    int64_t *to = dv_calloc((size_t)n, sizeof *to);
    memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

void intent_commit(struct turn *t, enum model_side side, const int64_t *offsets, const int64_t *before, int32_t partitions)
{
    char text[32];
    uint64_t hash = dv_hash64(DV_HASH_INIT, offsets, (size_t)partitions * sizeof *offsets);
    intent_open(t, INTENT_COMMIT, side, dv_format(text, sizeof text, "%llx", (unsigned long long)hash));
    struct model_intent *intent = &t->st->run.intent;
    intent->partitions = partitions;
    intent->offsets = intent_offsets_copy(offsets, partitions);
    intent->before = intent_offsets_copy(before, partitions);
}

/* ---------------------------------------------------------------- what comes of an effect */

/* From our write on, this revision's init job and what it gives are waited for. */
static void intent_written(struct turn *t, const struct model_intent *intent)
{
    t->m->written_ms[intent->side] = t->m->effect_ms;
    t->st->run.written_ms[intent->side] = intent->at_ms;
    t->m->job_done_ms[intent->side] = 0;
}

static void intent_done(struct turn *t)
{
    struct model_intent *intent = &t->st->run.intent;
    turn_progress(t);
    if (intent->kind == INTENT_VALUES) {
        struct model_switches want;
        intent_written(t, intent);
        t->m->refused_ms = 0;
        if (turn_want(t, intent->side, &want)) {
            t->st->run.left[intent->side] = want;
            t->st->run.have_left[intent->side] = true;
        }
        evidence_values(t, intent->side, true);
        turn_event(t, false, "ValuesPatched", "run %s: values of %s written for step %s", t->st->run.id, turn_name(t, intent->side),
                   t->m->step);
    }
    if (intent->kind == INTENT_COMMIT)
        t->m->step_since_ms = t->m->effect_ms; /* what follows is waited for from our request's answer on */
    intent_close(t);
}

static const char *intent_text(const struct model_intent *intent)
{
    switch (intent->kind) {
    case INTENT_VALUES: return "writing the values";
    case INTENT_RECORDS: return "producing the test records";
    case INTENT_COMMIT: return "setting the test group's offsets";
    case INTENT_NONE: break;
    }
    return "";
}

static void intent_batch_maybe(struct turn *t)
{
    struct model_run *run = &t->st->run;
    if (run->intent.kind == INTENT_RECORDS && run->batch_count > 0)
        run->batches[run->batch_count - 1].maybe = true;
}

/* Preflight found it allowed: a refusal may be that of an API server that was just started. */
static bool intent_refusal_may_pass(struct turn *t, enum model_intent_kind kind)
{
    enum dv_err_kind err = t->m->effect_err.kind;
    if (kind != INTENT_VALUES || (err != DV_ERR_DENIED && err != DV_ERR_AUTH))
        return false;
    if (t->m->refused_ms == 0)
        t->m->refused_ms = t->now;
    return t->now - t->m->refused_ms < TURN_REFUSED_MS;
}

static enum row_outcome intent_failed(struct turn *t, enum model_reason *reason)
{
    struct model_intent *intent = &t->st->run.intent;
    const struct dv_err *err = &t->m->effect_err;
    enum model_intent_kind kind = intent->kind;
    turn_say(t, "%s on %s: %s", intent_text(intent), turn_name(t, intent->side), err->text);
    intent_batch_maybe(t);
    if (kind == INTENT_VALUES && (err->kind == DV_ERR_TIMEOUT || err->kind == DV_ERR_UNREACHABLE))
        intent_written(t, intent); /* it may have been */
    enum model_reason unknown = kind == INTENT_COMMIT && err->kind == DV_ERR_CONFLICT ? REASON_GroupActive : REASON_EffectUnknown;
    intent_close(t);
    t->m->write_after_ms = err->kind == DV_ERR_CONFLICT ? t->now + 200 : t->now + WRITE_AGAIN_MS;
    turn_wake(t, t->m->write_after_ms);
    if (intent_refusal_may_pass(t, kind))
        return OUT_WAIT;
    switch (err->kind) {
    case DV_ERR_DENIED: *reason = REASON_PermissionMissing; return OUT_STOP;
    case DV_ERR_AUTH: *reason = REASON_AuthenticationFailed; return OUT_STOP;
    case DV_ERR_CERT: *reason = REASON_CertificateInvalid; return OUT_STOP;
    case DV_ERR_SECRET: *reason = REASON_SecretNotFound; return OUT_STOP;
    case DV_ERR_NONE:
    case DV_ERR_INVALID:
    case DV_ERR_NOT_FOUND:
    case DV_ERR_CONFLICT:
    case DV_ERR_UNREACHABLE:
    case DV_ERR_TIMEOUT:
    case DV_ERR_LIMIT:
    case DV_ERR_GONE:
    case DV_ERR_UNSUPPORTED:
    case DV_ERR_INTERNAL: break;
    }
    if (kind == INTENT_VALUES) {
        if (err->kind == DV_ERR_INVALID) {
            *reason = REASON_ValuesInvalid;
            return OUT_STOP;
        }
        if (err->kind == DV_ERR_CONFLICT)
            t->m->effect_err = DV_ERR_INIT; /* somebody else wrote first: nothing to tell */
        return OUT_WAIT;                    /* written by content: the next look decides whether it is still to be done */
    }
    *reason = unknown;
    return OUT_STOP;
}

/* An intent of an earlier process. Values are judged by their content; records count as perhaps produced; a commit that may have been done
 * is followed by a new one at a new barrier, never by the same one again. */
static enum row_outcome intent_foreign(struct turn *t, enum model_reason *reason)
{
    struct model_intent *intent = &t->st->run.intent;
    *reason = REASON_EffectUnknown;
    if (intent->kind == INTENT_VALUES) {
        struct model_switches want;
        if (!turn_fresh(t, intent->side, VF_VALUES, 0))
            return OUT_WAIT;
        if (turn_want(t, intent->side, &want) && turn_declared(t, intent->side, &want)) {
            t->m->effect_ms = t->now;
            intent_done(t);
        } else {
            intent_close(t);
        }
        return OUT_GO;
    }
    if (intent->kind == INTENT_RECORDS) {
        turn_say(t, "the controller was restarted (or a second one works without --lease) while test records were produced on %s",
                 turn_name(t, intent->side));
        intent_batch_maybe(t);
        intent_close(t);
        return OUT_STOP;
    }
    turn_say(t, "the controller was restarted (or a second one works without --lease) while the test group's offsets were set on %s",
             turn_name(t, intent->side));
    intent_close(t);
    return OUT_STOP;
}

enum row_outcome intent_drive(struct turn *t, enum model_reason *reason)
{
    struct model_intent *intent = &t->st->run.intent;
    const struct model_intent *written = &t->s->status->run.intent;
    if (intent->kind == INTENT_NONE)
        return OUT_GO;
    if (!dv_streq(intent->id, t->m->effect_id))
        return intent_foreign(t, reason);
    switch (t->m->effect) {
    case EFFECT_NONE:
        if (!dv_streq(written->id, intent->id))
            return OUT_WAIT; /* not in the status yet */
        t->p->act = true;
        t->p->act_batch = t->st->run.batch_count - 1;
        t->p->act_spacing_ms = dv_starts_with(t->m->step, "Equal") ? 0 : 2;
        (void)turn_want(t, intent->side, &t->p->act_switches);
        t->m->effect = EFFECT_ASKED;
        return OUT_WAIT;
    case EFFECT_ASKED: return OUT_WAIT;
    case EFFECT_FAILED: return intent_failed(t, reason);
    case EFFECT_DONE: intent_done(t); return OUT_GO;
    }
    return OUT_WAIT;
}

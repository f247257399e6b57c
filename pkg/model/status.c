#include "model/status.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timefmt.h"

static const char *const stage_names[MODEL_STAGES] = {
    "Preflight", "InitA", "InitB", "MessagesAtoB", "MessagesBothWays", "LagDrained", "OffsetsAtoB", "OffsetsBtoA", "Persisted",
};
static const char *const state_names[] = {
    "Pending", "Running", "Passed", "Failed", "Error", "Inconclusive", "Aborted", "WaitingForApproval", "WaitingForValues",
};
static const char *const intent_names[] = {"", "Values", "Records", "Commit"};
static const char *const side_names[MODEL_SIDES] = {"a", "b"};
static const char *const condition_types[] = {
    "Ready",      "Finished",        "PreflightPassed", "InitVerified", "MessagesVerified",
    "LagDrained", "OffsetsVerified", "ValuesPersisted", "Reconciling",  "Stalled",
};
static const char *const condition_states[] = {"True", "False", "Unknown"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *model_stage_name(enum model_stage stage)
{
    return stage_names[stage];
}

const char *model_state_name(enum model_state state)
{
    return state_names[state];
}

bool model_run_active(const struct model_status *status)
{
    return status->run.id[0] != '\0' && status->run.finished_ms == 0;
}

int model_stages_passed(const struct model_status *status)
{
    int passed = 0;
    while (passed < MODEL_STAGES && status->stages[passed].state == STATE_PASSED)
        passed++;
    return passed;
}

json_t *model_evidence(struct model_status *status, enum model_stage stage)
{
    struct model_stage_status *st = &status->stages[stage];
    json_t *old = st->evidence;
    if (old == NULL)
        st->evidence = json_object();
    else if (old->refcount > 1) { /* shared with another status, or with its JSON: copied on the first write */
        st->evidence = json_deep_copy(old);
        json_decref(old);
    }
    return st->evidence;
}

/* ---------------------------------------------------------------- decode */

static int status_name_index(const char *name, const char *const *names, size_t count, int otherwise)
{
    for (size_t i = 0; i < count; i++)
        if (dv_streq(name, names[i]))
            return (int)i;
    return otherwise;
}

static const char *status_text(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text != NULL ? text : "";
}

static int64_t status_int(const json_t *json, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(json, key);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static int64_t status_time(const json_t *json, const char *key)
{
    int64_t ms = 0;
    return dv_time_parse(json_string_value(json_object_get(json, key)), &ms) == 0 ? ms : 0;
}

static int64_t status_bounded(const json_t *json, const char *key, int64_t min, int64_t max)
{
    int64_t value = status_int(json, key, min);
    return value < min ? min : value > max ? max : value;
}

static int32_t status_offsets(const json_t *list, int64_t **out)
{
    size_t n = json_array_size(list);
    if (n == 0 || n > MODEL_PARTITIONS_MAX)
        return 0;
    *out = dv_calloc(n, sizeof **out);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = json_integer_value(json_array_get(list, i));
    return (int32_t)n;
}

static void status_decode_intent(const json_t *json, struct model_intent *intent, const json_t *run)
{
    (void)run;
    intent->kind = (enum model_intent_kind)status_name_index(status_text(json, "kind"), intent_names, COUNT(intent_names), 0);
    (void)dv_strlcpy(intent->id, status_text(json, "id"), sizeof intent->id);
    intent->side = dv_streq(status_text(json, "side"), "b") ? MODEL_B : MODEL_A;
    (void)dv_strlcpy(intent->hash, status_text(json, "hash"), sizeof intent->hash);
    intent->at_ms = status_time(json, "at");
    intent->partitions = status_offsets(json_object_get(json, "offsets"), &intent->offsets);
    if (status_offsets(json_object_get(json, "before"), &intent->before) != intent->partitions)
        intent->partitions = 0;
}

static bool status_decode_switches(const json_t *json, struct model_switches *switches)
{
    if (!json_is_object(json))
        return false;
    for (int i = 0; i < MODEL_SWITCHES; i++)
        switches->on[i] = json_is_true(json_object_get(json, model_switch_name((enum model_switch)i)));
    return true;
}

static void status_decode_batches(const json_t *list, struct model_run *run)
{
    for (size_t i = 0; i < json_array_size(list) && run->batch_count < MODEL_BATCHES_MAX; i++) {
        const json_t *item = json_array_get(list, i);
        struct model_batch *batch = &run->batches[run->batch_count++];
        (void)dv_strlcpy(batch->id, status_text(item, "id"), sizeof batch->id);
        batch->side = dv_streq(status_text(item, "side"), "b") ? MODEL_B : MODEL_A;
        batch->per_partition = (int32_t)status_bounded(item, "perPartition", 0, MODEL_RECORDS_MAX);
        batch->maybe = json_is_true(json_object_get(item, "maybe"));
        batch->stage = (enum model_stage)status_name_index(status_text(item, "stage"), stage_names, MODEL_STAGES, 0);
    }
}

static void status_decode_start(const json_t *json, struct model_run *run)
{
    int32_t n[MODEL_SIDES] = {0};
    for (int side = 0; side < MODEL_SIDES; side++)
        n[side] = status_offsets(json_object_get(json, side_names[side]), &run->start_offsets[side]);
    run->partitions = n[0] == n[1] ? n[0] : 0;
}

static void status_decode_run(const json_t *json, struct model_run *run)
{
    if (!json_is_object(json))
        return;
    (void)dv_strlcpy(run->id, status_text(json, "id"), sizeof run->id);
    (void)dv_strlcpy(run->spec_hash, status_text(json, "specHash"), sizeof run->spec_hash);
    (void)dv_strlcpy(run->fingerprint, status_text(json, "fingerprint"), sizeof run->fingerprint);
    run->attempt = (int)status_bounded(json, "attempt", 0, INT32_MAX);
    run->resumes = (int)status_bounded(json, "resumes", 0, INT32_MAX);
    run->started_ms = status_time(json, "startedAt");
    run->finished_ms = status_time(json, "finishedAt");
    run->last_progress_ms = status_time(json, "lastProgressAt");
    run->disturbed_ms = status_time(json, "disturbedAt");
    run->logs_since_ms = status_time(json, "logsSince");
    run->paused_ms = status_bounded(json, "pausedSeconds", 0, INT32_MAX) * 1000;
    run->paused_at_ms = status_time(json, "pausedAt");
    status_decode_intent(json_object_get(json, "intent"), &run->intent, json);
    status_decode_start(json_object_get(json, "startOffsets"), run);
    status_decode_batches(json_object_get(json, "batches"), run);
    for (int side = 0; side < MODEL_SIDES; side++) {
        run->have_before[side] =
            status_decode_switches(json_object_get(json_object_get(json, "before"), side_names[side]), &run->before[side]);
        run->have_left[side] = status_decode_switches(json_object_get(json_object_get(json, "left"), side_names[side]), &run->left[side]);
        (void)dv_strlcpy(run->left_of[side], status_text(json_object_get(json, "leftOf"), side_names[side]), sizeof run->left_of[side]);
        run->written_ms[side] = status_time(json_object_get(json, "writtenAt"), side_names[side]);
    }
}

static void status_decode_stage(const json_t *json, struct model_status *status)
{
    int stage = status_name_index(status_text(json, "name"), stage_names, MODEL_STAGES, -1);
    if (stage < 0)
        return;
    struct model_stage_status *st = &status->stages[stage];
    st->state = (enum model_state)status_name_index(status_text(json, "state"), state_names, COUNT(state_names), 0);
    (void)dv_strlcpy(st->step, status_text(json, "step"), sizeof st->step);
    (void)model_reason_parse(status_text(json, "reason"), &st->reason);
    (void)dv_strlcpy(st->message, status_text(json, "message"), sizeof st->message);
    st->started_ms = status_time(json, "startedAt");
    st->finished_ms = status_time(json, "finishedAt");
    st->attempts = (int)status_bounded(json, "attempts", 0, INT32_MAX);
    const json_t *evidence = json_object_get(json, "evidence");
    json_decref(st->evidence);
    st->evidence = json_is_object(evidence) ? json_deep_copy(evidence) : NULL;
}

static enum model_verdict status_verdict(const char *name)
{
    for (int v = MODEL_PASSED; v <= MODEL_ABORTED; v++)
        if (dv_streq(name, model_verdict_name((enum model_verdict)v)))
            return (enum model_verdict)v;
    return MODEL_NO_VERDICT;
}

static void status_decode_condition(const json_t *json, struct model_status *status)
{
    int type = status_name_index(status_text(json, "type"), condition_types, COUNT(condition_types), -1);
    if (type < 0 || status->condition_count == MODEL_CONDITIONS_MAX)
        return;
    struct model_condition *condition = &status->conditions[status->condition_count++];
    condition->type = condition_types[type];
    condition->status = condition_states[status_name_index(status_text(json, "status"), condition_states, 3, 2)];
    (void)dv_strlcpy(condition->reason, status_text(json, "reason"), sizeof condition->reason);
    (void)dv_strlcpy(condition->message, status_text(json, "message"), sizeof condition->message);
    condition->transition_ms = status_time(json, "lastTransitionTime");
    condition->observed_generation = status_int(json, "observedGeneration", 0);
}

static void status_decode_history(const json_t *json, struct model_status *status)
{
    if (status->history_count == MODEL_HISTORY_MAX)
        return;
    struct model_history *history = &status->history[status->history_count++];
    (void)dv_strlcpy(history->run, status_text(json, "run"), sizeof history->run);
    history->result = status_verdict(status_text(json, "result"));
    history->stage = (enum model_stage)status_name_index(status_text(json, "stage"), stage_names, MODEL_STAGES, 0);
    (void)model_reason_parse(status_text(json, "reason"), &history->reason);
    history->started_ms = status_time(json, "startedAt");
    history->finished_ms = status_time(json, "finishedAt");
}

static void status_each(const json_t *list, void (*each)(const json_t *, struct model_status *), struct model_status *status)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        each(json_array_get(list, i), status);
}

void model_status_decode(const json_t *json, struct model_status *status)
{
    memset(status, 0, sizeof *status);
    status->observed_generation = status_int(json, "observedGeneration", -1);
    status->present = json_is_array(json_object_get(json, "conditions"));
    status->stage = (enum model_stage)status_name_index(status_text(json, "stage"), stage_names, MODEL_STAGES, 0);
    status->result = status_verdict(status_text(json, "result"));
    (void)dv_strlcpy(status->message, status_text(json, "message"), sizeof status->message);
    (void)dv_strlcpy(status->last_handled_reverify, status_text(json, "lastHandledReverify"), sizeof status->last_handled_reverify);
    status_decode_run(json_object_get(json, "run"), &status->run);
    status_each(json_object_get(json, "stages"), status_decode_stage, status);
    status_each(json_object_get(json, "conditions"), status_decode_condition, status);
    status_each(json_object_get(json, "history"), status_decode_history, status);
}

/* ---------------------------------------------------------------- encode */

/* A text that was cut within a character would be no JSON: the whole status would be refused. */
static json_t *status_string(const char *text)
{
    DV_CLEANUP_FREE char *clean = dv_utf8_clean(dv_strdup(text));
    return json_string(clean);
}

static void status_put_text(json_t *json, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0')
        json_object_set_new(json, key, status_string(text));
}

static void status_put_time(json_t *json, const char *key, int64_t wall_ms)
{
    char text[DV_TIME_TEXT];
    if (wall_ms == 0)
        return;
    dv_time_format(wall_ms, text);
    json_object_set_new(json, key, json_string(text));
}

static json_t *status_offset_list(const int64_t *offsets, int32_t n)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer(offsets[i]));
    return list;
}

static json_t *status_encode_intent(const struct model_intent *intent, const struct model_spec *spec)
{
    json_t *json = json_object();
    status_put_text(json, "id", intent->id);
    status_put_text(json, "kind", intent_names[intent->kind]);
    status_put_text(json, "side", side_names[intent->side]);
    if (spec != NULL)
        status_put_text(json, "cluster", spec->cluster[intent->side].name);
    status_put_text(json, "hash", intent->hash);
    status_put_time(json, "at", intent->at_ms);
    if (intent->partitions > 0) {
        json_object_set_new(json, "offsets", status_offset_list(intent->offsets, intent->partitions));
        json_object_set_new(json, "before", status_offset_list(intent->before, intent->partitions));
    }
    return json;
}

static json_t *status_encode_switches(const struct model_switches *switches)
{
    json_t *json = json_object();
    for (int i = 0; i < MODEL_SWITCHES; i++)
        json_object_set_new(json, model_switch_name((enum model_switch)i), json_boolean(switches->on[i]));
    return json;
}

static void status_put_switches(json_t *run, const char *key, const bool *have, const struct model_switches *switches)
{
    json_t *json = json_object();
    for (int side = 0; side < MODEL_SIDES; side++)
        if (have[side])
            json_object_set_new(json, side_names[side], status_encode_switches(&switches[side]));
    if (json_object_size(json) > 0)
        json_object_set_new(run, key, json);
    else
        json_decref(json);
}

static json_t *status_encode_batches(const struct model_run *run)
{
    json_t *list = json_array();
    for (size_t i = 0; i < run->batch_count; i++) {
        const struct model_batch *batch = &run->batches[i];
        json_t *json = json_object();
        status_put_text(json, "id", batch->id);
        status_put_text(json, "side", side_names[batch->side]);
        json_object_set_new(json, "perPartition", json_integer(batch->per_partition));
        if (batch->maybe)
            json_object_set_new(json, "maybe", json_true());
        status_put_text(json, "stage", stage_names[batch->stage]);
        json_array_append_new(list, json);
    }
    return list;
}

static void status_put_sides(json_t *json, const char *key, json_t *sides)
{
    if (json_object_size(sides) > 0)
        json_object_set(json, key, sides);
    json_decref(sides);
}

static void status_put_written(json_t *json, const struct model_run *run)
{
    json_t *left_of = json_object();
    json_t *written = json_object();
    for (int side = 0; side < MODEL_SIDES; side++) {
        status_put_text(left_of, side_names[side], run->left_of[side]);
        status_put_time(written, side_names[side], run->written_ms[side]);
    }
    status_put_sides(json, "leftOf", left_of);
    status_put_sides(json, "writtenAt", written);
}

static json_t *status_encode_run(const struct model_run *run, const struct model_spec *spec)
{
    json_t *json = json_object();
    status_put_text(json, "id", run->id);
    status_put_text(json, "specHash", run->spec_hash);
    json_object_set_new(json, "attempt", json_integer(run->attempt));
    if (run->resumes > 0)
        json_object_set_new(json, "resumes", json_integer(run->resumes));
    status_put_time(json, "startedAt", run->started_ms);
    status_put_time(json, "finishedAt", run->finished_ms);
    if (run->intent.kind != INTENT_NONE)
        json_object_set_new(json, "intent", status_encode_intent(&run->intent, spec));
    if (run->partitions > 0) {
        json_t *start = json_object();
        for (int side = 0; side < MODEL_SIDES; side++)
            json_object_set_new(start, side_names[side], status_offset_list(run->start_offsets[side], run->partitions));
        json_object_set_new(json, "startOffsets", start);
    }
    if (run->batch_count > 0)
        json_object_set_new(json, "batches", status_encode_batches(run));
    status_put_switches(json, "before", run->have_before, run->before);
    status_put_switches(json, "left", run->have_left, run->left);
    status_put_written(json, run);
    if (run->paused_ms >= 1000)
        json_object_set_new(json, "pausedSeconds", json_integer(run->paused_ms / 1000));
    status_put_time(json, "pausedAt", run->paused_at_ms);
    status_put_time(json, "lastProgressAt", run->last_progress_ms);
    status_put_time(json, "disturbedAt", run->disturbed_ms);
    status_put_time(json, "logsSince", run->logs_since_ms);
    status_put_text(json, "fingerprint", run->fingerprint);
    return json;
}

static json_t *status_encode_stage(const struct model_stage_status *st, enum model_stage stage)
{
    json_t *json = json_object();
    status_put_text(json, "name", stage_names[stage]);
    status_put_text(json, "state", state_names[st->state]);
    status_put_text(json, "step", st->step);
    status_put_text(json, "reason", model_reason_name(st->reason));
    status_put_text(json, "message", st->message);
    status_put_time(json, "startedAt", st->started_ms);
    status_put_time(json, "finishedAt", st->finished_ms);
    if (st->attempts > 0)
        json_object_set_new(json, "attempts", json_integer(st->attempts));
    if (st->evidence != NULL && json_object_size(st->evidence) > 0)
        json_object_set(json, "evidence", st->evidence);
    return json;
}

static json_t *status_encode_condition(const struct model_condition *condition)
{
    json_t *json = json_object();
    status_put_text(json, "type", condition->type);
    status_put_text(json, "status", condition->status);
    json_object_set_new(json, "reason", status_string(condition->reason));
    json_object_set_new(json, "message", status_string(condition->message));
    status_put_time(json, "lastTransitionTime", condition->transition_ms);
    json_object_set_new(json, "observedGeneration", json_integer(condition->observed_generation));
    return json;
}

static json_t *status_encode_history(const struct model_history *history)
{
    json_t *json = json_object();
    status_put_text(json, "run", history->run);
    status_put_text(json, "result", model_verdict_name(history->result));
    status_put_text(json, "stage", stage_names[history->stage]);
    status_put_text(json, "reason", model_reason_name(history->reason));
    status_put_time(json, "startedAt", history->started_ms);
    status_put_time(json, "finishedAt", history->finished_ms);
    return json;
}

static void status_encode_lists(const struct model_status *status, json_t *json)
{
    json_t *stages = json_array();
    json_t *conditions = json_array();
    json_t *history = json_array();
    for (int i = 0; i < MODEL_STAGES; i++)
        json_array_append_new(stages, status_encode_stage(&status->stages[i], (enum model_stage)i));
    for (size_t i = 0; i < status->condition_count; i++)
        json_array_append_new(conditions, status_encode_condition(&status->conditions[i]));
    for (size_t i = 0; i < status->history_count; i++)
        json_array_append_new(history, status_encode_history(&status->history[i]));
    if (status->run.id[0] != '\0')
        json_object_set(json, "stages", stages);
    json_decref(stages);
    json_object_set_new(json, "conditions", conditions);
    if (json_array_size(history) > 0)
        json_object_set(json, "history", history);
    json_decref(history);
}

json_t *model_status_encode(const struct model_status *status, const struct model_spec *spec)
{
    json_t *json = json_object();
    char progress[16];
    json_object_set_new(json, "observedGeneration", json_integer(status->observed_generation));
    if (status->run.id[0] != '\0') {
        status_put_text(json, "stage", stage_names[status->stage]);
        status_put_text(json, "progress", dv_format(progress, sizeof progress, "%d/%d", model_stages_passed(status), MODEL_STAGES));
        json_object_set_new(json, "run", status_encode_run(&status->run, spec));
    }
    status_put_text(json, "result", model_verdict_name(status->result));
    status_put_text(json, "message", status->message);
    status_put_text(json, "lastHandledReverify", status->last_handled_reverify);
    status_encode_lists(status, json);
    return json;
}

/* ---------------------------------------------------------------- copy, clear */

static int64_t *status_copy_offsets(const int64_t *from, int32_t n)
{
    if (from == NULL || n == 0)
        return NULL;
    int64_t *to = dv_calloc((size_t)n, sizeof *to);
    memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

void model_status_copy(struct model_status *to, const struct model_status *from)
{
    *to = *from;
    struct model_run *run = &to->run;
    for (int side = 0; side < MODEL_SIDES; side++)
        run->start_offsets[side] = status_copy_offsets(from->run.start_offsets[side], from->run.partitions);
    run->intent.offsets = status_copy_offsets(from->run.intent.offsets, from->run.intent.partitions);
    run->intent.before = status_copy_offsets(from->run.intent.before, from->run.intent.partitions);
    for (int i = 0; i < MODEL_STAGES; i++)
        to->stages[i].evidence = json_incref(from->stages[i].evidence);
}

void model_status_clear(struct model_status *status)
{
    if (status == NULL)
        return;
    for (int side = 0; side < MODEL_SIDES; side++)
        free(status->run.start_offsets[side]);
    free(status->run.intent.offsets);
    free(status->run.intent.before);
    for (int i = 0; i < MODEL_STAGES; i++)
        json_decref(status->stages[i].evidence);
    memset(status, 0, sizeof *status);
}

static struct model_status status_shallow(const struct model_status *status)
{
    struct model_status shallow = *status;
    shallow.run.start_offsets[MODEL_A] = shallow.run.start_offsets[MODEL_B] = NULL;
    shallow.run.intent.offsets = shallow.run.intent.before = NULL;
    for (int i = 0; i < MODEL_STAGES; i++)
        shallow.stages[i].evidence = NULL;
    return shallow;
}

static bool status_same_offsets(const int64_t *a, const int64_t *b, int32_t n)
{
    if (a == NULL || b == NULL || n == 0)
        return a == b || n == 0;
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

bool model_status_same(const struct model_status *a, const struct model_status *b)
{
    const struct model_status x = status_shallow(a);
    const struct model_status y = status_shallow(b);
    if (memcmp(&x, &y, sizeof x) != 0)
        return false;
    bool same = status_same_offsets(a->run.intent.offsets, b->run.intent.offsets, a->run.intent.partitions) &&
                status_same_offsets(a->run.intent.before, b->run.intent.before, a->run.intent.partitions);
    for (int side = 0; side < MODEL_SIDES; side++)
        same = same && status_same_offsets(a->run.start_offsets[side], b->run.start_offsets[side], a->run.partitions);
    for (int i = 0; i < MODEL_STAGES; i++)
        same = same && (a->stages[i].evidence == b->stages[i].evidence || json_equal(a->stages[i].evidence, b->stages[i].evidence));
    return same;
}

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "controller/internal.h"

#define LEASE_MARGIN_MS 5000

/* ---------------------------------------------------------------- observe: the snapshot */

static enum verify_health turn_health(enum distributor_health health)
{
    switch (health) {
    case DISTRIBUTOR_HEALTHY: return VERIFY_HEALTHY;
    case DISTRIBUTOR_FAILED: return VERIFY_FAILED;
    case DISTRIBUTOR_BLOCKED: return VERIFY_BLOCKED;
    case DISTRIBUTOR_WAIT:
    case DISTRIBUTOR_OFF: break;
    }
    return VERIFY_WAIT;
}

static void turn_connectors(struct ctl_side *facts, struct verify_side *out)
{
    facts->scratch_connectors = dv_reallocarray(facts->scratch_connectors, facts->connector_count, sizeof *facts->scratch_connectors);
    for (size_t i = 0; i < facts->connector_count; i++) {
        struct distributor_judgement judgement;
        struct verify_connector *connector = &facts->scratch_connectors[i];
        distributor_judge_connector(facts->connectors[i], true, facts->connectors[i]->auto_restarts, &judgement);
        connector->fact = facts->connectors[i];
        connector->health = turn_health(judgement.health);
        (void)dv_strlcpy(connector->why, judgement.why, sizeof connector->why);
    }
    out->connectors = facts->scratch_connectors;
    out->connector_count = facts->connector_count;
}

static void turn_side_kafka(const struct ctl_side *facts, struct verify_side *out)
{
    (void)dv_strlcpy(out->cluster_id, facts->cluster_id, sizeof out->cluster_id);
    out->test_topic = facts->test_topic;
    out->ts_topic = facts->ts_topic;
    out->test_log = facts->test_log;
    out->ts_log = facts->ts_log;
    out->md_commits = facts->md_commits;
    out->test_commits = facts->test_commits;
    out->groups = facts->groups;
    out->group_lag = facts->group_lag;
    out->write_test = facts->write_test;
    out->write_ts = facts->write_ts;
    memcpy(out->read_group, facts->read_group, sizeof out->read_group);
    out->distances = facts->distances;
    out->distance_count = facts->distance_count;
    out->reader_at_ms = facts->reader.at_ms;
    out->reader_next = facts->reader.next;
    out->reader_high = facts->reader.high;
    out->reader_stable = facts->reader.stable;
    out->ts_reader_at_ms = facts->ts_reader.at_ms;
    out->ts_seen = facts->ts_seen;
    out->ts_last_ms = facts->ts_last_ms;
}

static void turn_side(struct entry *entry, enum model_side side, struct verify_side *out)
{
    struct ctl_side *facts = &entry->side[side];
    memcpy(out->stamp, facts->stamp, sizeof out->stamp);
    (void)dv_strlcpy(out->access_missing, facts->access_open == 0 ? facts->access_missing : "", sizeof out->access_missing);
    turn_side_kafka(facts, out);
    out->values = facts->values_known ? &facts->values : NULL;
    out->connect = facts->connect;
    turn_connectors(facts, out);
    out->pods = (const struct fact_pod *const *)facts->pods;
    out->pod_count = facts->pod_count;
    out->jobs = (const struct fact_job *const *)facts->jobs;
    out->job_count = facts->job_count;
}

/* Both KafkaConnects are in the snapshot by now: they decide how long a warning may go on. */
static void turn_findings(struct entry *entry, enum model_side side, struct verify_snapshot *s)
{
    const struct ctl_side *facts = &entry->side[side];
    logs_findings(entry, side, verify_arrival_ms(s));
    s->side[side].findings = facts->scratch_findings;
    s->side[side].finding_dirty = facts->scratch_dirty;
    s->side[side].finding_count = facts->finding_count;
}

static void turn_probes(struct entry *entry)
{
    const struct model_run *run = &entry->status.run;
    if (!dv_streq(entry->probes.run, run->id) || entry->probes.partitions != run->partitions) {
        probes_free(&entry->probes);
        probes_init(&entry->probes, run->id, run->partitions);
    }
    if (run->partitions > 0)
        probes_sync(&entry->probes, run);
}

static void turn_snapshot(struct entry *entry, struct verify_snapshot *s, const char *new_id)
{
    struct controller *ctl = entry->ctl;
    turn_probes(entry);
    s->now = ctl_now(ctl);
    s->uid = entry->uid;
    s->generation = entry->generation;
    s->deleting = entry->deleting;
    s->has_finalizer = entry->has_finalizer;
    s->spec = entry->spec;
    s->spec_err = &entry->spec_err;
    s->status = &entry->status;
    s->reverify = entry->reverify;
    s->abort = entry->abort_id;
    s->new_run_id = new_id;
    s->crd_too_old = entry->crd_too_old[0] != '\0' ? entry->crd_too_old : NULL;
    s->conflict = entry_conflict(entry);
    s->goes_first = entry_goes_first(entry);
    s->may_run = entry_runs(entry) || entry_places_used(ctl) < ctl->options.max_runs;
    s->memory = &entry->memory;
    s->probes = &entry->probes;
    for (int side = 0; entry->spec != NULL && side < MODEL_SIDES; side++)
        turn_side(entry, (enum model_side)side, &s->side[side]);
    for (int side = 0; entry->spec != NULL && side < MODEL_SIDES; side++)
        turn_findings(entry, (enum model_side)side, s);
}

/* ---------------------------------------------------------------- act: what the plan asks for, once its status is written */

/* A run that ended, or whose start was not written after all, leaves its place and its Distributors to those that wait. */
static void turn_place(struct entry *entry)
{
    struct controller *ctl = entry->ctl;
    bool ran = entry->runs;
    entry->runs = entry_runs(entry);
    for (size_t i = 0; ran && !entry->runs && i < ctl->order_count; i++)
        entry_due(ctl->order[i], 0);
}

static bool turn_is_new(char *last, size_t size, const char *text)
{
    if (dv_streq(last, text))
        return false;
    (void)dv_strlcpy(last, text, size);
    return true;
}

/* Each step, and each thing that is waited for, once. */
static void turn_log(struct entry *entry, const char *waits_for)
{
    char step[80];
    const struct model_status *status = &entry->status;
    if (!model_run_active(status))
        return;
    (void)dv_format(step, sizeof step, "%s/%s", model_stage_name(status->stage), entry->memory.step);
    if (turn_is_new(entry->last_step, sizeof entry->last_step, step))
        dv_log(DV_LOG_INFO, "step", "resource", entry->key, "run", status->run.id, "step", step, NULL);
    if (turn_is_new(entry->last_waits, sizeof entry->last_waits, waits_for))
        dv_log(DV_LOG_DEBUG, "waits", "resource", entry->key, "run", status->run.id, "for", waits_for, NULL);
}

/* An effect may have been answered while the status was written: that is newer than the plan. */
static void turn_take_memory(struct entry *entry, const struct verify_memory *planned)
{
    struct verify_memory *m = &entry->memory;
    bool answered = planned->effect == EFFECT_ASKED && dv_streq(planned->effect_id, m->effect_id) &&
                    (m->effect == EFFECT_DONE || m->effect == EFFECT_FAILED);
    enum verify_effect_state effect = m->effect;
    struct dv_err err = m->effect_err;
    int64_t at_ms = m->effect_ms;
    *m = *planned;
    if (!answered)
        return;
    m->effect = effect;
    m->effect_err = err;
    m->effect_ms = at_ms;
}

/* An effect is only begun when the Lease surely lasts that long, and with the spec that the plan was made from: while the status was
 * written the watch may have brought another one, with other targets, topics and groups, or one that cannot be used. */
static bool turn_may_act(const struct entry *entry, const struct verify_plan *plan)
{
    const struct controller *ctl = entry->ctl;
    bool same_spec = entry->spec != NULL && dv_streq(entry->spec->hash, plan->status.run.spec_hash);
    return same_spec && ctl->kube.lease_left_ms(ctl->kube.impl) >= LEASE_MARGIN_MS;
}

static void turn_count(const struct entry *entry)
{
    char labels[64];
    (void)dv_format(labels, sizeof labels, "result=\"%s\"", model_verdict_name(entry->status.result));
    (*dv_metric(DV_COUNTER, "distverify_runs_total", "Runs that ended.", labels))++;
}

static void turn_commit(struct entry *entry, struct verify_plan *plan)
{
    struct controller *ctl = entry->ctl;
    bool changed_run = !dv_streq(plan->status.run.id, entry->status.run.id);
    model_status_clear(&entry->status);
    model_status_copy(&entry->status, &plan->status);
    turn_take_memory(entry, &plan->memory);
    for (int side = 0; changed_run && side < MODEL_SIDES; side++)
        entry->side[side].distance_count = 0; /* the topic may be another one of that name */
    if (plan->act && !turn_may_act(entry, plan)) {
        entry->memory.effect = EFFECT_NONE;
        plan->act = false;
        entry_due(entry, ctl_now(ctl).mono_ms + 200);
    }
    turn_log(entry, plan->waits_for);
    for (size_t i = 0; i < plan->event_count; i++)
        act_event(entry, &plan->events[i]);
    turn_place(entry);
    if (changed_run && entry->spec != NULL) /* clients, readers and logs are those of one run */
        observe_converge(entry, &(struct verify_observe){.watches = plan->observe.watches});
    if (entry->spec != NULL) {
        observe_converge(entry, &plan->observe);
        ask_all(entry, plan);
    }
    if (plan->act)
        act_effect(entry, plan);
    if (plan->release)
        turn_count(entry);
    if (plan->wake_ms != INT64_MAX)
        entry_due(entry, plan->wake_ms);
    if (changed_run || plan->act || plan->release || plan->event_count > 0)
        entry_due_now(entry);
}

/* ---------------------------------------------------------------- write */

static void turn_write_finalizer(struct entry *entry, bool wanted)
{
    struct controller *ctl = entry->ctl;
    json_t *list = json_array();
    /* Ours is the only one this program knows; those of others are kept by reading them from the object as it was seen. */
    for (size_t i = 0; i < json_array_size(entry->finalizers); i++)
        if (!dv_streq(json_string_value(json_array_get(entry->finalizers, i)), CONTROLLER_FINALIZER))
            json_array_append(list, json_array_get(entry->finalizers, i));
    if (wanted)
        json_array_append_new(list, json_string(CONTROLLER_FINALIZER));
    json_t *body = json_pack("{s:{s:s, s:s, s:o}}", "metadata", "uid", entry->uid, "resourceVersion", entry->version, "finalizers", list);
    struct port_call call = {
        .verb = PORT_MERGE_PATCH,
        .resource =
            {.group = CONTROLLER_GROUP, .version = CONTROLLER_VERSION, .plural = CONTROLLER_PLURAL, .ns = entry->ns, .name = entry->name},
        .body = body,
    };
    entry->writing = true;
    ctl->kube.call(ctl->kube.impl, ticket_new(ctl, TICKET_FINALIZER, entry, MODEL_A)->id, &call);
    json_decref(body);
}

static void turn_write_status(struct entry *entry, json_t *status)
{
    struct controller *ctl = entry->ctl;
    json_t *body = json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:O, s:O}", "apiVersion", CONTROLLER_GROUP "/" CONTROLLER_VERSION, "kind",
                             "DistributionVerification", "metadata", "name", entry->name, "namespace", entry->ns, "uid", entry->uid,
                             "resourceVersion", entry->version, "spec", entry->spec_json, "status", status);
    struct port_call call = {
        .verb = PORT_REPLACE,
        .resource = {.group = CONTROLLER_GROUP,
                     .version = CONTROLLER_VERSION,
                     .plural = CONTROLLER_PLURAL,
                     .ns = entry->ns,
                     .name = entry->name,
                     .subresource = "status"},
        .body = body,
    };
    entry->writing = true;
    ctl->kube.call(ctl->kube.impl, ticket_new(ctl, TICKET_STATUS, entry, MODEL_A)->id, &call);
    json_decref(body);
}

static void turn_look(struct entry *entry)
{
    struct controller *ctl = entry->ctl;
    struct port_call call = {
        .verb = PORT_GET,
        .resource =
            {.group = CONTROLLER_GROUP, .version = CONTROLLER_VERSION, .plural = CONTROLLER_PLURAL, .ns = entry->ns, .name = entry->name},
    };
    entry->writing = true;
    ctl->kube.call(ctl->kube.impl, ticket_new(ctl, TICKET_LOOK, entry, MODEL_A)->id, &call);
}

void turn_take(struct entry *entry)
{
    if (entry->unsure != NULL) {
        turn_look(entry);
        return;
    }
    struct verify_snapshot *s = dv_alloc(sizeof *s);
    struct verify_plan *plan = dv_alloc(sizeof *plan);
    char new_id[11];
    dv_random_id(new_id, sizeof new_id);
    turn_snapshot(entry, s, new_id);
    verify_decide(s, plan);
    free(s);
    (*dv_metric(DV_COUNTER, "distverify_turns_total", "Decisions taken.", ""))++;
    bool same = entry->status_same && model_status_same(&plan->status, &entry->status);
    json_t *status = same ? NULL : schema_status(entry, &plan->status);
    same = same || ctl_json_same(status, entry->status_json);
    if (!same && !(entry->deleting && !entry->has_finalizer)) {
        entry->plan = plan;
        turn_place(entry);
        turn_write_status(entry, status);
        json_decref(status);
        return;
    }
    json_decref(status);
    turn_commit(entry, plan);
    entry->status_same = same;
    if (plan->finalizer != entry->has_finalizer && !(entry->deleting && plan->finalizer))
        turn_write_finalizer(entry, plan->finalizer);
    verify_plan_clear(plan);
    free(plan);
}

/* ---------------------------------------------------------------- answers to writes */

static void turn_back_off(struct entry *entry, const struct dv_err *err, const char *what)
{
    int64_t wait = 100;
    for (int i = 0; i < entry->failures && wait < 30000; i++)
        wait *= 2;
    entry->failures++;
    wait += (int64_t)(dv_random_u64() % (uint64_t)(wait / 2 + 1));
    entry->not_before_ms = ctl_now(entry->ctl).mono_ms + wait;
    entry_due(entry, entry->not_before_ms);
    dv_log(err->kind == DV_ERR_CONFLICT ? DV_LOG_DEBUG : DV_LOG_WARN, what, "resource", entry->key, "run", entry->status.run.id, "error",
           err->text, NULL);
}

static void turn_take_version(struct entry *entry, const json_t *object)
{
    const char *version = json_string_value(json_object_get(json_object_get(object, "metadata"), "resourceVersion"));
    if (version == NULL || ctl_version(version) < ctl_version(entry->version))
        return;
    free(entry->version);
    entry->version = dv_strdup(version);
    entry->version_floor = ctl_version(version);
}

static void turn_drop(struct verify_plan *plan)
{
    if (plan != NULL)
        verify_plan_clear(plan);
    free(plan);
}

/* The status is there as the plan has it: the write was done, and what the plan remembers and asks for holds. Else it was not. */
static void turn_looked(struct entry *entry, const struct port_kube_event *event)
{
    struct verify_plan *plan = entry->unsure;
    const char *uid = json_string_value(json_object_get(json_object_get(event->json, "metadata"), "uid"));
    if (event->err.kind != DV_ERR_NONE && event->err.kind != DV_ERR_NOT_FOUND) {
        turn_back_off(entry, &event->err, "resource not read");
        return;
    }
    entry->unsure = NULL;
    if (event->err.kind == DV_ERR_NONE && dv_streq(uid, entry->uid)) {
        (void)entry_take(entry->ctl, event->json, false);
        json_t *status = schema_status(entry, &plan->status);
        turn_take_version(entry, event->json);
        if (ctl_json_same(status, entry->status_json))
            turn_commit(entry, plan);
        json_decref(status);
    }
    turn_drop(plan);
    turn_place(entry);
}

static bool turn_effect_unknown(const struct dv_err *err)
{
    return err->kind == DV_ERR_TIMEOUT || err->kind == DV_ERR_UNREACHABLE;
}

static const char *turn_words(const struct port_kube_event *event)
{
    const char *message = json_string_value(json_object_get(event->json, "message"));
    return message != NULL ? message : event->err.text;
}

void turn_answer(struct entry *entry, const struct port_kube_event *event, enum ticket_kind kind)
{
    struct verify_plan *plan = entry->plan;
    entry->writing = false;
    entry->plan = NULL;
    if (kind == TICKET_LOOK) {
        turn_looked(entry, event);
        return;
    }
    if (event->err.kind != DV_ERR_NONE) {
        if (kind == TICKET_STATUS && schema_refused(entry, turn_words(event)))
            entry_due_now(entry);
        turn_back_off(entry, &event->err, kind == TICKET_STATUS ? "status not written" : "finalizer not written");
        if (plan != NULL && turn_effect_unknown(&event->err)) {
            entry->unsure = plan;
            return;
        }
    } else if (event->json != NULL && json_is_object(json_object_get(event->json, "spec"))) {
        entry->failures = 0;
        entry->not_before_ms = 0;
        (void)entry_take(entry->ctl, event->json, false);
        turn_take_version(entry, event->json);
    }
    if (plan != NULL && event->err.kind == DV_ERR_NONE)
        turn_commit(entry, plan);
    turn_drop(plan);
    turn_place(entry);
}

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "controller/internal.h"

static void act_failpoint(const struct entry *entry, const char *when)
{
#ifdef DV_FAILPOINTS
    char name[128];
    if (controller_failpoint != NULL)
        controller_failpoint(dv_format(name, sizeof name, "%s.%s/%s", model_stage_name(entry->memory.stage), entry->memory.step, when));
#else
    (void)entry;
    (void)when;
#endif
}

static void act_done(struct entry *entry, const struct dv_err *err)
{
    entry->memory.effect = err->kind == DV_ERR_NONE ? EFFECT_DONE : EFFECT_FAILED;
    entry->memory.effect_err = *err;
    entry->memory.effect_ms = ctl_now(entry->ctl).mono_ms;
    act_failpoint(entry, "after");
}

void act_lost(struct entry *entry)
{
    struct dv_err err = DV_ERR_INIT;
    if (entry->memory.effect != EFFECT_ASKED)
        return;
    (void)dv_err_set(&err, DV_ERR_TIMEOUT, "the connection was given up before the answer came");
    act_done(entry, &err);
}

/* ---------------------------------------------------------------- values */

static void act_values(struct entry *entry, enum model_side side, const struct model_switches *want)
{
    struct controller *ctl = entry->ctl;
    struct dv_err err = DV_ERR_INIT;
    bool changed = false;
    json_t *body = target_patch(entry, side, want, &changed, &err);
    if (body == NULL || !changed) {
        json_decref(body);
        act_done(entry, &err);
        return;
    }
    struct ticket *ticket = ticket_new(ctl, TICKET_PATCH, entry, side);
    ticket->watch = entry->side[side].watch_values;
    (void)dv_strlcpy(ticket->effect_id, entry->memory.effect_id, sizeof ticket->effect_id);
    struct port_call call = {
        .server = entry_server(entry, side), .verb = PORT_MERGE_PATCH, .resource = target_resource(entry, side), .body = body};
    ctl->kube.call(ctl->kube.impl, ticket->id, &call);
    json_decref(body);
}

/* The answer holds the object as we left it: older events on their way are not looked at any more. */
static void act_take_object(struct entry *entry, enum model_side side, const json_t *object)
{
    const json_t *version = json_object_get(json_object_get(object, "metadata"), "resourceVersion");
    entry->side[side].stamp[VF_VALUES].as_of_ms = ctl_now(entry->ctl).mono_ms; /* a list begun before does not hold against it */
    target_item(entry, side, object);
    if (ctl_version(json_string_value(version)) > entry->side[side].values_floor)
        entry->side[side].values_floor = ctl_version(json_string_value(version));
}

/* The spec may have changed since. Then the object may be that of another target, and is not looked at; but what came of the patch is
 * still waited for, so that the next run knows what this one left. With a spec that cannot be used nobody waits: another effect may have
 * been begun by now. */
void act_patched(struct ticket *ticket, const struct port_kube_event *event)
{
    struct entry *entry = ticket->entry;
    enum model_side side = ticket->side;
    bool watched = ticket->watch != 0 && ticket->watch == entry->side[side].watch_values;
    bool awaited = entry->memory.effect == EFFECT_ASKED && dv_streq(ticket->effect_id, entry->memory.effect_id);
    ticket_drop(entry->ctl, ticket);
    if (watched && event->err.kind == DV_ERR_NONE && event->json != NULL)
        act_take_object(entry, side, event->json);
    if (awaited)
        act_done(entry, &event->err);
}

/* ---------------------------------------------------------------- records, commits */

static void act_records(struct entry *entry, enum model_side side, size_t batch, int64_t spacing_ms)
{
    struct controller *ctl = entry->ctl;
    size_t count = 0;
    probes_sync(&entry->probes, &entry->status.run);
    struct fact_record *records = probes_records(&entry->probes, batch, ctl_now(ctl).wall_ms, spacing_ms, &count);
    struct ticket *ticket = ticket_new(ctl, TICKET_PRODUCE, entry, side);
    entry->act_records = count;
    entry->act_answers = 0;
    dv_err_clear(&entry->act_err);
    ctl->kafka.produce(ctl->kafka.impl, entry->side[side].client, ticket->id, entry->spec->cluster[side].topic, records, count);
    probes_records_free(records, count);
}

void act_produced(struct entry *entry, const struct port_kafka_event *event)
{
    struct controller *ctl = entry->ctl;
    if (event->err.kind != DV_ERR_NONE && entry->act_err.kind == DV_ERR_NONE)
        entry->act_err = event->err;
    if (++entry->act_answers < entry->act_records)
        return;
    ticket_drop(ctl, ticket_find(ctl, event->id));
    act_done(entry, &entry->act_err);
}

static void act_commit(struct entry *entry, const struct model_intent *intent)
{
    struct controller *ctl = entry->ctl;
    const struct model_cluster *cluster = &entry->spec->cluster[intent->side];
    struct ticket *ticket = ticket_new(ctl, TICKET_COMMIT, entry, intent->side);
    ctl->kafka.commit(ctl->kafka.impl, entry->side[intent->side].client, ticket->id, cluster->group, cluster->topic, intent->offsets,
                      intent->partitions);
}

void act_committed(struct entry *entry, const struct port_kafka_event *event)
{
    ticket_drop(entry->ctl, ticket_find(entry->ctl, event->id));
    act_done(entry, &event->err);
}

void act_effect(struct entry *entry, const struct verify_plan *plan)
{
    const struct model_intent *intent = &entry->status.run.intent;
    act_failpoint(entry, "before");
    switch (intent->kind) {
    case INTENT_VALUES: act_values(entry, intent->side, &plan->act_switches); break;
    case INTENT_RECORDS: act_records(entry, intent->side, plan->act_batch, plan->act_spacing_ms); break;
    case INTENT_COMMIT: act_commit(entry, intent); break;
    case INTENT_NONE: break;
    }
}

/* ---------------------------------------------------------------- events */

#define EVENT_NAME_MAX 230 /* of the resource's */

void act_event(struct entry *entry, const struct verify_event *event)
{
    struct controller *ctl = entry->ctl;
    char when[DV_TIME_TEXT];
    char name[300];
    char id[11];
    dv_log(event->warning ? DV_LOG_WARN : DV_LOG_INFO, event->reason, "resource", entry->key, "run", event->run, "note", event->note, NULL);
    dv_time_format_micro(ctl_now(ctl).wall_ms * 1000, when);
    dv_random_id(id, sizeof id);
    size_t len = strnlen(entry->name, EVENT_NAME_MAX);
    while (len > 0 && (entry->name[len - 1] == '-' || entry->name[len - 1] == '.')) /* no part of a name may end so */
        len--;
    (void)dv_format(name, sizeof name, "%.*s.%s", (int)len, entry->name, id);
    json_t *regarding = json_pack("{s:s, s:s, s:s, s:s, s:s}", "apiVersion", CONTROLLER_GROUP "/" CONTROLLER_VERSION, "kind",
                                  "DistributionVerification", "name", entry->name, "namespace", entry->ns, "uid", entry->uid);
    json_t *body = json_pack("{s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s}", "apiVersion", "events.k8s.io/v1", "kind",
                             "Event", "metadata", "name", name, "namespace", entry->ns, "eventTime", when, "reportingController",
                             "distverify.io/controller", "reportingInstance", ctl->options.instance, "action", "Verify", "reason",
                             event->reason, "regarding", regarding, "note", event->note, "type", event->warning ? "Warning" : "Normal");
    struct ticket *ticket = ticket_new(ctl, TICKET_EVENT, entry, MODEL_A);
    struct port_call call = {
        .verb = PORT_CREATE, .resource = {.group = "events.k8s.io", .version = "v1", .plural = "events", .ns = entry->ns}, .body = body};
    ctl->kube.call(ctl->kube.impl, ticket->id, &call);
    json_decref(body);
}

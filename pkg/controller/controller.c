#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "controller/internal.h"

#ifdef DV_FAILPOINTS
void (*controller_failpoint)(const char *name);
#endif

struct dv_now ctl_now(const struct controller *ctl)
{
    return ctl->options.clock(ctl->options.arg);
}

/* ---------------------------------------------------------------- tickets */

struct ticket *ticket_new(struct controller *ctl, enum ticket_kind kind, struct entry *entry, enum model_side side)
{
    struct ticket *ticket = dv_alloc(sizeof *ticket);
    ticket->id = ++ctl->next_id;
    ticket->kind = kind;
    ticket->entry = entry;
    ticket->side = side;
    ticket->asked_ms = ctl_now(ctl).mono_ms;
    HASH_ADD(hh, ctl->tickets, id, sizeof ticket->id, ticket);
    return ticket;
}

struct ticket *ticket_find(struct controller *ctl, port_id id)
{
    struct ticket *ticket = NULL;
    HASH_FIND(hh, ctl->tickets, &id, sizeof id, ticket);
    return ticket;
}

void ticket_drop(struct controller *ctl, struct ticket *ticket)
{
    if (ticket == NULL)
        return;
    HASH_DEL(ctl->tickets, ticket);
    free(ticket);
}

/* ---------------------------------------------------------------- queue */

void entry_due(struct entry *entry, int64_t at_ms)
{
    if (at_ms < entry->not_before_ms)
        at_ms = entry->not_before_ms;
    if (at_ms < entry->due_ms)
        entry->due_ms = at_ms;
}

void entry_due_now(struct entry *entry)
{
    struct controller *ctl = entry->ctl;
    entry_due(entry, 0);
    ctl->options.wake(ctl->options.arg);
}

int64_t ctl_version(const char *resource_version)
{
    int64_t version = -1;
    return dv_parse_i64(resource_version, 0, INT64_MAX, &version) == 0 ? version : -1;
}

static bool ctl_json_same_items(const json_t *a, const json_t *b)
{
    if (json_array_size(a) != json_array_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!ctl_json_same(json_array_get(a, i), json_array_get(b, i)))
            return false;
    return true;
}

bool ctl_json_same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_is_integer(a) && json_is_integer(b) ? json_integer_value(a) == json_integer_value(b)
                                                        : fabs(json_number_value(a) - json_number_value(b)) < 1e-9;
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_array(a))
        return ctl_json_same_items(a, b);
    if (!json_is_object(a))
        return json_equal(a, b);
    if (json_object_size(a) != json_object_size(b))
        return false;
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach ((json_t *)(uintptr_t)a, key, value) {
        const json_t *other = json_object_get(b, key);
        if (other == NULL || !ctl_json_same(value, other))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- life */

struct controller *controller_new(const struct controller_options *options, struct port_kube kube, struct port_kafka kafka)
{
    struct controller *ctl = dv_alloc(sizeof *ctl);
    ctl->options = *options;
    ctl->kube = kube;
    ctl->kafka = kafka;
    return ctl;
}

void controller_free(struct controller *ctl)
{
    if (ctl == NULL)
        return;
    while (ctl->entries != NULL)
        entry_remove(ctl->entries);
    struct ticket *ticket = NULL;
    struct ticket *next = NULL;
    HASH_ITER (hh, ctl->tickets, ticket, next) {
        if (ticket->kind == TICKET_RESOURCES)
            ctl->kube.watch_stop(ctl->kube.impl, ticket->id);
        ticket_drop(ctl, ticket);
    }
    free(ctl->order);
    free(ctl);
}

void controller_start(struct controller *ctl)
{
    struct ticket *ticket = ticket_new(ctl, TICKET_RESOURCES, NULL, MODEL_A);
    struct port_watch watch = {
        .resource = {.group = CONTROLLER_GROUP, .version = CONTROLLER_VERSION, .plural = CONTROLLER_PLURAL, .ns = ctl->options.ns}};
    ctl->kube.watch(ctl->kube.impl, ticket->id, &watch);
}

static void controller_ready(struct controller *ctl, bool ready, const char *why)
{
    if (ctl->options.ready != NULL)
        ctl->options.ready(ctl->options.arg, ready, why);
}

static void controller_on_resources(struct controller *ctl, const struct port_kube_event *event)
{
    struct entry *entry = NULL;
    char *key = NULL;
    switch (event->kind) {
    case PORT_KUBE_ITEM:
        entry = entry_take(ctl, event->json, true);
        if (entry != NULL)
            entry_due_now(entry);
        break;
    case PORT_KUBE_GONE:
        key = dv_asprintf("%s/%s", event->ns, event->name);
        HASH_FIND_STR(ctl->entries, key, entry);
        free(key);
        if (entry != NULL)
            entry_remove(entry);
        break;
    case PORT_KUBE_SYNCED:
        ctl->synced = true;
        ctl->lost_ms = 0;
        ctl->options.wake(ctl->options.arg);
        controller_ready(ctl, true, NULL);
        break;
    case PORT_KUBE_TROUBLE:
        ctl->lost_ms = ctl_now(ctl).mono_ms;
        dv_log(DV_LOG_WARN, "cannot watch DistributionVerifications", "error", event->err.text, NULL);
        controller_ready(ctl, ctl->synced, event->err.text);
        break;
    case PORT_KUBE_ANSWER:
    case PORT_KUBE_LINES:
    case PORT_KUBE_LOG_END: break;
    }
}

void controller_on_kube(void *arg, const struct port_kube_event *event)
{
    struct controller *ctl = arg;
    struct ticket *ticket = ticket_find(ctl, event->id);
    if (ticket == NULL)
        return;
    struct entry *entry = ticket->entry;
    switch (ticket->kind) {
    case TICKET_RESOURCES: controller_on_resources(ctl, event); return;
    case TICKET_STATUS:
    case TICKET_FINALIZER:
    case TICKET_LOOK: {
        enum ticket_kind kind = ticket->kind;
        ticket_drop(ctl, ticket);
        turn_answer(entry, event, kind);
        break;
    }
    case TICKET_EVENT:
        if (event->err.kind != DV_ERR_NONE)
            dv_log(DV_LOG_WARN, "event not recorded", "resource", entry->key, "error", event->err.text, NULL);
        ticket_drop(ctl, ticket);
        return;
    case TICKET_PATCH: act_patched(ticket, event); break;
    case TICKET_ACCESS:
    case TICKET_WATCH_VALUES:
    case TICKET_WATCH_CONNECT:
    case TICKET_WATCH_CONNECTORS:
    case TICKET_WATCH_PODS:
    case TICKET_WATCH_JOBS:
    case TICKET_LOG: observe_kube(ticket, event); break;
    case TICKET_CLIENT:
    case TICKET_ASK:
    case TICKET_PRODUCE:
    case TICKET_COMMIT:
    case TICKET_READER:
    case TICKET_TS_READER: return;
    }
    entry_due_now(entry);
}

void controller_on_kafka(void *arg, const struct port_kafka_event *event)
{
    struct controller *ctl = arg;
    struct ticket *ticket = ticket_find(ctl, event->id);
    if (ticket == NULL)
        return;
    struct entry *entry = ticket->entry;
    switch (event->kind) {
    case PORT_KAFKA_PRODUCED: act_produced(entry, event); break;
    case PORT_KAFKA_COMMITTED: act_committed(entry, event); break;
    case PORT_KAFKA_ANSWER:
    case PORT_KAFKA_RECORD:
    case PORT_KAFKA_POSITION:
    case PORT_KAFKA_TROUBLE: ask_answer(ticket, event); break;
    }
    entry_due_now(entry);
}

/* ---------------------------------------------------------------- what is due */

/* Fair: each pass starts behind the entry that was served last, and an entry gets one turn per pass. None before all resources are known:
 * a run that is under way in one of them keeps others from starting. */
int64_t controller_run(struct controller *ctl)
{
    int64_t now = ctl_now(ctl).mono_ms;
    int64_t next = INT64_MAX;
    if (!ctl->synced)
        return next;
    for (size_t i = 0; i < ctl->order_count; i++) {
        struct entry *entry = ctl->order[(ctl->order_next + i) % ctl->order_count];
        if (entry->due_ms <= now && !entry->writing) {
            entry->due_ms = INT64_MAX;
            turn_take(entry);
        }
    }
    if (ctl->order_count > 0)
        ctl->order_next = (ctl->order_next + 1) % ctl->order_count;
    for (size_t i = 0; i < ctl->order_count; i++)
        if (!ctl->order[i]->writing && ctl->order[i]->due_ms < next)
            next = ctl->order[i]->due_ms;
    *dv_metric(DV_GAUGE, "distverify_resources", "DistributionVerifications that are known.", "") = (int64_t)ctl->order_count;
    *dv_metric(DV_GAUGE, "distverify_runs_active", "Runs with open Kafka clients.", "") = entry_places_used(ctl);
    return next;
}

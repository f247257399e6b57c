#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "controller/internal.h"

#define STRIMZI "kafka.strimzi.io"

struct port_server entry_server(const struct entry *entry, enum model_side side)
{
    const struct model_cluster *cluster = &entry->spec->cluster[side];
    if (cluster->kubeconfig_secret == NULL)
        return (struct port_server){0};
    return (struct port_server){.ns = entry->ns, .secret = cluster->kubeconfig_secret, .key = cluster->kubeconfig_key};
}

void observe_known(struct ctl_side *facts, enum verify_fact fact, int64_t now)
{
    facts->stamp[fact].as_of_ms = now;
    facts->stamp[fact].failed_ms = 0;
    dv_err_clear(&facts->stamp[fact].err);
}

void observe_failed(struct ctl_side *facts, enum verify_fact fact, int64_t now, const struct dv_err *err)
{
    facts->stamp[fact].failed_ms = now > facts->stamp[fact].as_of_ms ? now : facts->stamp[fact].as_of_ms + 1;
    facts->stamp[fact].err = *err;
}

/* ---------------------------------------------------------------- watches */

static port_id observe_watch(struct entry *entry, enum model_side side, enum ticket_kind kind, enum verify_fact fact,
                             struct port_resource resource, const char *labels)
{
    struct controller *ctl = entry->ctl;
    struct ticket *ticket = ticket_new(ctl, kind, entry, side);
    ticket->fact = fact;
    struct port_watch watch = {.server = entry_server(entry, side), .resource = resource, .label_selector = labels};
    ctl->kube.watch(ctl->kube.impl, ticket->id, &watch);
    return ticket->id;
}

static void observe_start_watches(struct entry *entry, enum model_side side)
{
    struct ctl_side *facts = &entry->side[side];
    const struct model_cluster *cluster = &entry->spec->cluster[side];
    struct port_resource connect = {.group = STRIMZI, .plural = "kafkaconnects", .ns = cluster->ns};
    struct port_resource connectors = {.group = STRIMZI, .plural = "kafkaconnectors", .ns = cluster->ns};
    struct port_resource pods = {.group = "", .version = "v1", .plural = "pods", .ns = cluster->ns};
    if (facts->watch_values != 0)
        return;
    facts->watch_values = observe_watch(entry, side, TICKET_WATCH_VALUES, VF_VALUES, target_resource(entry, side), NULL);
    facts->watch_connect = observe_watch(entry, side, TICKET_WATCH_CONNECT, VF_CONNECT, connect, NULL);
    facts->watch_connectors = observe_watch(entry, side, TICKET_WATCH_CONNECTORS, VF_CONNECTORS, connectors, NULL);
    facts->watch_pods = observe_watch(entry, side, TICKET_WATCH_PODS, VF_PODS, pods, "strimzi.io/kind=KafkaConnect");
}

static void observe_stop_watch(struct entry *entry, port_id *id)
{
    struct controller *ctl = entry->ctl;
    if (*id == 0)
        return;
    ctl->kube.watch_stop(ctl->kube.impl, *id);
    ticket_drop(ctl, ticket_find(ctl, *id));
    *id = 0;
}

/* Only selectors made of plain matchLabels go to the server; the rest is filtered here. */
static void observe_job_watch(struct entry *entry, enum model_side side, bool wanted)
{
    struct ctl_side *facts = &entry->side[side];
    const struct model_cluster *cluster = &entry->spec->cluster[side];
    if (!wanted) {
        observe_stop_watch(entry, &facts->watch_jobs);
        return;
    }
    if (facts->watch_jobs != 0 || cluster->distributor.init_job_selector == NULL)
        return;
    struct dv_buf labels = DV_BUF_INIT(4096);
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach (json_object_get(cluster->distributor.init_job_selector, "matchLabels"), key, value)
        (void)dv_buf_addf(&labels, "%s%s=%s", labels.len > 0 ? "," : "", key,
                          json_string_value(value) != NULL ? json_string_value(value) : "");
    struct port_resource jobs = {.group = "batch", .version = "v1", .plural = "jobs", .ns = cluster->ns};
    facts->watch_jobs = observe_watch(entry, side, TICKET_WATCH_JOBS, VF_JOBS, jobs, labels.len > 0 ? dv_buf_text(&labels) : NULL);
    dv_buf_free(&labels);
}

static void observe_drop_connector(struct ctl_side *facts, const char *name)
{
    for (size_t i = 0; i < facts->connector_count; i++) {
        if (!dv_streq(facts->connectors[i]->name, name))
            continue;
        fact_connector_free(facts->connectors[i]);
        facts->connectors[i] = facts->connectors[--facts->connector_count];
        return;
    }
}

static void observe_connector(struct entry *entry, enum model_side side, const struct port_kube_event *event)
{
    struct ctl_side *facts = &entry->side[side];
    observe_drop_connector(facts, event->name);
    if (event->kind != PORT_KUBE_ITEM)
        return;
    struct fact_connector *fact = distributor_connector(event->json);
    if (!dv_streq(fact->cluster, entry->spec->cluster[side].distributor.connect)) {
        fact_connector_free(fact);
        return;
    }
    facts->connectors = dv_reallocarray(facts->connectors, facts->connector_count + 1, sizeof(struct fact_connector *));
    facts->connectors[facts->connector_count++] = fact;
}

static void observe_drop_pod(struct ctl_side *facts, const char *name)
{
    for (size_t i = 0; i < facts->pod_count; i++) {
        if (!dv_streq(facts->pods[i]->name, name))
            continue;
        fact_pod_free(facts->pods[i]);
        facts->pods[i] = facts->pods[--facts->pod_count];
        return;
    }
}

static void observe_pod(struct entry *entry, enum model_side side, const struct port_kube_event *event)
{
    struct ctl_side *facts = &entry->side[side];
    observe_drop_pod(facts, event->name);
    if (event->kind != PORT_KUBE_ITEM)
        return;
    struct fact_pod *fact = distributor_pod(event->json);
    if (!fact->is_connect || !dv_streq(fact->connect, entry->spec->cluster[side].distributor.connect)) {
        fact_pod_free(fact);
        return;
    }
    facts->pods = dv_reallocarray(facts->pods, facts->pod_count + 1, sizeof(struct fact_pod *));
    facts->pods[facts->pod_count++] = fact;
}

static void observe_job(struct entry *entry, enum model_side side, const struct port_kube_event *event)
{
    struct ctl_side *facts = &entry->side[side];
    for (size_t i = 0; i < facts->job_count; i++) {
        if (!dv_streq(facts->jobs[i]->name, event->name))
            continue;
        fact_job_free(facts->jobs[i]);
        facts->jobs[i] = facts->jobs[--facts->job_count];
        break;
    }
    if (event->kind != PORT_KUBE_ITEM)
        return;
    struct fact_job *fact = distributor_job(event->json, entry->spec->cluster[side].distributor.init_job_selector);
    if (!fact->matches) {
        fact_job_free(fact);
        return;
    }
    facts->jobs = dv_reallocarray(facts->jobs, facts->job_count + 1, sizeof(struct fact_job *));
    facts->jobs[facts->job_count++] = fact;
}

static void observe_connect(struct entry *entry, enum model_side side, const struct port_kube_event *event)
{
    struct ctl_side *facts = &entry->side[side];
    if (!dv_streq(event->name, entry->spec->cluster[side].distributor.connect))
        return;
    fact_connect_free(facts->connect);
    facts->connect = event->kind == PORT_KUBE_ITEM ? distributor_connect(event->json) : NULL;
}

static void observe_values(struct entry *entry, enum model_side side, const struct port_kube_event *event)
{
    if (event->kind == PORT_KUBE_ITEM)
        target_item(entry, side, event->json);
    else
        target_gone(entry, side);
}

static void observe_object(struct ticket *ticket, const struct port_kube_event *event)
{
    struct entry *entry = ticket->entry;
    switch (ticket->fact) {
    case VF_VALUES: observe_values(entry, ticket->side, event); break;
    case VF_CONNECT: observe_connect(entry, ticket->side, event); break;
    case VF_CONNECTORS: observe_connector(entry, ticket->side, event); break;
    case VF_PODS: observe_pod(entry, ticket->side, event); break;
    case VF_JOBS: observe_job(entry, ticket->side, event); break;
    case VF_CLUSTER_ID:
    case VF_TEST_TOPIC:
    case VF_TS_TOPIC:
    case VF_TEST_LOG:
    case VF_TS_LOG:
    case VF_READ_RIGHT:
    case VF_TS_READ_RIGHT:
    case VF_ACLS:
    case VF_GROUPS:
    case VF_MD_COMMITS:
    case VF_TEST_COMMITS:
    case VF_GROUP_LAG:
    case VF_DISTANCE:
    case VF_ACCESS:
    case VF_LOGS:
    case VF_COUNT: break;
    }
}

/* ---------------------------------------------------------------- own rights */

static const struct {
    const char *verb, *group, *resource, *subresource;
    bool values;
    bool jobs; /* only where the spec has a selector of init jobs */
} observe_rights[] = {
    {"list", STRIMZI, "kafkaconnects", NULL, false, false},
    {"watch", STRIMZI, "kafkaconnects", NULL, false, false},
    {"list", STRIMZI, "kafkaconnectors", NULL, false, false},
    {"watch", STRIMZI, "kafkaconnectors", NULL, false, false},
    {"list", "", "pods", NULL, false, false},
    {"watch", "", "pods", NULL, false, false},
    {"get", "", "pods", "log", false, false},
    {"list", "batch", "jobs", NULL, false, true},
    {"watch", "batch", "jobs", NULL, false, true},
    {"get", "", NULL, NULL, true, false},
    {"watch", "", NULL, NULL, true, false},
    {"patch", "", NULL, NULL, true, false},
};
#define RIGHTS (sizeof observe_rights / sizeof observe_rights[0])

void observe_access(struct entry *entry, enum model_side side)
{
    struct controller *ctl = entry->ctl;
    struct ctl_side *facts = &entry->side[side];
    if (facts->access_open > 0)
        return;
    struct port_resource target = target_resource(entry, side);
    facts->access_missing[0] = '\0';
    facts->access_refused = 0;
    for (size_t i = 0; i < RIGHTS; i++) {
        if (observe_rights[i].jobs && entry->spec->cluster[side].distributor.init_job_selector == NULL)
            continue;
        json_t *attributes =
            json_pack("{s:s, s:s, s:s, s:s}", "namespace", entry->spec->cluster[side].ns, "verb", observe_rights[i].verb, "group",
                      observe_rights[i].group, "resource", observe_rights[i].values ? target.plural : observe_rights[i].resource);
        if (observe_rights[i].subresource != NULL)
            json_object_set_new(attributes, "subresource", json_string(observe_rights[i].subresource));
        if (observe_rights[i].values)
            json_object_set_new(attributes, "name", json_string(target.name));
        json_t *body = json_pack("{s:s, s:s, s:{s:o}}", "apiVersion", "authorization.k8s.io/v1", "kind", "SelfSubjectAccessReview", "spec",
                                 "resourceAttributes", attributes);
        struct ticket *ticket = ticket_new(ctl, TICKET_ACCESS, entry, side);
        ticket->index = (int)i;
        facts->access_open++;
        struct port_call call = {
            .server = entry_server(entry, side),
            .verb = PORT_CREATE,
            .resource = {.group = "authorization.k8s.io", .version = "v1", .plural = "selfsubjectaccessreviews"},
            .body = body,
        };
        ctl->kube.call(ctl->kube.impl, ticket->id, &call);
        json_decref(body);
    }
}

/* "list pods, patch configmaps dc1-values", in the order of the table; one that would be cut is left out and counted. */
static void observe_access_say(struct ctl_side *facts, struct port_resource target)
{
    size_t used = 0;
    size_t more = 0;
    for (size_t i = 0; i < RIGHTS; i++) {
        if ((facts->access_refused & (1u << i)) == 0)
            continue;
        bool values = observe_rights[i].values;
        const char *sub = observe_rights[i].subresource;
        char *right = dv_asprintf("%s%s %s%s%s%s%s", used > 0 ? ", " : "", observe_rights[i].verb,
                                  values ? target.plural : observe_rights[i].resource, sub != NULL ? "/" : "", sub != NULL ? sub : "",
                                  values ? " " : "", values ? target.name : "");
        if (more > 0 || used + strlen(right) + sizeof " and 99 more" > sizeof facts->access_missing) {
            more++;
        } else {
            (void)dv_strlcpy(facts->access_missing + used, right, sizeof facts->access_missing - used);
            used += strlen(right);
        }
        free(right);
    }
    if (more > 0)
        (void)dv_format(facts->access_missing + used, sizeof facts->access_missing - used, " and %zu more", more);
}

static void observe_access_answer(struct ticket *ticket, const struct port_kube_event *event)
{
    struct entry *entry = ticket->entry;
    struct ctl_side *facts = &entry->side[ticket->side];
    enum model_side side = ticket->side;
    size_t i = (size_t)ticket->index;
    int64_t asked = ticket->asked_ms;
    bool allowed = json_is_true(json_object_get(json_object_get(event->json, "status"), "allowed"));
    ticket_drop(entry->ctl, ticket);
    facts->access_open--;
    if (event->err.kind != DV_ERR_NONE)
        observe_failed(facts, VF_ACCESS, ctl_now(entry->ctl).mono_ms, &event->err);
    else if (!allowed)
        facts->access_refused |= 1u << i;
    if (facts->access_open == 0) {
        if (entry->spec != NULL)
            observe_access_say(facts, target_resource(entry, side));
        facts->asked[VF_ACCESS] = false;
        if (facts->stamp[VF_ACCESS].failed_ms < asked)
            observe_known(facts, VF_ACCESS, asked);
    }
}

/* ---------------------------------------------------------------- readers */

static void observe_stop_reader(struct entry *entry, struct ctl_reader *reader)
{
    struct controller *ctl = entry->ctl;
    if (reader->id != 0) {
        ctl->kafka.read_stop(ctl->kafka.impl, reader->id);
        ticket_drop(ctl, ticket_find(ctl, reader->id));
    }
    free(reader->next);
    free(reader->high);
    free(reader->stable);
    free(reader->from);
    *reader = (struct ctl_reader){0};
}

static void observe_probe_reader(struct entry *entry, enum model_side side, const struct verify_observe *observe)
{
    struct controller *ctl = entry->ctl;
    struct ctl_side *facts = &entry->side[side];
    const struct model_run *run = &entry->status.run;
    bool wanted = observe->readers && facts->client != 0 && run->partitions > 0;
    if (facts->reader.id != 0 && (!wanted || facts->reader.generation != observe->probes_generation))
        observe_stop_reader(entry, &facts->reader);
    if (!wanted || facts->reader.id != 0)
        return;
    struct ticket *ticket = ticket_new(ctl, TICKET_READER, entry, side);
    facts->reader.id = ticket->id;
    facts->reader.generation = observe->probes_generation;
    facts->reader.partitions = run->partitions;
    char prefix[64];
    struct port_reader reader = {.topic = entry->spec->cluster[side].topic,
                                 .from = run->start_offsets[side],
                                 .partitions = run->partitions,
                                 .header = PROBE_HEADER_RUN,
                                 .header_value = run->id,
                                 .key_prefix = dv_format(prefix, sizeof prefix, PROBE_KEY_PREFIX, run->id)};
    ctl->kafka.read(ctl->kafka.impl, facts->client, ticket->id, &reader);
}

/* Positioned at the log end as it is when the reader is wanted: only what is written from then on counts. */
static void observe_ts_reader(struct entry *entry, enum model_side side, bool wanted)
{
    struct controller *ctl = entry->ctl;
    struct ctl_side *facts = &entry->side[side];
    if (!wanted) {
        observe_stop_reader(entry, &facts->ts_reader);
        facts->ts_asked_ms = 0;
        return;
    }
    if (facts->ts_reader.id != 0 || facts->client == 0)
        return;
    if (facts->ts_asked_ms == 0)
        facts->ts_asked_ms = ctl_now(ctl).mono_ms;
    if (facts->ts_log == NULL || facts->stamp[VF_TS_LOG].as_of_ms < facts->ts_asked_ms)
        return; /* ask_all() asks for it */
    struct ticket *ticket = ticket_new(ctl, TICKET_TS_READER, entry, side);
    facts->ts_reader.id = ticket->id;
    facts->ts_reader.partitions = facts->ts_log->partitions;
    facts->ts_seen = 0;
    facts->ts_last_ms = 0;
    struct port_reader reader = {.topic = entry->spec->cluster[side].timestamps_topic,
                                 .from = facts->ts_log->high,
                                 .partitions = facts->ts_log->partitions,
                                 .needle = {entry->spec->cluster[model_far(side)].group, entry->spec->cluster[model_far(side)].topic}};
    ctl->kafka.read(ctl->kafka.impl, facts->client, ticket->id, &reader);
}

/* ---------------------------------------------------------------- converge */

/* What was asked of a client that is closed gets no answer any more. */
static void observe_drop_questions(struct entry *entry, enum model_side side)
{
    struct ticket *ticket = NULL;
    struct ticket *next = NULL;
    HASH_ITER (hh, entry->ctl->tickets, ticket, next) {
        bool effect = ticket->kind == TICKET_PRODUCE || ticket->kind == TICKET_COMMIT;
        if (ticket->entry != entry || ticket->side != side || (ticket->kind != TICKET_ASK && !effect))
            continue;
        ticket_drop(entry->ctl, ticket);
        if (effect)
            act_lost(entry);
    }
}

static void observe_client(struct entry *entry, enum model_side side, bool wanted)
{
    struct controller *ctl = entry->ctl;
    struct ctl_side *facts = &entry->side[side];
    if (wanted == (facts->client != 0))
        return;
    if (wanted) {
        facts->client = ticket_new(ctl, TICKET_CLIENT, entry, side)->id;
        ctl->kafka.open(ctl->kafka.impl, facts->client, &entry->spec->cluster[side].kafka, entry->ns, entry->spec->cluster[side].name);
        return;
    }
    ctl->kafka.close(ctl->kafka.impl, facts->client);
    ticket_drop(ctl, ticket_find(ctl, facts->client));
    facts->client = 0;
    observe_drop_questions(entry, side);
    memset(facts->asked, 0, sizeof facts->asked);
    for (int fact = 0; fact < VF_ASKED_COUNT; fact++)
        facts->stamp[fact] = (struct verify_stamp){0};
}

void observe_converge(struct entry *entry, const struct verify_observe *observe)
{
    for (int s = 0; s < MODEL_SIDES; s++) {
        enum model_side side = (enum model_side)s;
        struct ctl_side *facts = &entry->side[side];
        if (observe->watches)
            observe_start_watches(entry, side);
        observe_client(entry, side, observe->clients);
        observe_job_watch(entry, side, observe->clients);
        logs_converge(entry, side, observe->clients, observe->logs_since_ms);
        bool again = facts->reader.id != 0 && observe->readers && facts->reader.generation != observe->probes_generation;
        if (again && side == MODEL_A)
            probes_forget_copies(&entry->probes);
        observe_probe_reader(entry, side, observe);
        observe_ts_reader(entry, side, observe->ts_reader[side]);
    }
    if (!observe->watches)
        observe_stop(entry);
}

/* An access review that is answered later is about the rights that another spec needed. */
static void observe_drop_reviews(struct entry *entry)
{
    struct ticket *ticket = NULL;
    struct ticket *next = NULL;
    HASH_ITER (hh, entry->ctl->tickets, ticket, next)
        if (ticket->entry == entry && ticket->kind == TICKET_ACCESS)
            ticket_drop(entry->ctl, ticket);
}

void observe_stop(struct entry *entry)
{
    struct verify_observe off = {.watches = true};
    if (entry->spec == NULL)
        return;
    bool open = entry->side[MODEL_A].watch_values != 0 || entry->side[MODEL_A].client != 0;
    if (!open)
        return;
    observe_converge(entry, &off);
    observe_drop_reviews(entry);
    for (int side = 0; side < MODEL_SIDES; side++) {
        struct ctl_side *facts = &entry->side[side];
        observe_stop_watch(entry, &facts->watch_values);
        observe_stop_watch(entry, &facts->watch_connect);
        observe_stop_watch(entry, &facts->watch_connectors);
        observe_stop_watch(entry, &facts->watch_pods);
        side_free_facts(facts);
    }
}

void observe_kube(struct ticket *ticket, const struct port_kube_event *event)
{
    struct ctl_side *facts = &ticket->entry->side[ticket->side];
    int64_t now = ctl_now(ticket->entry->ctl).mono_ms;
    if (ticket->kind == TICKET_LOG) {
        logs_event(ticket, event);
        return;
    }
    switch (event->kind) {
    case PORT_KUBE_ITEM:
    case PORT_KUBE_GONE:
        observe_object(ticket, event);
        if (facts->stamp[ticket->fact].as_of_ms != 0)
            observe_known(facts, ticket->fact, now);
        break;
    case PORT_KUBE_SYNCED:
        if (ticket->fact == VF_VALUES && !facts->values_known)
            facts->values_known = true; /* the list was empty: it is not there */
        observe_known(facts, ticket->fact, now);
        break;
    case PORT_KUBE_TROUBLE: observe_failed(facts, ticket->fact, now, &event->err); break;
    case PORT_KUBE_ANSWER: observe_access_answer(ticket, event); break;
    case PORT_KUBE_LINES:
    case PORT_KUBE_LOG_END: break;
    }
}

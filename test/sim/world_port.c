/* The Kafka port: clients, questions, produce, commit. A cluster out of reach answers as librdkafka would: after some patience. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "verify/probes.h"

#define PORT_ASK_PATIENCE_MS 5000
#define PORT_PRODUCE_PATIENCE_MS 15000

/* ---------------------------------------------------------------- clients */

int world_client_cluster(struct world *world, port_id client)
{
    for (size_t i = 0; i < world->client_count; i++)
        if (world->clients[i].id == client && world->clients[i].epoch == world->epoch)
            return world->clients[i].cluster;
    return -1;
}

static void port_open(void *impl, port_id client, const struct model_kafka *kafka, const char *ns, const char *cluster)
{
    struct world *world = impl;
    (void)ns;
    (void)cluster;
    if (world->dead)
        return;
    if (world->client_count == sizeof world->clients / sizeof world->clients[0]) {
        world_break(world, "clients are opened and not closed");
        return;
    }
    world->clients[world->client_count].id = client;
    world->clients[world->client_count].epoch = world->epoch;
    world->clients[world->client_count++].cluster = dv_starts_with(kafka->bootstrap, "dc2") ? 1 : 0;
}

static void port_close(void *impl, port_id client)
{
    struct world *world = impl;
    for (size_t i = 0; i < world->client_count && !world->dead; i++) {
        if (world->clients[i].id != client || world->clients[i].epoch != world->epoch)
            continue;
        world->clients[i] = world->clients[--world->client_count];
        return;
    }
}

/* ---------------------------------------------------------------- requests */

struct port_request {
    port_id id, client;
    uint64_t epoch;
    int cluster;
    int64_t asked_ms;
    struct port_kafka_event event; /* the answer */
    /* the question; owned */
    struct port_question question;
    char **groups;
    char *topic, *group;
    /* produce, commit; owned */
    struct fact_record *records;
    struct dv_err *errs;
    size_t count;
    int64_t *offsets;
    int32_t partitions;
    /* what the answer holds; owned */
    struct fact_topic fact;
    struct fact_offsets *found;
    struct fact_group_lag lag;
    struct fact_group *described;
};

static struct port_request *port_request_new(struct world *world, port_id client, port_id id, const char *topic, const char *group)
{
    struct port_request *request = dv_alloc(sizeof *request);
    request->id = id;
    request->client = client;
    request->epoch = world->epoch;
    request->cluster = world_client_cluster(world, client);
    request->asked_ms = world->now;
    request->topic = dv_strdup(topic);
    request->group = dv_strdup(group);
    request->event.id = id;
    if (request->cluster < 0)
        world_break(world, "a request on a client that is not open");
    return request;
}

static void port_request_free(void *arg)
{
    struct port_request *request = arg;
    for (size_t i = 0; i < request->question.group_count; i++)
        free(request->groups[i]);
    for (size_t i = 0; i < request->count; i++)
        fact_record_clear(&request->records[i]);
    free(request->groups);
    free(request->records);
    free(request->errs);
    free(request->offsets);
    free(request->topic);
    free(request->group);
    fact_offsets_free(request->found);
    fact_groups_free(request->described, request->described != NULL ? request->question.group_count : 0);
    free(request);
}

static bool port_listening(struct world *world, const struct port_request *request)
{
    return request->epoch == world->epoch && world->controller != NULL && !world->dead && world_client_cluster(world, request->client) >= 0;
}

static void port_answer(struct world *world, void *arg)
{
    struct port_request *request = arg;
    if (port_listening(world, request))
        controller_on_kafka(world->controller, &request->event);
    port_request_free(request);
}

static void port_fail(struct port_request *request, enum dv_err_kind kind, const char *what)
{
    (void)dv_err_set(&request->event.err, kind, "Kafka cluster dc%d: %s", request->cluster + 1, what);
}

/* True when the request cannot be served now; it is tried again, or it failed and its answer is due. */
static bool port_held_up(struct world *world, struct port_request *request, world_fn *again, int64_t patience, world_fn *answer)
{
    static const char *const texts[] = {[DV_ERR_AUTH] = "authentication failed",
                                        [DV_ERR_CERT] = "certificate verify failed",
                                        [DV_ERR_SECRET] = "Secret distverify does not exist",
                                        [DV_ERR_DENIED] = "not authorized"};
    const struct world_kafka *kafka = &world->kafka[request->cluster];
    if (kafka->refuse != DV_ERR_NONE) {
        port_fail(request, kafka->refuse, texts[kafka->refuse]);
        world_after(world, world_between(world, 5, 60), answer, port_request_free, request);
        return true;
    }
    if (!kafka->down)
        return false;
    if (world->now - request->asked_ms < patience) {
        world_after(world, 250, again, port_request_free, request);
        return true;
    }
    port_fail(request, DV_ERR_UNREACHABLE, "no broker is reachable");
    world_after(world, 1, answer, port_request_free, request);
    return true;
}

/* ---------------------------------------------------------------- questions */

static struct fact_offsets *port_offsets(int32_t partitions, bool log)
{
    struct fact_offsets *offsets = dv_alloc(sizeof *offsets);
    offsets->partitions = partitions;
    offsets->high = dv_calloc((size_t)partitions, sizeof(int64_t));
    offsets->low = log ? dv_calloc((size_t)partitions, sizeof(int64_t)) : NULL;
    offsets->stable = log ? dv_calloc((size_t)partitions, sizeof(int64_t)) : NULL;
    return offsets;
}

static void port_look_log(struct port_request *request, const struct world_topic *topic)
{
    request->found = port_offsets(topic->fact.partitions, true);
    for (int32_t p = 0; p < topic->fact.partitions; p++) {
        request->found->high[p] = topic->part[p].end;
        request->found->stable[p] = world_stable(&topic->part[p]);
    }
    request->event.offsets = request->found;
}

static void port_look_commits(const struct world_kafka *kafka, struct port_request *request, const struct world_topic *topic)
{
    request->found = port_offsets(topic->fact.partitions, false);
    for (int32_t p = 0; p < topic->fact.partitions; p++)
        request->found->high[p] = world_committed(kafka, request->group, topic->name, p);
    request->event.offsets = request->found;
}

static void port_look_distance(struct port_request *request, const struct world_topic *topic)
{
    const struct port_question *question = &request->question;
    const struct world_partition *part = &topic->part[question->partition];
    int64_t from = question->from > 0 ? question->from : 0;
    for (int64_t i = from; i < question->to && i < part->end && (question->limit == 0 || request->event.number < question->limit); i++)
        if (!part->records[i].control && part->records[i].fact.timestamp_ms < question->before_ms)
            request->event.number++;
}

static void port_look_groups(struct world *world, struct port_request *request)
{
    request->described = dv_calloc(request->question.group_count, sizeof *request->described);
    for (size_t i = 0; i < request->question.group_count; i++)
        request->described[i] = world_describe(world, request->cluster, request->groups[i]);
    request->event.groups = request->described;
    request->event.group_count = request->question.group_count;
}

static void port_look_lag(struct world_kafka *kafka, struct port_request *request)
{
    for (size_t i = 0; i < kafka->commit_count; i++) {
        const struct world_commit *commit = &kafka->commits[i];
        const struct world_topic *topic = world_topic(kafka, commit->topic);
        if (!dv_streq(commit->group, request->group) || commit->offset < 0)
            continue;
        if (topic == NULL || commit->partition >= topic->fact.partitions) {
            request->lag.unseen++;
            continue;
        }
        request->lag.partitions++;
        request->lag.records += topic->part[commit->partition].end - commit->offset;
    }
    request->event.lag = &request->lag;
}

static void port_look_topic(struct world *world, struct port_request *request)
{
    struct world_kafka *kafka = &world->kafka[request->cluster];
    const struct world_topic *topic = world_topic(kafka, request->topic);
    if (request->question.ask == PORT_ASK_TOPIC) {
        if (topic != NULL)
            request->fact = topic->fact;
        request->event.topic = &request->fact;
        return;
    }
    if (topic == NULL) {
        port_fail(request, DV_ERR_NOT_FOUND, "topic does not exist");
        return;
    }
    switch (request->question.ask) {
    case PORT_ASK_LOG: port_look_log(request, topic); break;
    case PORT_ASK_COMMITS: port_look_commits(kafka, request, topic); break;
    case PORT_ASK_DISTANCE: port_look_distance(request, topic); break;
    case PORT_ASK_READ_RIGHT:
    case PORT_ASK_CLUSTER:
    case PORT_ASK_TOPIC:
    case PORT_ASK_ACLS:
    case PORT_ASK_GROUPS:
    case PORT_ASK_GROUP_LAG: break;
    }
}

static void port_ask_arrive(struct world *world, void *arg)
{
    struct port_request *request = arg;
    struct world_kafka *kafka = &world->kafka[request->cluster];
    if (port_held_up(world, request, port_ask_arrive, PORT_ASK_PATIENCE_MS, port_answer))
        return;
    if (kafka->refuse_ask == (int64_t)request->question.ask)
        port_fail(request, DV_ERR_DENIED, "not authorized");
    else if (request->question.ask == PORT_ASK_CLUSTER)
        request->event.text = kafka->id;
    else if (request->question.ask == PORT_ASK_ACLS) {
        /* The list may grow before the answer arrives, which is then only newer. */
        request->event.acls = kafka->acls;
        request->event.acl_count = kafka->acl_count;
        port_answer(world, request);
        return;
    } else if (request->question.ask == PORT_ASK_GROUPS)
        port_look_groups(world, request);
    else if (request->question.ask == PORT_ASK_GROUP_LAG)
        port_look_lag(kafka, request);
    else
        port_look_topic(world, request);
    world_after(world, world_between(world, 1, 12), port_answer, port_request_free, request);
}

static void port_ask(void *impl, port_id client, port_id id, const struct port_question *question)
{
    struct world *world = impl;
    if (world->dead)
        return;
    world->counts.asks++;
    struct port_request *request = port_request_new(world, client, id, question->topic, question->group);
    request->question = *question;
    request->event.kind = PORT_KAFKA_ANSWER;
    request->event.ask = question->ask;
    request->groups = dv_calloc(question->group_count, sizeof(char *));
    for (size_t i = 0; i < question->group_count; i++)
        request->groups[i] = dv_strdup(question->groups[i]);
    world_after(world, world_between(world, 1, 12), port_ask_arrive, port_request_free, request);
}

/* ---------------------------------------------------------------- produce */

static void port_produced(struct world *world, void *arg)
{
    struct port_request *request = arg;
    struct dv_err whole = request->event.err;
    for (size_t i = 0; i < request->count && port_listening(world, request); i++) {
        request->event.record = &request->records[i];
        request->event.index = i;
        request->event.err = whole.kind != DV_ERR_NONE ? whole : request->errs[i];
        controller_on_kafka(world->controller, &request->event);
    }
    port_request_free(request);
}

static void port_count(json_t *counts, const char *key)
{
    json_object_set_new(counts, key, json_integer(json_integer_value(json_object_get(counts, key)) + 1));
}

static void port_remember(struct world *world, const struct fact_record *record)
{
    char key[96];
    const struct fact_header *run = world_header(record, PROBE_HEADER_RUN);
    const struct fact_header *id = world_header(record, PROBE_HEADER_ID);
    if (run == NULL || id == NULL) {
        world_break(world, "a record without the ids of a probe was produced");
        return;
    }
    if (world_header(record, PROBE_COPY_FLAGS) != NULL)
        world_break(world, "a probe was born with copy flags");
    (void)dv_format(key, sizeof key, "%.*s/%.*s", (int)run->len, (const char *)run->value, (int)id->len, (const char *)id->value);
    port_count(world->produced, key);
    if (json_integer_value(json_object_get(world->produced, key)) > 1)
        world_break(world, "probe %s was produced twice", key);
}

static void port_produce_arrive(struct world *world, void *arg)
{
    struct port_request *request = arg;
    struct world_kafka *kafka = &world->kafka[request->cluster];
    if (port_held_up(world, request, port_produce_arrive, PORT_PRODUCE_PATIENCE_MS, port_produced))
        return;
    struct world_topic *topic = world_topic(kafka, request->topic);
    bool lost = kafka->lose_produce > 0;
    kafka->lose_produce -= lost;
    for (size_t i = 0; i < request->count; i++) {
        port_remember(world, &request->records[i]);
        if (topic == NULL || request->records[i].partition >= topic->fact.partitions)
            (void)dv_err_set(&request->errs[i], DV_ERR_NOT_FOUND, "topic or partition does not exist");
        else
            request->records[i].offset = world_append(world, request->cluster, topic, &request->records[i], false);
        if (lost)
            (void)dv_err_set(&request->errs[i], DV_ERR_TIMEOUT, "no answer in time: it may be written");
    }
    world_after(world, lost ? PORT_PRODUCE_PATIENCE_MS : world_between(world, 1, 12), port_produced, port_request_free, request);
}

static void port_produce(void *impl, port_id client, port_id id, const char *topic, const struct fact_record *records, size_t count)
{
    struct world *world = impl;
    if (world->dead)
        return;
    world->counts.produces++;
    struct port_request *request = port_request_new(world, client, id, topic, NULL);
    request->event.kind = PORT_KAFKA_PRODUCED;
    request->records = dv_calloc(count, sizeof *request->records);
    request->errs = dv_calloc(count, sizeof *request->errs);
    request->count = count;
    for (size_t i = 0; i < count; i++)
        world_record_copy(&request->records[i], &records[i]);
    world_after(world, world_between(world, 1, 12), port_produce_arrive, port_request_free, request);
}

/* ---------------------------------------------------------------- commit */

static void port_commit_one(struct world *world, struct port_request *request, int32_t partition)
{
    char key[96];
    if (request->offsets[partition] < 0)
        return;
    (void)dv_format(key, sizeof key, "dc%d/%d/%lld", request->cluster + 1, partition, (long long)request->offsets[partition]);
    port_count(world->committed, key);
    if (json_integer_value(json_object_get(world->committed, key)) > 1)
        world_break(world, "offset %s of the test group was set twice", key);
    world_commit(world, request->cluster, request->group, request->topic, partition, request->offsets[partition]);
}

static void port_commit_arrive(struct world *world, void *arg)
{
    struct port_request *request = arg;
    struct world_kafka *kafka = &world->kafka[request->cluster];
    if (port_held_up(world, request, port_commit_arrive, PORT_ASK_PATIENCE_MS, port_answer))
        return;
    if (!dv_streq(request->group, WORLD_GROUP) || !dv_streq(request->topic, WORLD_TOPIC))
        world_break(world, "group %s on topic %s was touched", request->group, request->topic);
    if (kafka->group_members > 0) {
        port_fail(request, DV_ERR_CONFLICT, "the group has members");
    } else {
        for (int32_t p = 0; p < request->partitions; p++)
            port_commit_one(world, request, p);
        if (kafka->lose_commit > 0) {
            kafka->lose_commit--;
            port_fail(request, DV_ERR_TIMEOUT, "no answer in time: it may have happened");
        }
    }
    world_after(world, world_between(world, 1, 12), port_answer, port_request_free, request);
}

static void port_commit(void *impl, port_id client, port_id id, const char *group, const char *topic, const int64_t *offsets,
                        int32_t partitions)
{
    struct world *world = impl;
    if (world->dead)
        return;
    world->counts.commits++;
    struct port_request *request = port_request_new(world, client, id, topic, group);
    request->event.kind = PORT_KAFKA_COMMITTED;
    request->partitions = partitions;
    request->offsets = dv_calloc((size_t)partitions, sizeof(int64_t));
    memcpy(request->offsets, offsets, (size_t)partitions * sizeof(int64_t));
    world_after(world, world_between(world, 1, 12), port_commit_arrive, port_request_free, request);
}

static void port_read(void *impl, port_id client, port_id id, const struct port_reader *reader)
{
    struct world *world = impl;
    if (!world->dead)
        world_reader_start(world, world_client_cluster(world, client), id, reader);
}

static void port_read_stop(void *impl, port_id id)
{
    struct world *world = impl;
    if (!world->dead)
        world_reader_stop(world, id);
}

struct port_kafka world_kafka_port(struct world *world)
{
    return (struct port_kafka){.impl = world,
                               .open = port_open,
                               .close = port_close,
                               .ask = port_ask,
                               .produce = port_produce,
                               .commit = port_commit,
                               .read = port_read,
                               .read_stop = port_read_stop};
}

/* Kafka Connect of one side: its three sinks with their groups, the Message Distributor's copying, commits at the flush interval. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "verify/probes.h"

#define CONNECT_BATCH 40
#define CONNECT_LOOP_HOP_MS 200
#define CONNECT_LOOP_COPIES 1000

struct connect_turn {
    struct world_connector *connector;
    uint64_t life;
};

static void connect_after(struct world_connector *connector, int64_t delay_ms, world_fn *fn)
{
    struct connect_turn *turn = dv_alloc(sizeof *turn);
    *turn = (struct connect_turn){connector, connector->life};
    world_after(connector->dist->world, delay_ms, fn, free, turn);
}

static struct world_connector *connect_taken(void *arg)
{
    struct connect_turn *turn = arg;
    struct world_connector *connector = turn->life == turn->connector->life ? turn->connector : NULL;
    free(turn);
    return connector;
}

static struct world_kafka *connect_local(const struct world_connector *connector)
{
    return &connector->dist->world->kafka[connector->dist->side];
}

static struct world_kafka *connect_remote(const struct world_connector *connector)
{
    return &connector->dist->world->kafka[1 - connector->dist->side];
}

const char *world_group(const struct world_connector *connector)
{
    bool own = connector->kind == MODEL_MD && connector->dist->manners.own_group;
    return own ? "connect-of-our-own" : connector->group;
}

/* ---------------------------------------------------------------- rights */

static bool connect_may(const struct world_kafka *kafka, int side, enum fact_acl_resource resource, const char *name,
                        enum fact_acl_operation operation)
{
    bool allowed = false;
    for (size_t i = 0; i < kafka->acl_count; i++) {
        const struct fact_acl *acl = &kafka->acls[i];
        bool named =
            acl->match == FACT_ACL_PREFIXED ? dv_starts_with(name, acl->name) : dv_streq(name, acl->name) || dv_streq(acl->name, "*");
        if (acl->resource != resource || acl->operation != operation || !named || !dv_streq(acl->principal, world_principal(side)))
            continue;
        if (acl->deny)
            return false;
        allowed = true;
    }
    return allowed;
}

const char *world_connector_denied(struct world_connector *connector)
{
    static const char topic[] =
        "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask due to unrecoverable exception.\n"
        "\tat org.apache.kafka.connect.runtime.WorkerSinkTask.execute(WorkerSinkTask.java:201)\n"
        "Caused by: org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [%s]\n";
    static const char group[] = "org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group: connect\n";
    static const char test_topic[] =
        "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [distribution-test]\n";
    static const char ts_topic[] =
        "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [_distributor-timestamps]\n";
    int side = connector->dist->side;
    (void)topic;
    if (!connect_may(connect_local(connector), side, FACT_ACL_GROUP, world_group(connector), FACT_ACL_READ))
        return group;
    if (connector->kind == MODEL_MD && !connect_may(connect_local(connector), side, FACT_ACL_TOPIC, WORLD_TOPIC, FACT_ACL_READ))
        return test_topic;
    if (connector->kind == MODEL_MD && !connect_may(connect_remote(connector), side, FACT_ACL_TOPIC, WORLD_TOPIC, FACT_ACL_WRITE))
        return test_topic;
    if (connector->kind == MODEL_OD && !connect_may(connect_remote(connector), side, FACT_ACL_TOPIC, WORLD_TIMESTAMPS, FACT_ACL_WRITE))
        return ts_topic;
    if (connector->kind == MODEL_OC && !connect_may(connect_local(connector), side, FACT_ACL_TOPIC, WORLD_TIMESTAMPS, FACT_ACL_READ))
        return ts_topic;
    return NULL;
}

/* ---------------------------------------------------------------- life */

static const char *connect_topic(const struct world_connector *connector)
{
    static const char *const topics[MODEL_CONNECTORS] = {WORLD_TOPIC, "__consumer_offsets", WORLD_TIMESTAMPS};
    return topics[connector->kind];
}

static void connect_resume(struct world_connector *connector)
{
    for (int32_t p = 0; p < WORLD_PARTITIONS_MAX; p++) {
        int64_t offset = world_committed(connect_local(connector), world_group(connector), connect_topic(connector), p);
        connector->next[p] = connector->done[p] = offset > 0 ? offset : 0;
    }
    connector->history_next = connector->history_done;
}

void world_connector_fail(struct world_connector *connector, bool task, const char *trace)
{
    const char *cause = strstr(trace, "Caused by: ");
    connector->life++;
    connector->state = task ? WORLD_TASK_FAILED : WORLD_TASK_CONNECTOR_FAILED;
    connector->trace = trace;
    connector->pumping = connector->flushing = false;
    world_log_dated(connector->dist,
                    "ERROR [%s|task-0] WorkerSinkTask{id=%s-0} Task threw an uncaught and unrecoverable exception. Task "
                    "is being killed "
                    "and will not recover until manually restarted (org.apache.kafka.connect.runtime.WorkerTask)",
                    connector->name, connector->name);
    world_log(connector->dist, "%.*s", (int)strcspn(cause != NULL ? cause : trace, "\n"), cause != NULL ? cause : trace);
    world_strimzi_soon(connector->dist);
}

static void connect_fail_planned(struct world *world, void *arg)
{
    struct world_connector *connector = connect_taken(arg);
    (void)world;
    if (connector != NULL && connector->state == WORLD_TASK_RUNNING)
        world_connector_fail(connector, true,
                             "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask due to unrecoverable exception.\n"
                             "Caused by: java.lang.IllegalStateException: made to fail\n");
}

static void connect_pump_soon(struct world_connector *connector, int64_t delay_ms);

static void connect_running(struct world *world, void *arg)
{
    struct world_connector *connector = connect_taken(arg);
    if (connector == NULL || !connector->dist->pod_up)
        return;
    const char *denied = world_connector_denied(connector);
    if (denied != NULL) {
        world_connector_fail(connector, true, denied);
        return;
    }
    connector->state = WORLD_TASK_RUNNING;
    connector->leaving = false;
    connect_resume(connector);
    world_strimzi_soon(connector->dist);
    connect_pump_soon(connector, world_between(world, 5, 60));
    if (connector->kind == MODEL_MD && connector->dist->manners.md_fail_after > 0)
        connect_after(connector, connector->dist->manners.md_fail_after, connect_fail_planned);
}

void world_connector_start(struct world_connector *connector, int64_t delay_ms)
{
    connector->life++;
    connector->state = WORLD_TASK_STARTING;
    connector->pumping = connector->flushing = connector->dirty = false;
    connect_after(connector, delay_ms, connect_running);
}

static void connect_left(struct world *world, void *arg)
{
    struct world_connector *connector = connect_taken(arg);
    (void)world;
    if (connector != NULL)
        connector->leaving = false;
}

static void connect_commit(struct world_connector *connector);

void world_connector_stop(struct world_connector *connector, bool clean)
{
    struct world *world = connector->dist->world;
    bool was = connector->state == WORLD_TASK_RUNNING;
    if (was && clean)
        connect_commit(connector);
    connector->life++;
    connector->state = WORLD_TASK_NONE;
    connector->pumping = connector->flushing = connector->dirty = false;
    connector->leaving = was;
    world_pending_free(connector);
    if (was)
        connect_after(connector, clean ? world_between(world, 10, 150) : 6000, connect_left);
}

/* ---------------------------------------------------------------- commits */

static void connect_commit(struct world_connector *connector)
{
    struct world *world = connector->dist->world;
    struct world_kafka *local = connect_local(connector);
    connector->dirty = false;
    if (connector->kind == MODEL_OD) {
        world_commit(world, connector->dist->side, world_group(connector), "__consumer_offsets", 0, connector->history_done);
        return;
    }
    for (int32_t p = 0; p < WORLD_PARTITIONS_MAX; p++)
        if (connector->done[p] > 0 && connector->done[p] != world_committed(local, world_group(connector), connect_topic(connector), p))
            world_commit(world, connector->dist->side, world_group(connector), connect_topic(connector), p, connector->done[p]);
}

static void connect_flush(struct world *world, void *arg)
{
    struct world_connector *connector = connect_taken(arg);
    if (connector == NULL)
        return;
    connector->flushing = false;
    if (connect_local(connector)->down)
        connector->dirty = true;
    else if (connector->dirty)
        connect_commit(connector);
    (void)world;
    if (connector->dirty)
        world_connector_flush_soon(connector);
}

void world_connector_flush_soon(struct world_connector *connector)
{
    struct world *world = connector->dist->world;
    connector->dirty = true;
    if (connector->flushing)
        return;
    connector->flushing = true;
    connect_after(connector, world->flush - world->now % world->flush + world_between(world, 0, 20), connect_flush);
}

/* ---------------------------------------------------------------- Message Distributor */

static uint32_t connect_flags(const struct fact_record *record)
{
    const struct fact_header *header = world_header(record, PROBE_COPY_FLAGS);
    uint32_t flags = 0;
    for (size_t i = 0; header != NULL && i < header->len; i++)
        flags = flags << 8 | header->value[i];
    return flags;
}

static void connect_set_flags(struct fact_record *record, uint32_t flags)
{
    unsigned char bytes[4] = {(unsigned char)(flags >> 24), (unsigned char)(flags >> 16), (unsigned char)(flags >> 8),
                              (unsigned char)flags};
    world_header_set(record, PROBE_COPY_FLAGS, bytes, sizeof bytes);
}

static void connect_alter(struct fact_record *record, enum world_alter how)
{
    switch (how) {
    case WORLD_ALTER_NOTHING: break;
    case WORLD_ALTER_KEY:
        if (record->key != NULL)
            record->key[0] ^= 1;
        break;
    case WORLD_ALTER_VALUE: record->value[record->value_len - 1] = ' '; break;
    case WORLD_ALTER_HEADER: world_header_set(record, PROBE_HEADER_HASH, "0", 1); break;
    case WORLD_ALTER_HEADERS_GONE:
        for (size_t i = 0; i < record->header_count; i++)
            if (dv_starts_with(record->headers[i].name, "distverify-"))
                record->headers[i].name[0] = 'x';
        break;
    case WORLD_ALTER_TIMESTAMP: record->timestamp_ms += 1; break;
    case WORLD_ALTER_PARTITION: record->partition = (record->partition + 1) % WORLD_PARTITIONS; break;
    }
}

/* The rule of the copy flags: not forwarded with the bit of its own level or a lower one; the copy gets the bit. */
static bool connect_forwards(const struct world_connector *connector, uint32_t flags, uint32_t bit)
{
    const struct world_manners *manners = &connector->dist->manners;
    if (manners->md_ignore_flags)
        return connector->handled < CONNECT_LOOP_COPIES;
    return (flags & (bit | (bit - 1))) == 0;
}

static void connect_copy(struct world_connector *connector, const struct fact_record *record, struct world_topic *to)
{
    struct world *world = connector->dist->world;
    const struct world_manners *manners = &connector->dist->manners;
    uint32_t flags = connect_flags(record);
    uint32_t bit = 1u << (manners->md_level > 0 ? manners->md_level : 1);
    struct fact_record copy;
    if (!connect_forwards(connector, flags, bit))
        return;
    connector->handled++;
    if (manners->md_drop_every > 0 && connector->handled % manners->md_drop_every == 0)
        return;
    world_record_copy(&copy, record);
    connect_set_flags(&copy, flags | bit);
    connect_alter(&copy, (enum world_alter)manners->md_alter);
    for (int64_t i = 0; i <= manners->md_duplicate; i++)
        (void)world_append(world, 1 - connector->dist->side, to, &copy, false);
    fact_record_clear(&copy);
}

/* Returns the number of records taken; *looping when one of them was a copy already. */
static int connect_take(struct world_connector *connector, struct world_topic *from, struct world_topic *to, int32_t p, int most,
                        bool *looping)
{
    int taken = 0;
    while (taken < most && connector->next[p] < world_stable(&from->part[p])) {
        struct world_record *record = &from->part[p].records[connector->next[p]++];
        if (record->control)
            continue;
        *looping = *looping || (connector->dist->manners.md_ignore_flags && connect_flags(&record->fact) != 0);
        connect_copy(connector, &record->fact, to);
        connector->done[p] = connector->next[p];
        taken++;
    }
    return taken;
}

static void connect_distribute(struct world_connector *connector)
{
    struct world *world = connector->dist->world;
    const struct world_manners *manners = &connector->dist->manners;
    struct world_topic *from = world_topic(connect_local(connector), WORLD_TOPIC);
    struct world_topic *to = world_topic(connect_remote(connector), WORLD_TOPIC);
    bool looping = false;
    int taken = 0;
    int most = manners->md_delay > 0 ? 1 : CONNECT_BATCH;
    for (int32_t p = 0; from != NULL && to != NULL && p < from->fact.partitions && taken < most; p++)
        if (p != manners->md_skip_partition)
            taken += connect_take(connector, from, to, p, most - taken, &looping);
    if (taken == 0)
        return;
    world_connector_flush_soon(connector);
    int64_t pause = manners->md_delay > 0 ? manners->md_delay : looping ? CONNECT_LOOP_HOP_MS : world_between(world, 2, 30);
    connect_pump_soon(connector, pause);
}

/* ---------------------------------------------------------------- the pump */

static void connect_pump(struct world *world, void *arg)
{
    struct world_connector *connector = connect_taken(arg);
    if (connector == NULL)
        return;
    connector->pumping = false;
    if (connector->state != WORLD_TASK_RUNNING)
        return;
    if (connect_local(connector)->down || connect_remote(connector)->down) {
        connect_pump_soon(connector, world_between(world, 300, 700));
        return;
    }
    switch (connector->kind) {
    case MODEL_MD:
        if (!connector->dist->manners.md_stall)
            connect_distribute(connector);
        break;
    case MODEL_OD: world_offsets_pump(connector); break;
    case MODEL_OC: world_committer_pump(connector); break;
    }
}

static void connect_pump_soon(struct world_connector *connector, int64_t delay_ms)
{
    if (connector->pumping || connector->state != WORLD_TASK_RUNNING)
        return;
    connector->pumping = true;
    connect_after(connector, delay_ms, connect_pump);
}

/* A MirrorMaker beside the Distributors: copies what was not copied by it, without copy flags. */
static void connect_replicate(struct world *world, void *arg)
{
    struct world_dist *dist = arg;
    struct world_topic *from = world_topic(&world->kafka[dist->side], WORLD_TOPIC);
    struct world_topic *to = world_topic(&world->kafka[1 - dist->side], WORLD_TOPIC);
    for (int32_t p = 0; from != NULL && to != NULL && p < from->fact.partitions; p++) {
        for (; dist->replicated[p] < from->part[p].end; dist->replicated[p]++) {
            const struct world_record *record = &from->part[p].records[dist->replicated[p]];
            struct fact_record copy;
            if (record->control || world_header(&record->fact, "mirrored") != NULL)
                continue;
            world_record_copy(&copy, &record->fact);
            world_header_set(&copy, "mirrored", "1", 1);
            (void)world_append(world, 1 - dist->side, to, &copy, false);
            fact_record_clear(&copy);
        }
    }
}

void world_connectors_wake(struct world *world, int cluster)
{
    if (world->dist[cluster].manners.replicate)
        world_after(world, world_between(world, 20, 200), connect_replicate, NULL, &world->dist[cluster]);
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        connect_pump_soon(&world->dist[cluster].connector[c], world_between(world, 2, 40));
}

/* ---------------------------------------------------------------- the pod */

static void connect_unheld(struct world *world, void *arg)
{
    struct world_connector *connector = connect_taken(arg);
    if (connector != NULL && connector->wanted)
        world_connector_start(connector, world_between(world, 100, 900));
}

static void connect_pod_up(struct world *world, void *arg)
{
    struct world_dist *dist = arg;
    (void)world;
    dist->pod_up = true;
    world_pod_put(dist);
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        if (dist->connector[c].wanted)
            connect_after(&dist->connector[c], dist->manners.hold_back, connect_unheld);
    world_strimzi_soon(dist);
}

void world_pod_restart(struct world_dist *dist, bool clean)
{
    struct world *world = dist->world;
    if (!dist->pod_up)
        return;
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        if (dist->connector[c].wanted)
            world_connector_stop(&dist->connector[c], clean);
    dist->pod_up = false;
    dist->restarts++;
    world_pod_put(dist);
    world_logs_end(dist);
    world_after(world, world_between(world, 1500, 5000), connect_pod_up, NULL, dist);
}

/* Readers of the Kafka port: assign and seek, read_committed, filtered; and the description of groups. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/mem.h"

#define READER_TROUBLE_MS 5000

struct reader_turn {
    port_id id;
    uint64_t epoch;
};

static struct world_reader *reader_find(struct world *world, port_id id, uint64_t epoch)
{
    struct world_reader *reader = NULL;
    LL_FOREACH2(world->readers, reader, link)
    if (reader->id == id && reader->epoch == epoch)
        return reader;
    return NULL;
}

static bool reader_passes(const struct world_reader *reader, const struct fact_record *record)
{
    if (reader->header != NULL) {
        const struct fact_header *header = world_header(record, reader->header);
        size_t len = strlen(reader->header_value);
        bool by_header = header != NULL && header->len == len && memcmp(header->value, reader->header_value, len) == 0;
        if (!by_header && !fact_bytes_begin(record->key, record->key_len, reader->key_prefix))
            return false;
    }
    for (int i = 0; i < 2; i++)
        if (reader->needle[i] != NULL && !fact_bytes_contain(record->key, record->key_len, reader->needle[i]) &&
            !fact_bytes_contain(record->value, record->value_len, reader->needle[i]))
            return false;
    return true;
}

/* A record may lead to the end of this reader: it is looked up anew each time. */
static bool reader_give(struct world *world, const struct reader_turn *turn, struct world_topic *topic, int32_t p)
{
    struct world_reader *reader = reader_find(world, turn->id, turn->epoch);
    while (reader != NULL && reader->next[p] < world_stable(&topic->part[p])) {
        const struct world_record *record = &topic->part[p].records[reader->next[p]++];
        struct port_kafka_event event = {.kind = PORT_KAFKA_RECORD, .id = reader->id, .record = &record->fact};
        reader->told = false;
        if (record->control || !reader_passes(reader, &record->fact))
            continue;
        controller_on_kafka(world->controller, &event);
        reader = reader_find(world, turn->id, turn->epoch);
    }
    return reader != NULL;
}

static void reader_position(struct world *world, struct world_reader *reader, const struct world_topic *topic)
{
    int64_t high[WORLD_PARTITIONS_MAX];
    int64_t stable[WORLD_PARTITIONS_MAX];
    struct fact_offsets offsets = {.partitions = reader->partitions, .low = high, .high = reader->next, .stable = stable};
    for (int32_t p = 0; p < reader->partitions; p++) {
        high[p] = topic->part[p].end;
        stable[p] = world_stable(&topic->part[p]);
    }
    reader->told = true;
    controller_on_kafka(world->controller, &(struct port_kafka_event){.kind = PORT_KAFKA_POSITION, .id = reader->id, .offsets = &offsets});
}

static void reader_soon(struct world *world, struct world_reader *reader, int64_t delay_ms);

static void reader_unreachable(struct world *world, struct world_reader *reader)
{
    struct port_kafka_event event = {.kind = PORT_KAFKA_TROUBLE, .id = reader->id};
    (void)dv_err_set(&event.err, DV_ERR_UNREACHABLE, "Kafka cluster dc%d: no broker is reachable", reader->cluster + 1);
    bool tell = reader->troubled;
    reader->troubled = true;
    reader->told = false;
    reader_soon(world, reader, READER_TROUBLE_MS);
    if (tell)
        controller_on_kafka(world->controller, &event);
}

static void reader_pump(struct world *world, void *arg)
{
    struct reader_turn turn = *(struct reader_turn *)arg;
    free(arg);
    struct world_reader *reader = reader_find(world, turn.id, turn.epoch);
    if (reader == NULL || turn.epoch != world->epoch || world->controller == NULL || world->dead)
        return;
    struct world_kafka *kafka = &world->kafka[reader->cluster];
    reader->pumping = false;
    struct world_topic *topic = world_topic(kafka, reader->topic);
    if (kafka->down || kafka->refuse != DV_ERR_NONE || topic == NULL) {
        reader_unreachable(world, reader);
        return;
    }
    reader->troubled = false;
    for (int32_t p = 0; p < reader->partitions; p++)
        if (!reader_give(world, &turn, topic, p))
            return;
    reader = reader_find(world, turn.id, turn.epoch);
    for (int32_t p = 0; reader != NULL && p < reader->partitions; p++) {
        reader->told = reader->told && reader->high[p] == topic->part[p].end; /* it grew, even if nothing of it can be read */
        reader->high[p] = topic->part[p].end;
    }
    if (reader != NULL && !reader->told)
        reader_position(world, reader, topic);
}

static void reader_soon(struct world *world, struct world_reader *reader, int64_t delay_ms)
{
    if (reader->pumping)
        return;
    struct reader_turn *turn = dv_alloc(sizeof *turn);
    *turn = (struct reader_turn){reader->id, reader->epoch};
    reader->pumping = true;
    world_after(world, delay_ms, reader_pump, free, turn);
}

void world_reader_start(struct world *world, int cluster, port_id id, const struct port_reader *request)
{
    struct world_reader *reader = dv_alloc(sizeof *reader);
    reader->id = id;
    reader->epoch = world->epoch;
    reader->cluster = cluster;
    reader->topic = dv_strdup(request->topic);
    reader->header = dv_strdup(request->header);
    reader->header_value = dv_strdup(request->header_value);
    reader->key_prefix = dv_strdup(request->key_prefix);
    reader->needle[0] = dv_strdup(request->needle[0]);
    reader->needle[1] = dv_strdup(request->needle[1]);
    reader->partitions = request->partitions < WORLD_PARTITIONS_MAX ? request->partitions : WORLD_PARTITIONS_MAX;
    memcpy(reader->next, request->from, (size_t)reader->partitions * sizeof reader->next[0]);
    LL_PREPEND2(world->readers, reader, link);
    reader_soon(world, reader, world_between(world, 20, 120));
}

static void reader_free(struct world *world, struct world_reader *reader)
{
    LL_DELETE2(world->readers, reader, link);
    free(reader->topic);
    free(reader->header);
    free(reader->header_value);
    free(reader->key_prefix);
    free(reader->needle[0]);
    free(reader->needle[1]);
    free(reader);
}

void world_reader_stop(struct world *world, port_id id)
{
    struct world_reader *reader = reader_find(world, id, world->epoch);
    if (reader != NULL)
        reader_free(world, reader);
}

void world_readers_wake(struct world *world, int cluster)
{
    struct world_reader *reader = NULL;
    LL_FOREACH2(world->readers, reader, link)
    if (reader->cluster == cluster)
        reader_soon(world, reader, world_between(world, 2, 25));
}

void world_readers_free(struct world *world, bool all)
{
    struct world_reader *reader = NULL;
    struct world_reader *next = NULL;
    LL_FOREACH_SAFE2(world->readers, reader, next, link)
    if (all || reader->epoch != world->epoch)
        reader_free(world, reader);
}

/* ---------------------------------------------------------------- groups */

static void describe_assign(struct fact_group *group, const char *topic, int32_t partitions, int64_t skip)
{
    group->assignments = dv_calloc((size_t)partitions + 1, sizeof *group->assignments);
    for (int32_t p = 0; p < partitions; p++)
        if (p != skip)
            group->assignments[group->assignment_count++] = (struct fact_assignment){dv_strdup(topic), p};
}

static void describe_connector(struct world *world, int cluster, const struct world_connector *connector, struct fact_group *group)
{
    static const char *const topics[MODEL_CONNECTORS] = {WORLD_TOPIC, "__consumer_offsets", WORLD_TIMESTAMPS};
    const struct world_topic *topic = world_topic(&world->kafka[cluster], topics[connector->kind]);
    int64_t skip = connector->kind == MODEL_MD ? connector->dist->manners.md_skip_partition : -1;
    if (connector->kind == MODEL_OD && connector->dist->manners.od_source)
        return;
    if (connector->dist->manners.new_protocol) {
        group->listed = group->listed || connector->state != WORLD_TASK_NONE;
        group->state = FACT_GROUP_DEAD;
        return;
    }
    if (connector->state == WORLD_TASK_STARTING) {
        group->state = FACT_GROUP_REBALANCING;
        group->members = 1;
    } else if (connector->state == WORLD_TASK_RUNNING || connector->leaving) {
        group->state = FACT_GROUP_STABLE;
        group->members = connector->kind == MODEL_MD ? 2 : 1;
        describe_assign(group, topics[connector->kind], connector->kind == MODEL_OD ? 5 : topic != NULL ? topic->fact.partitions : 0, skip);
    }
}

struct fact_group world_describe(struct world *world, int cluster, const char *name)
{
    struct world_kafka *kafka = &world->kafka[cluster];
    struct fact_group group = {.name = dv_strdup(name), .state = FACT_GROUP_DEAD};
    for (size_t i = 0; i < kafka->commit_count && !group.listed; i++)
        group.listed = dv_streq(kafka->commits[i].group, name);
    if (group.listed)
        group.state = FACT_GROUP_EMPTY;
    for (int c = 0; c < MODEL_CONNECTORS; c++) {
        const struct world_connector *connector = &world->dist[cluster].connector[c];
        if (dv_streq(world_group(connector), name))
            describe_connector(world, cluster, connector, &group);
    }
    if (dv_streq(name, WORLD_GROUP) && kafka->group_members > 0) {
        group.members = (int32_t)kafka->group_members;
        group.state = FACT_GROUP_STABLE;
    }
    if (dv_streq(name, WORLD_GROUP) && kafka->group_blind) {
        group.listed = true;
        group.state = FACT_GROUP_DEAD;
    }
    group.listed = group.listed || group.members > 0;
    return group;
}

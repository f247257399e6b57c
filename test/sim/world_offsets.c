/* Offset Distributor: commits become timestamps records on the far side, after the window. Offset Committer: timestamps records become
 * commits. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define OFFSETS_STAMP "sim-stamp" /* what a timestamps record says, for the committer of this world; the port reads key and value only */

struct offsets_stamp {
    char group[64], topic[64];
    int32_t partition;
    int64_t timestamp_ms;
};

struct offsets_turn {
    struct world_connector *connector;
    uint64_t life;
};

void world_pending_free(struct world_connector *connector)
{
    for (size_t i = 0; i < connector->pending_count; i++) {
        free(connector->pending[i].group);
        free(connector->pending[i].topic);
    }
    free(connector->pending);
    connector->pending = NULL;
    connector->pending_count = 0;
}

static void offsets_pend(struct world_connector *connector, const char *group, const char *topic, int32_t partition, int64_t number)
{
    for (size_t i = 0; i < connector->pending_count; i++) {
        struct world_pending *pending = &connector->pending[i];
        if (pending->partition != partition || !dv_streq(pending->group, group) || !dv_streq(pending->topic, topic))
            continue;
        pending->number = number;
        return;
    }
    connector->pending = dv_reallocarray(connector->pending, connector->pending_count + 1, sizeof *connector->pending);
    connector->pending[connector->pending_count++] = (struct world_pending){dv_strdup(group), dv_strdup(topic), partition, number};
}

static void offsets_after(struct world_connector *connector, int64_t delay_ms, world_fn *fn)
{
    struct offsets_turn *turn = dv_alloc(sizeof *turn);
    *turn = (struct offsets_turn){connector, connector->life};
    world_after(connector->dist->world, delay_ms, fn, free, turn);
}

static struct world_connector *offsets_taken(void *arg)
{
    struct offsets_turn *turn = arg;
    struct world_connector *connector = turn->life == turn->connector->life ? turn->connector : NULL;
    free(turn);
    return connector;
}

/* ---------------------------------------------------------------- Offset Distributor */

/* Timestamp of the record that is read next, or of the one before it; at the log end there is none. */
static bool offsets_timestamp(const struct world_topic *topic, const struct world_pending *commit, bool previous, int64_t *out)
{
    const struct world_partition *part = &topic->part[commit->partition];
    int64_t offset = commit->number - (previous ? 1 : 0);
    while (offset >= 0 && offset < part->end && part->records[offset].control)
        offset += previous ? -1 : 1;
    if (offset < 0 || part->end == 0)
        return false;
    *out = offset < part->end ? part->records[offset].fact.timestamp_ms : part->records[part->end - 1].fact.timestamp_ms + 1;
    return true;
}

static void offsets_write(struct world_connector *connector, struct world_topic *to, const struct offsets_stamp *stamp)
{
    char key[200];
    char value[300];
    struct fact_record record = {.partition = stamp->partition % to->fact.partitions, .timestamp_ms = world_wall(connector->dist->world)};
    (void)dv_format(key, sizeof key, "%s", stamp->group);
    (void)dv_format(value, sizeof value, "{\"group\":\"%s\",\"topic\":\"%s\",\"partition\":%d,\"timestamp\":%lld}", stamp->group,
                    stamp->topic, stamp->partition, (long long)stamp->timestamp_ms);
    size_t len = strlen(value);
    if (connector->dist->manners.od_binary)
        len = strlen(dv_format(value, sizeof value, "\x01%c%s%c%s\x02", (int)(strlen(stamp->group) % 9 + 1), stamp->group,
                               (int)(strlen(stamp->topic) % 9 + 1), stamp->topic));
    record.key = (unsigned char *)key;
    record.key_len = connector->dist->manners.od_binary ? 0 : strlen(key);
    record.value = (unsigned char *)value;
    record.value_len = len;
    world_header_set(&record, OFFSETS_STAMP, stamp, sizeof *stamp);
    (void)world_append(connector->dist->world, 1 - connector->dist->side, to, &record, false);
    free(record.headers[0].name);
    free(record.headers[0].value);
    free(record.headers);
}

static void offsets_window_over(struct world *world, void *arg)
{
    struct world_connector *connector = offsets_taken(arg);
    if (connector == NULL)
        return;
    const struct world_manners *manners = &connector->dist->manners;
    struct world_kafka *local = &world->kafka[connector->dist->side];
    struct world_kafka *remote = &world->kafka[1 - connector->dist->side];
    struct world_topic *to = world_topic(remote, manners->od_elsewhere ? "_other-timestamps" : WORLD_TIMESTAMPS);
    if (local->down || remote->down || to == NULL) {
        offsets_after(connector, 500, offsets_window_over);
        return;
    }
    for (size_t i = 0; i < connector->pending_count; i++) {
        const struct world_pending *commit = &connector->pending[i];
        const struct world_topic *topic = world_topic(local, commit->topic);
        struct offsets_stamp stamp = {.partition = commit->partition};
        (void)dv_strlcpy(stamp.group, commit->group, sizeof stamp.group);
        (void)dv_strlcpy(stamp.topic, commit->topic, sizeof stamp.topic);
        if (topic != NULL && !manners->od_silent && offsets_timestamp(topic, commit, manners->od_previous, &stamp.timestamp_ms))
            offsets_write(connector, to, &stamp);
    }
    world_pending_free(connector);
    connector->history_done = connector->history_next;
    world_connector_flush_soon(connector);
}

void world_offsets_pump(struct world_connector *connector)
{
    struct world *world = connector->dist->world;
    struct world_kafka *local = &world->kafka[connector->dist->side];
    bool first = connector->pending_count == 0;
    for (; connector->history_next < (int64_t)local->history_count; connector->history_next++) {
        const struct world_commit *commit = &local->history[connector->history_next];
        offsets_pend(connector, commit->group, commit->topic, commit->partition, commit->offset);
    }
    if (first && connector->pending_count > 0)
        offsets_after(connector, world->window + world_between(world, 0, 50), offsets_window_over);
}

/* ---------------------------------------------------------------- Offset Committer */

static int64_t offsets_lookup(const struct world_topic *topic, const struct offsets_stamp *stamp)
{
    const struct world_partition *part = &topic->part[stamp->partition];
    for (int64_t i = 0; i < part->end; i++)
        if (!part->records[i].control && part->records[i].fact.timestamp_ms >= stamp->timestamp_ms)
            return i;
    return part->end;
}

static void offsets_commit_pending(struct world_connector *connector)
{
    struct world *world = connector->dist->world;
    for (size_t i = 0; i < connector->pending_count; i++)
        world_commit(world, connector->dist->side, connector->pending[i].group, connector->pending[i].topic,
                     connector->pending[i].partition, connector->pending[i].number);
    world_pending_free(connector);
}

static void offsets_committer_flush(struct world *world, void *arg)
{
    struct world_connector *connector = offsets_taken(arg);
    (void)world;
    if (connector != NULL)
        offsets_commit_pending(connector);
}

/* Long after the proof the group goes back once more. */
static void offsets_rewind(struct world *world, void *arg)
{
    struct world_connector *connector = offsets_taken(arg);
    if (connector == NULL)
        return;
    int side = connector->dist->side;
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++) {
        int64_t offset = world_committed(&world->kafka[side], WORLD_GROUP, WORLD_TOPIC, p) - connector->dist->manners.oc_rewind;
        world_commit(world, side, WORLD_GROUP, WORLD_TOPIC, p, offset > 0 ? offset : 0);
    }
}

static void offsets_apply(struct world_connector *connector, const struct offsets_stamp *stamp)
{
    struct world *world = connector->dist->world;
    struct world_manners *manners = &connector->dist->manners;
    struct world_kafka *local = &world->kafka[connector->dist->side];
    const struct world_topic *topic = world_topic(local, stamp->topic);
    if (topic == NULL || manners->oc_ignore || (manners->oc_only_partition > 0 && stamp->partition >= manners->oc_only_partition))
        return;
    int64_t offset = offsets_lookup(topic, stamp) + manners->oc_ahead - manners->oc_behind;
    if (manners->oc_beyond > 0)
        offset = topic->part[stamp->partition].end + manners->oc_beyond;
    if (offset < 0)
        offset = 0;
    int64_t current = world_committed(local, stamp->group, stamp->topic, stamp->partition);
    if (offset == current || (offset < current && !manners->oc_backwards))
        return;
    offsets_pend(connector, stamp->group, stamp->topic, stamp->partition, offset);
}

void world_committer_pump(struct world_connector *connector)
{
    struct world *world = connector->dist->world;
    struct world_kafka *local = &world->kafka[connector->dist->side];
    struct world_topic *topic = world_topic(local, WORLD_TIMESTAMPS);
    bool took = false;
    bool first = connector->pending_count == 0;
    for (int32_t p = 0; topic != NULL && p < topic->fact.partitions; p++) {
        while (connector->next[p] < topic->part[p].end) {
            const struct fact_record *record = &topic->part[p].records[connector->next[p]++].fact;
            const struct fact_header *header = world_header(record, OFFSETS_STAMP);
            struct offsets_stamp stamp;
            connector->done[p] = connector->next[p];
            took = true;
            if (header == NULL || header->len != sizeof stamp)
                continue;
            memcpy(&stamp, header->value, sizeof stamp);
            offsets_apply(connector, &stamp);
        }
    }
    if (!took)
        return;
    world_connector_flush_soon(connector);
    if (!connector->dist->manners.oc_flush)
        offsets_commit_pending(connector);
    else if (first && connector->pending_count > 0)
        offsets_after(connector, world->flush - world->now % world->flush, offsets_committer_flush);
    if (connector->dist->manners.oc_rewind > 0)
        offsets_after(connector, world->window / 2, offsets_rewind);
}

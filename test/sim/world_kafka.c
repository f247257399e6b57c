/* Two Kafka clusters: topics, records, commits, ACLs. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---------------------------------------------------------------- topics */

struct world_topic *world_topic(struct world_kafka *kafka, const char *name)
{
    for (size_t i = 0; i < kafka->topic_count; i++)
        if (dv_streq(kafka->topics[i]->name, name))
            return kafka->topics[i];
    return NULL;
}

struct world_topic *world_topic_make(struct world_kafka *kafka, const char *name, int32_t partitions)
{
    struct world_topic *topic = world_topic(kafka, name);
    if (topic != NULL)
        return topic;
    topic = dv_alloc(sizeof *topic);
    topic->name = dv_strdup(name);
    topic->fact = (struct fact_topic){.found = true,
                                      .partitions = partitions,
                                      .configs_known = true,
                                      .create_time = true,
                                      .deleted = true,
                                      .retention_ms = INT64_C(604800000)};
    for (int p = 0; p < WORLD_PARTITIONS_MAX; p++)
        topic->part[p].open = -1;
    kafka->topics = dv_reallocarray(kafka->topics, kafka->topic_count + 1, sizeof(struct world_topic *));
    kafka->topics[kafka->topic_count++] = topic;
    return topic;
}

static void kafka_topic_free(struct world_topic *topic)
{
    for (int p = 0; p < WORLD_PARTITIONS_MAX; p++) {
        for (int64_t i = 0; i < topic->part[p].end; i++)
            fact_record_clear(&topic->part[p].records[i].fact);
        free(topic->part[p].records);
    }
    free(topic->name);
    free(topic);
}

void world_topic_remove(struct world_kafka *kafka, const char *name)
{
    for (size_t i = 0; i < kafka->topic_count; i++) {
        if (!dv_streq(kafka->topics[i]->name, name))
            continue;
        kafka_topic_free(kafka->topics[i]);
        kafka->topics[i] = kafka->topics[--kafka->topic_count];
        return;
    }
}

/* ---------------------------------------------------------------- records */

static unsigned char *kafka_bytes(const void *from, size_t len)
{
    unsigned char *to = from != NULL ? dv_alloc(len + 1) : NULL;
    if (to != NULL && len > 0)
        memcpy(to, from, len);
    return to;
}

void world_record_copy(struct fact_record *to, const struct fact_record *from)
{
    *to = *from;
    to->key = kafka_bytes(from->key, from->key_len);
    to->value = kafka_bytes(from->value, from->value_len);
    to->headers = dv_calloc(from->header_count + 1, sizeof *to->headers);
    for (size_t i = 0; i < from->header_count; i++)
        to->headers[i] = (struct fact_header){dv_strdup(from->headers[i].name), kafka_bytes(from->headers[i].value, from->headers[i].len),
                                              from->headers[i].len};
}

const struct fact_header *world_header(const struct fact_record *record, const char *name)
{
    for (size_t i = 0; i < record->header_count; i++)
        if (dv_streq(record->headers[i].name, name))
            return &record->headers[i];
    return NULL;
}

void world_header_set(struct fact_record *record, const char *name, const void *value, size_t len)
{
    for (size_t i = 0; i < record->header_count; i++) {
        if (!dv_streq(record->headers[i].name, name))
            continue;
        free(record->headers[i].value);
        record->headers[i].value = kafka_bytes(value, len);
        record->headers[i].len = len;
        return;
    }
    record->headers = dv_reallocarray(record->headers, record->header_count + 1, sizeof *record->headers);
    record->headers[record->header_count++] = (struct fact_header){dv_strdup(name), kafka_bytes(value, len), len};
}

int64_t world_append(struct world *world, int cluster, struct world_topic *topic, const struct fact_record *record, bool control)
{
    struct world_partition *part = &topic->part[record->partition];
    if ((size_t)part->end == part->room) {
        part->room = part->room * 2 + 16;
        part->records = dv_reallocarray(part->records, part->room, sizeof *part->records);
    }
    struct world_record *to = &part->records[part->end];
    world_record_copy(&to->fact, record);
    to->fact.offset = part->end;
    to->control = control;
    part->end++;
    world_readers_wake(world, cluster);
    world_connectors_wake(world, cluster);
    return to->fact.offset;
}

int64_t world_stable(const struct world_partition *part)
{
    return part->open >= 0 && part->open < part->end ? part->open : part->end;
}

/* ---------------------------------------------------------------- commits */

int64_t world_committed(const struct world_kafka *kafka, const char *group, const char *topic, int32_t partition)
{
    for (size_t i = 0; i < kafka->commit_count; i++)
        if (kafka->commits[i].partition == partition && dv_streq(kafka->commits[i].group, group) &&
            dv_streq(kafka->commits[i].topic, topic))
            return kafka->commits[i].offset;
    return -1;
}

static struct world_commit *kafka_commit_add(struct world_commit **list, size_t *count, const char *group, const char *topic,
                                             int32_t partition, int64_t offset)
{
    *list = dv_reallocarray(*list, *count + 1, sizeof **list);
    struct world_commit *commit = &(*list)[(*count)++];
    *commit = (struct world_commit){dv_strdup(group), dv_strdup(topic), partition, offset};
    return commit;
}

void world_commit(struct world *world, int cluster, const char *group, const char *topic, int32_t partition, int64_t offset)
{
    struct world_kafka *kafka = &world->kafka[cluster];
    struct world_commit *found = NULL;
    for (size_t i = 0; i < kafka->commit_count && found == NULL; i++)
        if (kafka->commits[i].partition == partition && dv_streq(kafka->commits[i].group, group) &&
            dv_streq(kafka->commits[i].topic, topic))
            found = &kafka->commits[i];
    if (found != NULL)
        found->offset = offset;
    else
        (void)kafka_commit_add(&kafka->commits, &kafka->commit_count, group, topic, partition, offset);
    if (dv_starts_with(group, "connect-"))
        return; /* the Offset Distributor skips them */
    (void)kafka_commit_add(&kafka->history, &kafka->history_count, group, topic, partition, offset);
    world_connectors_wake(world, cluster);
}

static void kafka_commits_free(struct world_commit *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].group);
        free(list[i].topic);
    }
    free(list);
}

/* ---------------------------------------------------------------- ACLs */

void world_allow(struct world_kafka *kafka, const char *principal, enum fact_acl_resource resource, const char *name, bool prefixed,
                 enum fact_acl_operation operation, bool deny)
{
    enum fact_acl_match match = prefixed ? FACT_ACL_PREFIXED : FACT_ACL_LITERAL;
    for (size_t i = 0; i < kafka->acl_count; i++) {
        const struct fact_acl *acl = &kafka->acls[i];
        if (acl->resource == resource && acl->match == match && acl->operation == operation && acl->deny == deny &&
            dv_streq(acl->principal, principal) && dv_streq(acl->name, name))
            return;
    }
    kafka->acls = dv_reallocarray(kafka->acls, kafka->acl_count + 1, sizeof *kafka->acls);
    kafka->acls[kafka->acl_count++] = (struct fact_acl){.principal = dv_strdup(principal),
                                                        .host = dv_strdup("*"),
                                                        .name = dv_strdup(name),
                                                        .resource = resource,
                                                        .match = match,
                                                        .operation = operation,
                                                        .deny = deny};
}

void world_kafka_free(struct world_kafka *kafka)
{
    while (kafka->topic_count > 0)
        kafka_topic_free(kafka->topics[--kafka->topic_count]);
    free(kafka->topics);
    kafka_commits_free(kafka->commits, kafka->commit_count);
    kafka_commits_free(kafka->history, kafka->history_count);
    fact_acls_free(kafka->acls, kafka->acl_count);
}

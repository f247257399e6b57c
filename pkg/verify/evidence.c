#include <string.h>

#include "base/mem.h"
#include "verify/turn.h"

static json_t *evidence_list(struct turn *t, const char *key)
{
    json_t *evidence = model_evidence(t->st, t->stage);
    json_t *list = json_object_get(evidence, key);
    if (list == NULL) {
        list = json_array();
        json_object_set_new(evidence, key, list);
    }
    return list;
}

static json_t *evidence_find(const json_t *list, const char *key, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (dv_streq(json_string_value(json_object_get(json_array_get(list, i), key)), text))
            return json_array_get(list, i);
    return NULL;
}

/* Waits for one thing are summed up: a stage that steps back and forth stays small. */
void evidence_wait(struct turn *t, const char *what, bool demanded, int64_t ms)
{
    if (what == NULL || ms < 1)
        return;
    json_t *list = evidence_list(t, "waits");
    json_t *item = evidence_find(list, "for", what);
    double seconds = (double)ms / 1000.0;
    if (item != NULL) {
        seconds += json_number_value(json_object_get(item, "seconds"));
        json_object_set_new(item, "seconds", json_real(seconds));
        return;
    }
    if (json_array_size(list) >= 64)
        return;
    item = json_object();
    json_object_set_new(item, "for", json_string(what));
    json_object_set_new(item, "kind", json_string(demanded ? "demanded" : "world"));
    json_object_set_new(item, "seconds", json_real(seconds));
    json_array_append_new(list, item);
}

void evidence_values(struct turn *t, enum model_side side, bool written)
{
    struct model_switches want;
    char text[16];
    if (!turn_want(t, side, &want))
        return;
    json_t *list = evidence_list(t, "values");
    if (json_array_size(list) >= 16)
        return;
    json_t *item = json_object();
    for (int i = 0; i < MODEL_SWITCHES; i++) {
        text[2 * i] = want.on[i] ? '1' : '0';
        text[2 * i + 1] = i + 1 < MODEL_SWITCHES ? ' ' : '\0';
    }
    json_object_set_new(item, "cluster", json_string(turn_name(t, side)));
    json_object_set_new(item, "declared", json_string(text));
    json_object_set_new(item, "how", json_string(written ? "Written" : "Unchanged"));
    json_array_append_new(list, item);
}

static const char *evidence_state(const struct fact_connector *fact)
{
    static const char *const names[] = {"NONE", "RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING", "OTHER"};
    return names[fact->state];
}

static const char *evidence_group_state(const struct fact_group *group)
{
    static const char *const names[] = {"Unknown", "Rebalancing", "Stable", "Dead", "Empty"};
    return names[group->state];
}

static void evidence_connectors(struct turn *t)
{
    json_t *list = json_array();
    for (int side = 0; side < MODEL_SIDES; side++) {
        for (int c = 0; c < MODEL_CONNECTORS; c++) {
            const struct verify_connector *connector = turn_connector(t, (enum model_side)side, (enum model_connector)c);
            const struct fact_group *group = turn_group(t, (enum model_side)side, c);
            if (connector == NULL)
                continue;
            json_t *item = json_object();
            json_object_set_new(item, "cluster", json_string(turn_name(t, (enum model_side)side)));
            json_object_set_new(item, "name", json_string(connector->fact->name));
            json_object_set_new(item, "state", json_string(evidence_state(connector->fact)));
            json_object_set_new(item, "tasks", json_integer(connector->fact->tasks));
            if (group != NULL) {
                json_object_set_new(item, "group", json_string(group->name));
                json_object_set_new(item, "groupState", json_string(evidence_group_state(group)));
                json_object_set_new(item, "members", json_integer(group->members));
            }
            json_array_append_new(list, item);
        }
    }
    if (json_array_size(list) > 0)
        json_object_set(model_evidence(t->st, t->stage), "connectors", list);
    json_decref(list);
}

static void evidence_records(struct turn *t)
{
    const struct probe_table *table = t->s->probes;
    int64_t copies[MODEL_SIDES] = {0};
    int64_t produced = 0;
    int64_t extra = 0;
    int64_t missing = 0;
    if (table == NULL || table->count == 0)
        return;
    for (size_t i = 0; i < table->count; i++) {
        const struct probe *probe = &table->probes[i];
        produced++;
        for (int side = 0; side < MODEL_SIDES; side++) {
            copies[side] += probe->on[side].count;
            extra += probe->on[side].count > 1 ? probe->on[side].count - 1 : 0;
            missing += probe->on[side].count == 0 && turn_wants_connector(t, table->batches[probe->batch].side, MODEL_MD) ? 1 : 0;
        }
    }
    json_t *records = json_object();
    json_object_set_new(records, "produced", json_integer(produced));
    json_object_set_new(records, "copiesOnA", json_integer(copies[MODEL_A]));
    json_object_set_new(records, "copiesOnB", json_integer(copies[MODEL_B]));
    json_object_set_new(records, "extra", json_integer(extra));
    json_object_set_new(records, "missing", json_integer(missing));
    json_object_set_new(records, "foreign", json_integer(table->foreign[MODEL_A] + table->foreign[MODEL_B]));
    json_object_set_new(model_evidence(t->st, t->stage), "records", records);
}

/* Over all topics of the group, as asked in this step. */
static void evidence_group_lag(const struct turn *t, const struct verify_side *facts, json_t *item)
{
    const struct verify_stamp *stamp = &facts->stamp[VF_GROUP_LAG];
    if (stamp->as_of_ms == 0 || stamp->as_of_ms < t->m->step_since_ms)
        return;
    if (facts->group_lag.partitions > 0) /* nothing counted is not nothing behind */
        json_object_set_new(item, "groupLag", json_integer(facts->group_lag.records));
    json_object_set_new(item, "groupPartitions", json_integer(facts->group_lag.partitions));
    if (facts->group_lag.unseen > 0)
        json_object_set_new(item, "groupPartitionsUnseen", json_integer(facts->group_lag.unseen));
}

/* Records behind on the test topic; -1: not known, since the group has no commit on a partition that holds records. */
static int64_t evidence_lag_of(const struct verify_side *facts)
{
    int64_t lag = 0;
    for (int32_t p = 0; p < facts->test_log->partitions; p++) {
        int64_t commit = facts->md_commits->high[p];
        int64_t end = facts->test_log->high[p];
        if (commit < 0 && facts->test_log->low != NULL && end > facts->test_log->low[p])
            return -1;
        lag += commit >= 0 && end > commit ? end - commit : 0;
    }
    return lag;
}

static void evidence_lag(struct turn *t)
{
    if (t->stage != STAGE_LAG_DRAINED)
        return;
    json_t *list = json_array();
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_side *facts = &t->s->side[side];
        const struct fact_group *group = turn_group(t, (enum model_side)side, MODEL_MD);
        if (facts->md_commits == NULL || facts->test_log == NULL || group == NULL ||
            facts->test_log->partitions != facts->md_commits->partitions)
            continue;
        int64_t lag = evidence_lag_of(facts);
        json_t *item = json_object();
        json_object_set_new(item, "cluster", json_string(turn_name(t, (enum model_side)side)));
        json_object_set_new(item, "group", json_string(group->name));
        json_object_set_new(item, "topic", json_string(turn_cluster(t, (enum model_side)side)->topic));
        if (lag >= 0)
            json_object_set_new(item, "lag", json_integer(lag));
        evidence_group_lag(t, facts, item);
        json_array_append_new(list, item);
    }
    json_object_set_new(model_evidence(t->st, t->stage), "lag", list);
}

/* The command that repeats the stage's check by hand. */
static void evidence_command(struct turn *t)
{
    char command[512];
    enum model_side far = t->far;
    const struct model_cluster *cluster = turn_cluster(t, far);
    if (t->stage == STAGE_PREFLIGHT)
        (void)dv_format(command, sizeof command, "kafka-topics.sh --bootstrap-server %s --describe --topic %s", cluster->kafka.bootstrap,
                        cluster->topic);
    else if (t->stage == STAGE_INIT_A || t->stage == STAGE_INIT_B)
        (void)dv_format(command, sizeof command, "kafka-acls.sh --bootstrap-server %s --list --topic %s",
                        turn_cluster(t, t->near)->kafka.bootstrap, turn_cluster(t, t->near)->topic);
    else if (t->stage < STAGE_OFFSETS_A_TO_B)
        (void)dv_format(
            command, sizeof command,
            "kafka-console-consumer.sh --bootstrap-server %s --topic %s --from-beginning --property print.headers=true | grep %s:%s",
            cluster->kafka.bootstrap, cluster->topic, PROBE_HEADER_RUN, t->st->run.id);
    else
        (void)dv_format(command, sizeof command, "kafka-consumer-groups.sh --bootstrap-server %s --describe --group %s",
                        cluster->kafka.bootstrap, cluster->group);
    json_object_set_new(model_evidence(t->st, t->stage), "command", json_string(command));
}

void evidence_stage(struct turn *t)
{
    struct model_stage_status *st = &t->st->stages[t->stage];
    evidence_connectors(t);
    evidence_records(t);
    evidence_lag(t);
    evidence_command(t);
    json_t *evidence = model_evidence(t->st, t->stage);
    if (t->st->run.partitions > 0)
        json_object_set_new(evidence, "partitions", json_integer(t->st->run.partitions));
    json_object_set_new(evidence, "watchedSeconds", json_real((double)(t->s->now.wall_ms - st->started_ms) / 1000.0));
}

void evidence_offset(struct turn *t, enum model_side side, int32_t partition, int64_t before, int64_t set, int64_t expected, int64_t actual,
                     int64_t distance)
{
    json_t *list = evidence_list(t, "offsets");
    if (json_array_size(list) >= 32)
        return;
    json_t *item = json_object();
    json_object_set_new(item, "cluster", json_string(turn_name(t, side)));
    json_object_set_new(item, "group", json_string(turn_cluster(t, side)->group));
    json_object_set_new(item, "topic", json_string(turn_cluster(t, side)->topic));
    json_object_set_new(item, "partition", json_integer(partition));
    json_object_set_new(item, "before", json_integer(before));
    json_object_set_new(item, "set", json_integer(set));
    json_object_set_new(item, "expected", json_integer(expected));
    json_object_set_new(item, "actual", json_integer(actual));
    if (distance != EVIDENCE_UNCOUNTED)
        json_object_set_new(item, "distance", json_integer(distance));
    json_array_append_new(list, item);
}

/* KafkaConnector and KafkaConnect. Shapes: the CRDs of Strimzi 0.45 (v1beta2) and 1.2 (v1); connectorStatus is Connect's REST answer. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "distributor/distributor.h"
#include "distributor/json.h"
#include "distributor/text.h"

static int64_t strimzi_time(const json_t *json)
{
    const char *text = distributor_json_text(json);
    int64_t ms = 0;
    return text != NULL && dv_time_parse(text, &ms) == 0 ? ms : 0;
}

static enum fact_connector_state strimzi_state(const json_t *json)
{
    static const struct {
        const char *name;
        enum fact_connector_state state;
    } states[] = {
        {"RUNNING", FACT_STATE_RUNNING}, {"PAUSED", FACT_STATE_PAUSED},         {"STOPPED", FACT_STATE_STOPPED},
        {"FAILED", FACT_STATE_FAILED},   {"UNASSIGNED", FACT_STATE_UNASSIGNED}, {"RESTARTING", FACT_STATE_RESTARTING},
    };
    const char *text = distributor_json_text(json);
    if (text == NULL || text[0] == '\0')
        return FACT_STATE_NONE;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (strcmp(states[i].name, text) == 0)
            return states[i].state;
    return FACT_STATE_OTHER;
}

/* "KafkaConnect resource 'c' identified by label ... does not exist in namespace n." is said shorter. */
static void strimzi_condition_cause(const char *message, char *out)
{
    static const char intro[] = "KafkaConnect resource '";
    const char *end = dv_starts_with(message, intro) ? strchr(message + sizeof intro - 1, '\'') : NULL;
    if (end != NULL && strstr(end, "does not exist") != NULL) {
        int len = (int)(end - message) - (int)sizeof intro + 1;
        (void)dv_format(out, FACT_CAUSE_MAX, "KafkaConnect %.*s does not exist", len < 200 ? len : 200, message + sizeof intro - 1);
        return;
    }
    distributor_text_copy(out, FACT_CAUSE_MAX, message, strlen(message));
}

/* What Kafka Connect answers to the operator while its workers rebalance, or one of them goes: it says nothing of the connector. With more
 * than one worker the 409 of the leader comes as a 500 of the worker that passed the request on. */
static bool strimzi_passes(const char *message)
{
    static const char *const words[] = {"returned 409", "409 (Conflict)", "rebalance is expected", "Request timed out",
                                        "IO Error trying to forward REST request"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(message, words[i]) != NULL)
            return true;
    return false;
}

/* Strimzi's own sentence only points at connectorStatus. */
static bool strimzi_points_elsewhere(const char *message)
{
    return strstr(message, "see connectorStatus for more details") != NULL;
}

/* ---------------------------------------------------------------- KafkaConnector */

static void connector_blame(struct fact_connector *connector, const char *text)
{
    unsigned marks = 0;
    for (const char *line = text; line != NULL && *line != '\0';) {
        size_t len = strcspn(line, "\n");
        char *copy DV_CLEANUP_FREE = dv_strndup(line, len);
        marks |= distributor_text_marks(copy) | (dv_starts_with(copy, "Caused by: ") ? distributor_text_marks(copy + 11) : 0U);
        line += line[len] == '\n' ? len + 1 : len;
    }
    connector->authorization = (marks & DISTRIBUTOR_MARK_AUTHORIZATION) != 0;
    connector->plugin_missing = (marks & DISTRIBUTOR_MARK_PLUGIN) != 0;
}

static void connector_trace(struct fact_connector *connector, const json_t *holder)
{
    const char *trace = distributor_json_text(json_object_get(holder, "trace"));
    if (connector->cause[0] != '\0' || trace == NULL)
        return;
    distributor_root_cause(trace, connector->cause, sizeof connector->cause);
    connector_blame(connector, trace);
}

/* A sum, so that the order of the tasks says nothing. */
static uint64_t connector_placed(const json_t *task)
{
    const char *worker = distributor_json_text(json_object_get(task, "worker_id"));
    int64_t id = distributor_json_int(json_object_get(task, "id"), -1);
    if (worker == NULL || worker[0] == '\0')
        return 0;
    return dv_hash64(dv_hash64(DV_HASH_INIT, &id, sizeof id), worker, strlen(worker));
}

static void connector_tasks(struct fact_connector *connector, const json_t *tasks)
{
    size_t i = 0;
    const json_t *task = NULL;
    connector->first_failed_task = -1;
    json_array_foreach(tasks, i, task)
    {
        enum fact_connector_state state = strimzi_state(json_object_get(task, "state"));
        connector->tasks++;
        connector->workers += connector_placed(task);
        connector->tasks_running += state == FACT_STATE_RUNNING ? 1 : 0;
        if (state != FACT_STATE_FAILED)
            continue;
        int64_t id = distributor_json_int(json_object_get(task, "id"), (int64_t)i);
        if (connector->tasks_failed++ == 0)
            connector->first_failed_task = id >= 0 && id <= INT32_MAX ? (int32_t)id : (int32_t)i;
        connector_trace(connector, task);
    }
}

static void connector_conditions(struct fact_connector *connector, const json_t *object)
{
    const json_t *not_ready = distributor_json_condition(object, "NotReady");
    const char *reason = distributor_json_text(json_object_get(not_ready, "reason"));
    const char *message = distributor_json_text(json_object_get(not_ready, "message"));
    connector->ready = distributor_json_condition(object, "Ready") != NULL;
    connector->not_ready = not_ready != NULL;
    bool paused = distributor_json_condition(object, DISTRIBUTOR_PAUSED) != NULL ||
                  distributor_json_true(distributor_json_at(object, "metadata", "annotations", "strimzi.io/pause-reconciliation", NULL));
    connector->not_ready_reason = dv_strdup(paused ? DISTRIBUTOR_PAUSED : reason != NULL ? reason : "");
    if (message == NULL)
        return;
    connector->conflict = strimzi_passes(message);
    if (connector->cause[0] != '\0' || strimzi_points_elsewhere(message))
        return;
    strimzi_condition_cause(message, connector->cause);
    connector_blame(connector, message);
}

static char *connector_topics(const json_t *config)
{
    const char *topics = distributor_json_text(json_object_get(config, "topics"));
    if (topics == NULL)
        topics = distributor_json_text(json_object_get(config, "topics.regex"));
    return dv_strdup(topics);
}

static uint64_t connector_hash(const json_t *spec)
{
    static const char *const keys[] = {"class", "config", "tasksMax"};
    uint64_t hash = DV_HASH_INIT;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *value = json_object_get(spec, keys[i]);
        char *text DV_CLEANUP_FREE = value != NULL ? json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        hash = dv_hash64(hash, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
        hash = dv_hash64(hash, "\n", 1);
    }
    return hash;
}

static void connector_spec(struct fact_connector *connector, const json_t *spec)
{
    const json_t *config = json_object_get(spec, "config");
    const json_t *state = json_object_get(spec, "state");
    connector->auto_restart_on = distributor_json_true(distributor_json_at(spec, "autoRestart", "enabled", NULL));
    /* state wins over the deprecated pause where both stand */
    connector->want_stopped = json_is_string(state) ? distributor_json_is(state, "stopped") || distributor_json_is(state, "paused")
                                                    : distributor_json_true(json_object_get(spec, "pause"));
    connector->class_name = distributor_json_dup(json_object_get(spec, "class"));
    connector->group_override = dv_strdup(distributor_json_text(json_object_get(config, "consumer.override.group.id")));
    connector->topics = connector_topics(config);
    connector->spec_hash = connector_hash(spec);
}

/* Strimzi waits n * n + n minutes after the n-th restart in a row, an hour at most. */
static void connector_restarts(struct fact_connector *connector, const json_t *restarts)
{
    int64_t count = distributor_json_int(json_object_get(restarts, "count"), 0);
    int64_t last_ms = strimzi_time(json_object_get(restarts, "lastRestartTimestamp"));
    int64_t minutes = count > 0 && count <= 7 ? count * count + count : 60;
    connector->auto_restarts = count;
    connector->restarted_ms = count > 0 ? last_ms : 0;
    connector->restart_due_ms = count > 0 && last_ms > 0 ? last_ms + minutes * 60000 : 0;
}

struct fact_connector *distributor_connector(const json_t *object)
{
    struct fact_connector *connector = dv_alloc(sizeof *connector);
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *status = json_object_get(object, "status");
    const json_t *observed = json_object_get(status, "connectorStatus");
    connector->name = distributor_json_dup(json_object_get(metadata, "name"));
    connector->cluster = distributor_json_dup(distributor_json_at(metadata, "labels", "strimzi.io/cluster", NULL));
    connector->uid = distributor_json_dup(json_object_get(metadata, "uid"));
    connector->generation = distributor_json_int(json_object_get(metadata, "generation"), 0);
    connector->observed_generation = distributor_json_int(json_object_get(status, "observedGeneration"), 0);
    connector->created_ms = strimzi_time(json_object_get(metadata, "creationTimestamp"));
    connector->deleting = json_is_string(json_object_get(metadata, "deletionTimestamp"));
    connector->state = strimzi_state(distributor_json_at(observed, "connector", "state", NULL));
    connector->source = distributor_json_is(json_object_get(observed, "type"), "source");
    if (connector->state == FACT_STATE_FAILED)
        connector_trace(connector, json_object_get(observed, "connector"));
    connector_tasks(connector, json_object_get(observed, "tasks"));
    connector_conditions(connector, object);
    connector_restarts(connector, json_object_get(status, "autoRestart"));
    connector_spec(connector, json_object_get(object, "spec"));
    return connector;
}

/* ---------------------------------------------------------------- KafkaConnect */

static void connect_plugins(struct fact_connect *connect, const json_t *plugins)
{
    size_t count = json_array_size(plugins);
    size_t i = 0;
    const json_t *plugin = NULL;
    if (count == 0)
        return;
    connect->plugins = dv_calloc(count, sizeof *connect->plugins);
    json_array_foreach(plugins, i, plugin)
    {
        const char *name = distributor_json_text(json_object_get(plugin, "class"));
        if (name != NULL)
            connect->plugins[connect->plugin_count++] = dv_strdup(name);
    }
}

static void connect_status(struct fact_connect *connect, const json_t *object)
{
    const json_t *not_ready = distributor_json_condition(object, "NotReady");
    const char *message = distributor_json_text(json_object_get(not_ready, "message"));
    connect->ready = distributor_json_condition(object, "Ready") != NULL;
    connect->not_ready = not_ready != NULL;
    connect->not_ready_reason = distributor_json_dup(json_object_get(not_ready, "reason"));
    if (message != NULL)
        strimzi_condition_cause(message, connect->cause);
    connect_plugins(connect, distributor_json_at(object, "status", "connectorPlugins", NULL));
}

struct fact_connect *distributor_connect(const json_t *object)
{
    struct fact_connect *connect = dv_alloc(sizeof *connect);
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *annotations = json_object_get(metadata, "annotations");
    const json_t *spec = json_object_get(object, "spec");
    connect->name = distributor_json_dup(json_object_get(metadata, "name"));
    connect->uid = distributor_json_dup(json_object_get(metadata, "uid"));
    connect->generation = distributor_json_int(json_object_get(metadata, "generation"), 0);
    connect->observed_generation = distributor_json_int(distributor_json_at(object, "status", "observedGeneration", NULL), 0);
    connect->connector_resources = distributor_json_true(json_object_get(annotations, "strimzi.io/use-connector-resources"));
    connect->paused = distributor_json_true(json_object_get(annotations, "strimzi.io/pause-reconciliation"));
    connect->replicas = distributor_json_int(json_object_get(spec, "replicas"), 1);
    connect->flush_ms = distributor_json_int(distributor_json_at(spec, "config", "offset.flush.interval.ms", NULL), -1);
    connect_status(connect, object);
    return connect;
}

/* ---------------------------------------------------------------- warnings */

char *distributor_warnings(const json_t *object)
{
    struct dv_buf out = DV_BUF_INIT(1024);
    const json_t *conditions = distributor_json_at(object, "status", "conditions", NULL);
    size_t i = 0;
    const json_t *condition = NULL;
    json_array_foreach(conditions, i, condition)
    {
        const char *reason = distributor_json_text(json_object_get(condition, "reason"));
        if (reason != NULL && distributor_json_is(json_object_get(condition, "type"), "Warning"))
            (void)dv_buf_addf(&out, "%s%s", out.len > 0 ? ", " : "", reason);
    }
    char *text = out.len > 0 ? dv_buf_take(&out) : NULL;
    dv_buf_free(&out);
    return text;
}

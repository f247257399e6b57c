/* Strimzi's operator: KafkaConnect, KafkaConnectors' status in its rhythm (when told of a change, and at the reconcile interval; written
 * only when it differs), automatic restarts, the pod. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char *strimzi_connect(const struct world_dist *dist)
{
    return dist->side == 0 ? "dc1-distributor" : "dc2-distributor";
}

/* ---------------------------------------------------------------- the pod */

void world_pod_put(struct world_dist *dist)
{
    char name[64];
    char container[64];
    (void)dv_format(name, sizeof name, "%s-connect-0", strimzi_connect(dist));
    (void)dv_format(container, sizeof container, "%s-connect", strimzi_connect(dist));
    json_t *meta = world_meta(name, "strimzi.io/cluster", strimzi_connect(dist));
    json_object_set_new(json_object_get(meta, "labels"), "strimzi.io/kind", json_string("KafkaConnect"));
    json_object_set_new(json_object_get(meta, "labels"), "strimzi.io/name", json_string(container));
    json_t *state = dist->pod_up ? json_pack("{s:{s:s}}", "running", "startedAt", "2026-03-02T10:00:00Z")
                                 : json_pack("{s:{s:s}}", "waiting", "reason", "CrashLoopBackOff");
    json_t *pod = json_pack("{s:s, s:s, s:o, s:{s:[{s:s}]}, s:{s:s, s:[{s:s, s:s}], s:[{s:s, s:b, s:I, s:o}]}}", "apiVersion", "v1", "kind",
                            "Pod", "metadata", meta, "spec", "containers", "name", container, "status", "phase", "Running", "conditions",
                            "type", "Ready", "status", dist->pod_up ? "True" : "False", "containerStatuses", "name", container, "ready",
                            dist->pod_up, "restartCount", (json_int_t)dist->restarts, "state", state);
    world_put(dist->world, dist->server, "pods", pod, NULL);
}

/* ---------------------------------------------------------------- KafkaConnect */

static void strimzi_put_connect(struct world_dist *dist)
{
    json_t *meta = world_meta(strimzi_connect(dist), NULL, NULL);
    json_t *old = world_get(dist->world, dist->server, "kafkaconnects", strimzi_connect(dist));
    json_object_set_new(meta, "annotations", json_pack("{s:s}", "strimzi.io/use-connector-resources", "true"));
    if (old != NULL) {
        json_decref(meta);
        return;
    }
    json_t *plugins = json_pack("[{s:s}, {s:s}]", "class", "io.distverify.lab.connect.OffsetDistributor", "class",
                                "io.distverify.lab.connect.OffsetCommitter");
    if (!dist->plugin_missing)
        json_array_append_new(plugins, json_pack("{s:s}", "class", "io.distverify.lab.connect.MessageDistributor"));
    json_t *object = json_pack("{s:s, s:s, s:o, s:{s:i, s:{s:I}}, s:{s:i, s:[{s:s, s:s}], s:o}}", "apiVersion", "kafka.strimzi.io/v1",
                               "kind", "KafkaConnect", "metadata", meta, "spec", "replicas", 1, "config", "offset.flush.interval.ms",
                               (json_int_t)dist->world->flush, "status", "observedGeneration", 1, "conditions", "type", "Ready", "status",
                               "True", "connectorPlugins", plugins);
    world_put(dist->world, dist->server, "kafkaconnects", object, NULL);
}

/* ---------------------------------------------------------------- KafkaConnectors */

static json_t *strimzi_task(const struct world_connector *connector, int id)
{
    bool failed = connector->state == WORLD_TASK_FAILED && id == 0;
    json_t *task = json_pack("{s:i, s:s, s:s}", "id", id, "state", failed ? "FAILED" : "RUNNING", "worker_id", "127.1.0.1:8083");
    if (failed)
        json_object_set_new(task, "trace", json_string(connector->trace));
    return task;
}

static json_t *strimzi_observed(const struct world_connector *connector)
{
    bool failed = connector->state == WORLD_TASK_CONNECTOR_FAILED;
    json_t *own = json_pack("{s:s, s:s}", "state", failed ? "FAILED" : "RUNNING", "worker_id", "127.1.0.1:8083");
    json_t *tasks = json_array();
    if (failed)
        json_object_set_new(own, "trace", json_string(connector->trace));
    for (int i = 0; i < (connector->kind == MODEL_MD ? 2 : 1) && connector->state != WORLD_TASK_STARTING && !failed; i++)
        json_array_append_new(tasks, strimzi_task(connector, i));
    return json_pack("{s:s, s:s, s:o, s:o}", "name", connector->name, "type",
                     connector->kind == MODEL_OD && connector->dist->manners.od_source ? "source" : "sink", "connector", own, "tasks",
                     tasks);
}

static json_t *strimzi_condition(const char *type, const char *reason, const char *message)
{
    json_t *condition = json_pack("{s:s, s:s}", "type", type, "status", "True");
    if (reason != NULL) {
        json_object_set_new(condition, "reason", json_string(reason));
        json_object_set_new(condition, "message", json_string(message));
    }
    return json_pack("[o]", condition);
}

static json_t *strimzi_status(const struct world_connector *connector, int64_t generation)
{
    const struct world_dist *dist = connector->dist;
    json_t *status = json_pack("{s:I, s:i}", "observedGeneration", (json_int_t)generation, "tasksMax", connector->kind == MODEL_MD ? 2 : 1);
    json_t *conditions = NULL;
    if (dist->plugin_missing && connector->kind == MODEL_MD)
        conditions =
            strimzi_condition("NotReady", "ConnectRestException",
                              "PUT /connectors/md/config returned 500 (Internal Server Error): Failed to find any class that implements "
                              "Connector and which name matches io.distverify.lab.connect.MessageDistributor");
    else if (!dist->pod_up)
        conditions = strimzi_condition("NotReady", "ConnectException", "Connection refused: dc-connect-api.kafka.svc/127.1.0.1:8083");
    else if (connector->state == WORLD_TASK_FAILED)
        conditions =
            strimzi_condition("NotReady", "Throwable", "The following tasks have failed: 0, see connectorStatus for more details.");
    else if (connector->state == WORLD_TASK_CONNECTOR_FAILED)
        conditions = strimzi_condition("NotReady", "Throwable", "Connector has failed, see connectorStatus for more details.");
    else
        conditions = strimzi_condition("Ready", NULL, NULL);
    if (dist->pod_up && !dist->plugin_missing)
        json_object_set_new(status, "connectorStatus", strimzi_observed(connector));
    json_object_set_new(status, "conditions", conditions);
    if (connector->auto_restarts > 0)
        json_object_set_new(status, "autoRestart", json_pack("{s:I}", "count", (json_int_t)connector->auto_restarts));
    return status;
}

static void strimzi_auto_restart(struct world_connector *connector)
{
    struct world_dist *dist = connector->dist;
    if (!dist->manners.auto_restart || !connector->wanted || (connector->state != WORLD_TASK_FAILED))
        return;
    connector->auto_restarts++;
    world_connector_start(connector, world_between(dist->world, 80, 400));
}

static void strimzi_look(struct world_dist *dist, struct world_connector *connector)
{
    json_t *old = world_get(dist->world, dist->server, "kafkaconnectors", connector->name);
    if (old == NULL)
        return;
    json_t *object = json_deep_copy(old);
    int64_t generation = json_integer_value(json_object_get(json_object_get(old, "metadata"), "generation"));
    json_object_set_new(object, "status", strimzi_status(connector, generation));
    world_put(dist->world, dist->server, "kafkaconnectors", object, NULL);
}

static void strimzi_look_all(struct world *world, void *arg)
{
    struct world_dist *dist = arg;
    (void)world;
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        strimzi_look(dist, &dist->connector[c]);
}

void world_strimzi_soon(struct world_dist *dist)
{
    if (dist->manners.strimzi_slow)
        return; /* only at its interval */
    int64_t delay = dist->manners.strimzi_delay > 0 ? dist->manners.strimzi_delay : world_between(dist->world, 50, 500);
    world_after(dist->world, delay, strimzi_look_all, NULL, dist);
}

static void strimzi_interval(struct world *world, void *arg)
{
    struct world_dist *dist = arg;
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        strimzi_auto_restart(&dist->connector[c]);
    strimzi_look_all(world, dist);
    world_after(world, world->reconcile, strimzi_interval, NULL, dist);
}

void world_strimzi_tick(struct world_dist *dist)
{
    strimzi_put_connect(dist);
    world_after(dist->world, world_between(dist->world, 1, 900), strimzi_interval, NULL, dist);
}

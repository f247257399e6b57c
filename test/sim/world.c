/* The world as a whole: its making and end, the resource, the controller inside it. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---------------------------------------------------------------- the resource */

static json_t *world_spec_cluster(int side)
{
    char name[8];
    char text[6][80];
    const char *ref = side == 0 ? "configMapRef" : "secretRef";
    (void)dv_format(name, sizeof name, "dc%d", side + 1);
    (void)dv_format(text[0], sizeof text[0], "%s-distributor", name);
    (void)dv_format(text[1], sizeof text[1], "%s-distributor-values", name);
    (void)dv_format(text[2], sizeof text[2], "%s-message-distributor-level-{level}", name);
    (void)dv_format(text[3], sizeof text[3], "%s-offset-distributor-level-{level}", name);
    (void)dv_format(text[4], sizeof text[4], "%s-offset-committer", name);
    (void)dv_format(text[5], sizeof text[5], "%s-kafka:9093", name);
    json_t *switches = json_pack("{s:{s:[s,s]}, s:{s:[s,s]}, s:{s:[s,s,s], s:s}, s:{s:[s,s,s], s:s}, s:{s:[s,s,s], s:s}}", "distribution",
                                 "path", "distribution", "enabled", "init", "path", "init", "enabled", "messageDistributor", "path",
                                 "distribution", "messageDistributor", "enabled", "connector", text[2], "offsetDistributor", "path",
                                 "distribution", "offsetDistributor", "enabled", "connector", text[3], "offsetCommitter", "path",
                                 "distribution", "offsetCommitter", "enabled", "connector", text[4]);
    return json_pack("{s:s, s:{s:{s:s}, s:{s:{s:{s:s}}}, s:[s], s:{s:{s:s, s:s}}, s:[s,s], s:o}, s:{s:s}}", "name", name, "distributor",
                     "kafkaConnectRef", "name", text[0], "initJob", "selector", "matchLabels", "app.kubernetes.io/instance", text[0],
                     "principals", world_principal(side), "values", ref, "name", text[1], "key", "values.yaml", "principalsPath", "init",
                     "principals", "switches", switches, "kafka", "bootstrapServers", text[5]);
}

static json_t *world_spec(bool field)
{
    json_t *spec =
        json_pack("{s:i, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:o, s:o}}", "level", 1, "topic", "name", WORLD_TOPIC, "group", "name", WORLD_GROUP,
                  "timestampsTopic", "name", WORLD_TIMESTAMPS, "clusters", "a", world_spec_cluster(0), "b", world_spec_cluster(1));
    if (field) {
        json_object_set_new(spec, "deadlines", json_pack("{s:s}", "run", "2h"));
        return spec;
    }
    json_object_set_new(spec, "window", json_string("3s"));
    json_object_set_new(spec, "checks", json_pack("{s:s, s:s, s:s}", "settle", "3s", "held", "2s", "reconcileInterval", "5s"));
    json_object_set_new(spec, "deadlines", json_pack("{s:s, s:s}", "stage", "60s", "run", "15m"));
    return spec;
}

json_t *world_make_resource(struct world *world, const char *name)
{
    return json_pack("{s:s, s:s, s:o, s:O, s:{s:i}}", "apiVersion", "distverify.io/v1alpha1", "kind", "DistributionVerification",
                     "metadata", world_meta(name, NULL, NULL), "spec", world->spec, "status", "observedGeneration", -1);
}

json_t *world_resource(struct world *world, const char *name)
{
    return world_get(world, 0, CONTROLLER_PLURAL, name);
}

const char *world_status_text(struct world *world, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(world_resource(world, WORLD_RESOURCE), "status"), key));
    return text != NULL ? text : "";
}

/* ---------------------------------------------------------------- life */

static void world_kafka_init(struct world *world, int index)
{
    struct world_kafka *kafka = &world->kafka[index];
    kafka->index = index;
    kafka->refuse_ask = -1;
    (void)dv_format(kafka->id, sizeof kafka->id, "cluster-id-of-dc%d", index + 1);
    struct world_topic *topic = world_topic_make(kafka, WORLD_TOPIC, WORLD_PARTITIONS);
    /* What was there before: replayed by the Message Distributors when they are switched on for the first time. */
    for (int i = 0; i < 7; i++) {
        char value[32];
        struct fact_record record = {.partition = i % WORLD_PARTITIONS, .timestamp_ms = world_wall(world) - 1000000 + i};
        record.value = (unsigned char *)dv_format(value, sizeof value, "old %d of dc%d", i, index + 1);
        record.value_len = strlen(value);
        (void)world_append(world, index, topic, &record, i == 6);
    }
}

struct world *world_new(uint64_t seed, bool field)
{
    struct world *world = dv_alloc(sizeof *world);
    world->random = seed * 7919 + 17;
    world_seed_ids(seed + 1);
    world->now = 5000000;
    world->wall_offset = INT64_C(1772445600123) + (int64_t)(world_draw(world) % 1000);
    world->slow = 1;
    world->max_runs = 8;
    world->lease_ms = INT64_MAX;
    world->restart_ms = 1500;
    world->version = 1000;
    world->field = field;
    world->window = field ? 60000 : 3000;
    world->flush = field ? 60000 : 1000;
    world->reconcile = field ? 120000 : 5000;
    world->produced = json_object();
    world->committed = json_object();
    world->happened = json_array();
    world->spec = world_spec(field);
    world->due = INT64_MAX;
    for (int i = 0; i < MODEL_SIDES; i++) {
        world->dist[i].world = world;
        world->dist[i].side = i;
        world_kafka_init(world, i);
    }
    return world;
}

void world_free(struct world *world)
{
    world_controller_stop(world);
    for (size_t i = 0; i < world->heap_count; i++)
        if (world->heap[i].drop != NULL)
            world->heap[i].drop(world->heap[i].arg);
    free(world->heap);
    world_drop_epoch(world);
    world_readers_free(world, true);
    for (int i = 0; i < MODEL_SIDES; i++) {
        world_kafka_free(&world->kafka[i]);
        world_dist_free(&world->dist[i]);
    }
    world_kube_free(world);
    for (size_t i = 0; i < world->action_count; i++)
        free(world->actions[i].what);
    free(world->actions);
    json_decref(world->spec);
    json_decref(world->produced);
    json_decref(world->committed);
    json_decref(world->happened);
    free(world);
}

/* ---------------------------------------------------------------- the controller */

static struct dv_now world_clock(void *arg)
{
    const struct world *world = arg;
    return (struct dv_now){.mono_ms = world->now, .wall_ms = world_wall(world)};
}

static void world_wake(void *arg)
{
    struct world *world = arg;
    world->woken = true;
}

void world_controller_start(struct world *world)
{
    struct controller_options options = {
        .max_runs = world->max_runs, .instance = "sim", .clock = world_clock, .wake = world_wake, .arg = world};
    world->epoch++;
    world->dead = false;
    world->controller = controller_new(&options, world_kube_port(world), world_kafka_port(world));
    controller_start(world->controller);
    world->woken = true;
}

/* As a process that is killed: nothing that it does now reaches the world; what is under way there goes on. */
void world_controller_stop(struct world *world)
{
    world->dead = true;
    controller_free(world->controller);
    world->controller = NULL;
    world->epoch++;
    world->client_count = 0;
    world->due = INT64_MAX;
    world->woken = false;
    world_drop_epoch(world);
    world_readers_free(world, true);
}

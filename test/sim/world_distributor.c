/* The Distributor of one side: its values, the tool that applies them, the init job. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/b64.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "values/values.h"

static const char values_template[] = "# Distributor of dc%d; applied by the platform's own tool\n"
                                      "nameOverride: \"\"   # keep empty\n"
                                      "\n"
                                      "init:\n"
                                      "  enabled: true\n"
                                      "  principals:\n"
                                      "  - 'User:CN=dist-dc1,OU=Streaming #1,O=Example'   # quoted: has commas and blanks\n"
                                      "  - 'User:CN=dist-dc2,OU=Streaming #1,O=Example'\n"
                                      "distribution:\n"
                                      "  # switched by hand until it is verified\n"
                                      "  enabled: false\n"
                                      "  level: 1\n"
                                      "  messageDistributor: {enabled: false, tasksMax: 2}\n"
                                      "  offsetDistributor:\n"
                                      "    enabled: false\n"
                                      "    windowMs: 3000\n"
                                      "  offsetCommitter:\n"
                                      "    enabled: false   # the other side's offsets\n";

const char *world_principal(int side)
{
    return side == 0 ? "User:CN=dist-dc1,OU=Streaming #1,O=Example" : "User:CN=dist-dc2,OU=Streaming #1,O=Example";
}

json_t *world_meta(const char *name, const char *label_key, const char *label)
{
    json_t *meta = json_pack("{s:s, s:s}", "name", name, "namespace", WORLD_NS);
    if (label_key != NULL)
        json_object_set_new(meta, "labels", json_pack("{s:s}", label_key, label));
    return meta;
}

/* ---------------------------------------------------------------- values */

static const char *dist_plural(const struct world_dist *dist)
{
    return dist->secret ? "secrets" : "configmaps";
}

static const char *dist_values_name(const struct world_dist *dist)
{
    return dist->side == 0 ? "dc1-distributor-values" : "dc2-distributor-values";
}

char *world_values_text(struct world *world, int side)
{
    struct world_dist *dist = &world->dist[side];
    json_t *object = world_get(world, dist->server, dist_plural(dist), dist_values_name(dist));
    const char *text = json_string_value(json_object_get(json_object_get(object, "data"), "values.yaml"));
    size_t len = 0;
    if (text == NULL)
        return NULL;
    return dist->secret ? dv_b64_decode(text, strlen(text), &len) : dv_strdup(text);
}

void world_values_write(struct world *world, int side, const char *text, const char *manager)
{
    struct world_dist *dist = &world->dist[side];
    char *coded = dist->secret ? dv_b64_encode(text, strlen(text)) : dv_strdup(text);
    json_t *object = json_pack("{s:s, s:s, s:o, s:{s:s}}", "apiVersion", "v1", "kind", dist->secret ? "Secret" : "ConfigMap", "metadata",
                               world_meta(dist_values_name(dist), NULL, NULL), "data", "values.yaml", coded);
    free(coded);
    world_put(world, dist->server, dist_plural(dist), object, manager);
    world_values_changed(world, side);
}

static bool dist_read(struct world *world, int side, bool on[MODEL_SWITCHES], char ***principals, size_t *count)
{
    static const char *const paths[MODEL_SWITCHES][3] = {{"distribution", "enabled", NULL},
                                                         {"init", "enabled", NULL},
                                                         {"distribution", "messageDistributor", "enabled"},
                                                         {"distribution", "offsetDistributor", "enabled"},
                                                         {"distribution", "offsetCommitter", "enabled"}};
    static const char *const list[] = {"init", "principals"};
    struct values_doc *doc = NULL;
    char *text = world_values_text(world, side);
    bool good = text != NULL && values_parse(text, strlen(text), &doc, NULL) == 0;
    for (int i = 0; i < MODEL_SWITCHES && good; i++)
        if (values_get_bool(doc, (struct values_path){paths[i], paths[i][2] != NULL ? 3 : 2}, &on[i], NULL) != 0)
            on[i] = false;
    if (good && principals != NULL)
        (void)values_get_strings(doc, (struct values_path){list, 2}, principals, count, NULL);
    values_doc_free(doc);
    free(text);
    return good;
}

void world_switches(struct world *world, int side, char out[12])
{
    bool on[MODEL_SWITCHES] = {false};
    bool good = dist_read(world, side, on, NULL, NULL);
    for (int i = 0; i < MODEL_SWITCHES; i++)
        out[i] = good ? (on[i] ? '1' : '0') : '?';
    out[MODEL_SWITCHES] = '\0';
}

/* ---------------------------------------------------------------- init job */

struct dist_job {
    struct world_dist *dist;
    char name[64];
    char **principals;
    size_t count;
    bool on[MODEL_SWITCHES];
};

static void dist_job_free(void *arg)
{
    struct dist_job *job = arg;
    values_strings_free(job->principals, job->count);
    free(job);
}

static void dist_grant(struct dist_job *job, const char *principal)
{
    struct world_dist *dist = job->dist;
    struct world_kafka *kafka = &dist->world->kafka[dist->side];
    int64_t skip = dist->manners.init_skip;
    bool narrow = dist->manners.init_narrow != 0; /* only what is enabled now */
    bool any = job->on[MODEL_SW_MD] || job->on[MODEL_SW_OD] || job->on[MODEL_SW_OC];
    bool own = dv_streq(principal, world_principal(dist->side));
    if (!(skip & WORLD_GRANT_GROUP) && own && (!narrow || any))
        world_allow(kafka, principal, FACT_ACL_GROUP, "connect-", true, FACT_ACL_READ, false);
    if (!(skip & WORLD_GRANT_TOPIC_READ) && own && (!narrow || job->on[MODEL_SW_MD]))
        world_allow(kafka, principal, FACT_ACL_TOPIC, "distribution-", true, FACT_ACL_READ, false);
    if (!(skip & WORLD_GRANT_TOPIC_WRITE) && !own)
        world_allow(kafka, principal, FACT_ACL_TOPIC, "distribution-", true, FACT_ACL_WRITE, false);
    if (!(skip & WORLD_GRANT_TS_READ) && own && (!narrow || job->on[MODEL_SW_OC]))
        world_allow(kafka, principal, FACT_ACL_TOPIC, WORLD_TIMESTAMPS, false, FACT_ACL_READ, false);
    if (!(skip & WORLD_GRANT_TS_WRITE) && !own && (!narrow || job->on[MODEL_SW_OC]))
        world_allow(kafka, principal, FACT_ACL_TOPIC, WORLD_TIMESTAMPS, false, FACT_ACL_WRITE, false);
}

static void dist_job_put(struct world_dist *dist, const char *name, const char *condition)
{
    json_t *job =
        json_pack("{s:s, s:s, s:o, s:{}}", "apiVersion", "batch/v1", "kind", "Job", "metadata",
                  world_meta(name, "app.kubernetes.io/instance", dist->side == 0 ? "dc1-distributor" : "dc2-distributor"), "spec");
    if (condition != NULL)
        json_object_set_new(job, "status",
                            json_pack("{s:[{s:s, s:s, s:s}]}", "conditions", "type", condition, "status", "True", "message",
                                      "Job has reached the specified backoff limit"));
    world_put(dist->world, dist->server, "jobs", job, NULL);
}

static void dist_job_done(struct world *world, void *arg)
{
    struct dist_job *job = arg;
    struct world_dist *dist = job->dist;
    struct world_kafka *kafka = &world->kafka[dist->side];
    if (kafka->down) {
        world_after(world, 1000, dist_job_done, dist_job_free, job);
        return;
    }
    if (dist->manners.init_fail) {
        dist_job_put(dist, job->name, "Failed");
        dist_job_free(job);
        return;
    }
    for (size_t i = 0; i < job->count; i++)
        dist_grant(job, job->principals[i]);
    if (job->on[MODEL_SW_OC] && !dist->manners.init_no_topic)
        (void)world_topic_make(kafka, WORLD_TIMESTAMPS, 2);
    if (dist->manners.init_hook)
        world_remove(world, dist->server, "jobs", job->name);
    else
        dist_job_put(dist, job->name, "Complete");
    world_connectors_wake(world, dist->side);
    dist_job_free(job);
}

static void dist_run_job(struct world_dist *dist, const bool *on, char **principals, size_t count)
{
    struct world *world = dist->world;
    struct dist_job *job = dv_alloc(sizeof *job);
    job->dist = dist;
    job->principals = principals;
    job->count = count;
    memcpy(job->on, on, sizeof job->on);
    (void)dv_format(job->name, sizeof job->name, "dc%d-distributor-init-%lld", dist->side + 1, (long long)dist->revision);
    dist_job_put(dist, job->name, NULL);
    int64_t takes = dist->manners.init_delay > 0 ? dist->manners.init_delay : world_between(world, 100, 800);
    world_after(world, takes, dist_job_done, dist_job_free, job);
}

/* ---------------------------------------------------------------- applying */

static void dist_apply_connector(struct world_dist *dist, struct world_connector *connector, bool on)
{
    static const char *const classes[MODEL_CONNECTORS] = {"io.distverify.lab.connect.MessageDistributor",
                                                          "io.distverify.lab.connect.OffsetDistributor",
                                                          "io.distverify.lab.connect.OffsetCommitter"};
    static const char *const topics[MODEL_CONNECTORS] = {"distribution-.*", "__consumer_offsets", WORLD_TIMESTAMPS};
    struct world *world = dist->world;
    if (on == connector->wanted)
        return;
    connector->wanted = on;
    if (!on) {
        world_remove(world, dist->server, "kafkaconnectors", connector->name);
        world_connector_stop(connector, true);
        return;
    }
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:{s:s, s:i, s:{s:b}, s:{s:s}}}", "apiVersion", "kafka.strimzi.io/v1", "kind", "KafkaConnector", "metadata",
        world_meta(connector->name, "strimzi.io/cluster", dist->side == 0 ? "dc1-distributor" : "dc2-distributor"), "spec", "class",
        classes[connector->kind], "tasksMax", connector->kind == MODEL_MD ? 2 : 1, "autoRestart", "enabled",
        dist->manners.auto_restart != 0, "config", connector->kind == MODEL_MD ? "topics.regex" : "topics", topics[connector->kind]);
    if (connector->kind == MODEL_MD && dist->manners.own_group)
        json_object_set_new(json_object_get(json_object_get(object, "spec"), "config"), "consumer.override.group.id",
                            json_string(world_group(connector)));
    world_put(world, dist->server, "kafkaconnectors", object, NULL);
    if (dist->pod_up)
        world_connector_start(connector, dist->manners.start_delay > 0 ? dist->manners.start_delay : world_between(world, 80, 400));
    world_strimzi_soon(dist);
}

static void dist_revert(struct world *world, void *arg)
{
    struct world_dist *dist = arg;
    world_values_write(world, dist->side, dist->values_before, "gitops");
}

static void dist_apply(struct world *world, void *arg)
{
    struct world_dist *dist = arg;
    bool on[MODEL_SWITCHES] = {false};
    char **principals = NULL;
    size_t count = 0;
    dist->applying = false;
    if (dist->manners.applier_refuse || !dist_read(world, dist->side, on, &principals, &count))
        return;
    dist->revision++;
    if (on[MODEL_SW_INIT])
        dist_run_job(dist, on, principals, count);
    else
        values_strings_free(principals, count);
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        dist_apply_connector(dist, &dist->connector[c], on[MODEL_SW_DISTRIBUTION] && on[MODEL_SW_MD + c]);
    if (dist->manners.applier_revert > 0) {
        world_after(world, dist->manners.applier_revert, dist_revert, NULL, dist);
        dist->manners.applier_revert = 0;
    }
}

void world_values_changed(struct world *world, int side)
{
    struct world_dist *dist = &world->dist[side];
    if (dist->applying)
        return;
    dist->applying = true;
    world_after(world, dist->manners.applier_delay > 0 ? dist->manners.applier_delay : world_between(world, 100, 700), dist_apply, NULL,
                dist);
}

/* ---------------------------------------------------------------- life */

void world_dist_init(struct world *world, int side)
{
    static const char *const names[MODEL_CONNECTORS] = {"message-distributor-level-1", "offset-distributor-level-1", "offset-committer"};
    struct world_dist *dist = &world->dist[side];
    char text[2000];
    dist->world = world;
    dist->side = side;
    dist->secret = side == 1;
    dist->pod_up = true;
    dist->manners.md_skip_partition = -1;
    for (int c = 0; c < MODEL_CONNECTORS; c++) {
        struct world_connector *connector = &dist->connector[c];
        connector->dist = dist;
        connector->kind = (enum model_connector)c;
        (void)dv_format(connector->name, sizeof connector->name, "dc%d-%s", side + 1, names[c]);
        (void)dv_format(connector->group, sizeof connector->group, "connect-%s", connector->name);
    }
    (void)dv_format(text, sizeof text, values_template, side + 1);
    dist->values_before = dv_strdup(text);
    world_values_write(world, side, text, "helm-user");
    world_pod_put(dist);
    world_strimzi_tick(dist);
}

void world_dist_free(struct world_dist *dist)
{
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        world_pending_free(&dist->connector[c]);
    for (size_t i = 0; i < dist->line_count; i++)
        free(dist->lines[i].text);
    free(dist->lines);
    free(dist->values_before);
}

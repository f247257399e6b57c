/* What can be different from a healthy world: numbers of a side's manners, and deeds. */
#include "world.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---------------------------------------------------------------- numbers */

#define MANNER(name, field)                         \
    {                                               \
        name, offsetof(struct world_manners, field) \
    }

static const struct {
    const char *name;
    size_t at;
} faults_numbers[] = {
    MANNER("md.ignoreFlags", md_ignore_flags),
    MANNER("md.level", md_level),
    MANNER("md.delay", md_delay),
    MANNER("md.stall", md_stall),
    MANNER("md.dropEvery", md_drop_every),
    MANNER("md.duplicate", md_duplicate),
    MANNER("md.alter", md_alter),
    MANNER("md.skipPartition", md_skip_partition),
    MANNER("md.failAfter", md_fail_after),
    MANNER("od.silent", od_silent),
    MANNER("od.previous", od_previous),
    MANNER("od.binary", od_binary),
    MANNER("od.elsewhere", od_elsewhere),
    MANNER("oc.ignore", oc_ignore),
    MANNER("oc.ahead", oc_ahead),
    MANNER("oc.behind", oc_behind),
    MANNER("oc.beyondEnd", oc_beyond),
    MANNER("oc.backwards", oc_backwards),
    MANNER("oc.flush", oc_flush),
    MANNER("oc.rewind", oc_rewind),
    MANNER("oc.onlyPartitions", oc_only_partition),
    MANNER("init.skip", init_skip),
    MANNER("init.fail", init_fail),
    MANNER("init.delay", init_delay),
    MANNER("init.noTopic", init_no_topic),
    MANNER("init.narrow", init_narrow),
    MANNER("init.hook", init_hook),
    MANNER("applier.delay", applier_delay),
    MANNER("applier.refuse", applier_refuse),
    MANNER("applier.revert", applier_revert),
    MANNER("strimzi.autoRestart", auto_restart),
    MANNER("strimzi.delay", strimzi_delay),
    MANNER("strimzi.slow", strimzi_slow),
    MANNER("connector.startDelay", start_delay),
    MANNER("connect.holdBack", hold_back),
    MANNER("connect.newProtocol", new_protocol),
    MANNER("od.source", od_source),
    MANNER("md.ownGroup", own_group),
    MANNER("replicate", replicate),
};

static const struct {
    const char *name;
    size_t at;
} faults_kafka_numbers[] = {
    {"group.members", offsetof(struct world_kafka, group_members)},
    {"kafka.loseProduce", offsetof(struct world_kafka, lose_produce)},
    {"kafka.loseCommit", offsetof(struct world_kafka, lose_commit)},
    {"kafka.denyAsk", offsetof(struct world_kafka, refuse_ask)},
};

/* ---------------------------------------------------------------- deeds */

struct fault {
    struct world *world;
    int side;
    const char *value; /* "" when none was given */
    int64_t number;    /* of value; 1 when none was given */
};

static struct world_dist *fault_dist(const struct fault *f)
{
    return &f->world->dist[f->side];
}

static struct world_kafka *fault_kafka(const struct fault *f)
{
    return &f->world->kafka[f->side];
}

static void fault_kafka_back(struct world *world, void *arg)
{
    struct world_kafka *kafka = arg;
    kafka->down = false;
    world_readers_wake(world, kafka->index);
}

static void fault_kafka_down(const struct fault *f)
{
    fault_kafka(f)->down = true;
    if (f->value[0] != '\0')
        world_after(f->world, f->number, fault_kafka_back, NULL, fault_kafka(f));
}

static void fault_kafka_refuse(const struct fault *f)
{
    static const struct {
        const char *name;
        enum dv_err_kind kind;
    } kinds[] = {{"auth", DV_ERR_AUTH}, {"cert", DV_ERR_CERT}, {"secret", DV_ERR_SECRET}, {"denied", DV_ERR_DENIED}, {"none", DV_ERR_NONE}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (dv_streq(kinds[i].name, f->value))
            fault_kafka(f)->refuse = kinds[i].kind;
}

static void fault_topic_remove(const struct fault *f)
{
    world_topic_remove(fault_kafka(f), WORLD_TOPIC);
}

static void fault_topic_partitions(const struct fault *f)
{
    world_topic(fault_kafka(f), WORLD_TOPIC)->fact.partitions = (int32_t)f->number;
}

static void fault_topic_log_append(const struct fault *f)
{
    world_topic(fault_kafka(f), WORLD_TOPIC)->fact.create_time = false;
}

static void fault_topic_compacted(const struct fault *f)
{
    world_topic(fault_kafka(f), WORLD_TOPIC)->fact.compacted = true;
}

static void fault_topic_hidden(const struct fault *f)
{
    struct fact_topic *fact = &world_topic(fault_kafka(f), WORLD_TOPIC)->fact;
    *fact = (struct fact_topic){.found = true, .partitions = fact->partitions, .retention_ms = -1};
}

static void fault_topic_retention(const struct fault *f)
{
    world_topic(fault_kafka(f), WORLD_TOPIC)->fact.retention_ms = f->number;
}

static void fault_topic_open(const struct fault *f)
{
    struct world_topic *topic = world_topic(fault_kafka(f), WORLD_TOPIC);
    for (int32_t p = 0; p < topic->fact.partitions; p++)
        topic->part[p].open = topic->part[p].end;
}

/* So many records without the ids of a probe, by somebody else. */
static void fault_topic_noise(const struct fault *f)
{
    struct world_topic *topic = world_topic(fault_kafka(f), WORLD_TOPIC);
    for (int64_t i = 0; i < f->number; i++) {
        struct fact_record record = {.partition = (int32_t)(i % topic->fact.partitions), .timestamp_ms = world_wall(f->world)};
        record.value = (unsigned char *)(uintptr_t) "foreign";
        record.value_len = 7;
        (void)world_append(f->world, f->side, topic, &record, false);
    }
}

/* Somebody commits for the test group. */
static void fault_group_set(const struct fault *f)
{
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
        world_commit(f->world, f->side, WORLD_GROUP, WORLD_TOPIC, p, f->number);
}

static void fault_follow(struct world *world, void *arg)
{
    struct world_kafka *kafka = arg;
    struct world_topic *near = world_topic(&world->kafka[1 - kafka->index], WORLD_TOPIC);
    struct world_topic *far = world_topic(kafka, WORLD_TOPIC);
    world_after(world, 1000, fault_follow, NULL, kafka);
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++) {
        int64_t offset = world_committed(&world->kafka[1 - kafka->index], WORLD_GROUP, WORLD_TOPIC, p);
        int64_t to = 0;
        if (offset < 0)
            continue;
        while (to < far->part[p].end && far->part[p].records[to].fact.timestamp_ms < near->part[p].records[offset].fact.timestamp_ms)
            to++;
        if (to != world_committed(kafka, WORLD_GROUP, WORLD_TOPIC, p))
            world_commit(world, kafka->index, WORLD_GROUP, WORLD_TOPIC, p, to);
    }
}

/* Somebody carries the other side's commits over, without a timestamps record. */
static void fault_group_follow(const struct fault *f)
{
    fault_follow(f->world, fault_kafka(f));
}

static void fault_acls_own(const struct fault *f)
{
    world_allow(fault_kafka(f), world_principal(f->side), FACT_ACL_GROUP, "connect-", true, FACT_ACL_READ, false);
    world_allow(fault_kafka(f), world_principal(f->side), FACT_ACL_TOPIC, "distribution-", true, FACT_ACL_READ, false);
    world_allow(fault_kafka(f), world_principal(f->side), FACT_ACL_TOPIC, WORLD_TIMESTAMPS, false, FACT_ACL_READ, false);
}

static void fault_group_blind(const struct fault *f)
{
    fault_kafka(f)->group_blind = true;
}

/* Somebody's records with times that have not come yet: a search by time ends at them. */
static void fault_topic_future(const struct fault *f)
{
    struct world_topic *topic = world_topic(fault_kafka(f), WORLD_TOPIC);
    for (int64_t i = 0; i < f->number * topic->fact.partitions; i++) {
        struct fact_record record = {.partition = (int32_t)(i % topic->fact.partitions), .timestamp_ms = world_wall(f->world) + 3600000};
        (void)world_append(f->world, f->side, topic, &record, false);
    }
}

static void fault_acl_deny(const struct fault *f)
{
    world_allow(fault_kafka(f), world_principal(1 - f->side), FACT_ACL_TOPIC, "distribution-", true, FACT_ACL_WRITE, true);
}

static void fault_same_cluster(const struct fault *f)
{
    json_object_set_new(json_object_get(json_object_get(json_object_get(f->world->spec, "clusters"), "b"), "kafka"), "bootstrapServers",
                        json_string("dc1-kafka:9093"));
}

/* ---------------------------------------------------------------- values */

static void fault_values_replace(const struct fault *f, const char *what, const char *with, const char *manager)
{
    char *text = world_values_text(f->world, f->side);
    char *at = text != NULL ? strstr(text, what) : NULL;
    if (at == NULL) {
        world_break(f->world, "the values hold no \"%s\"", what);
        free(text);
        return;
    }
    char *made = dv_asprintf("%.*s%s%s", (int)(at - text), text, with, at + strlen(what));
    world_values_write(f->world, f->side, made, manager);
    free(made);
    free(text);
}

static void fault_values_invalid(const struct fault *f)
{
    fault_values_replace(f, "init:\n", "init:\n\t- {\n", "kubectl-edit");
}

static void fault_values_template(const struct fault *f)
{
    fault_values_replace(f, "nameOverride: \"\"", "nameOverride: {{ .Values.name }}", "kubectl-edit");
}

static void fault_values_text(const struct fault *f)
{
    fault_values_replace(f, "init:\n  enabled: true", "init:\n  enabled: \"yes please\"", "kubectl-edit");
}

static void fault_principals_number(const struct fault *f)
{
    fault_values_replace(f, "principals:\n", "principals:\n  - 7\n", "kubectl-edit");
}

static void fault_values_remove(const struct fault *f)
{
    world_remove(f->world, fault_dist(f)->server, fault_dist(f)->secret ? "secrets" : "configmaps",
                 f->side == 0 ? "dc1-distributor-values" : "dc2-distributor-values");
}

struct fault_values {
    int server;
    bool secret;
    json_t *object;
};

static void fault_values_back(struct world *world, void *arg)
{
    struct fault_values *away = arg;
    world_put(world, away->server, away->secret ? "secrets" : "configmaps", away->object, "argocd");
    free(away);
}

static void fault_values_drop(void *arg)
{
    json_decref(((struct fault_values *)arg)->object);
    free(arg);
}

/* An applier that replaces the object: another one with the same text, so many milliseconds later. */
static void fault_values_replaced(const struct fault *f)
{
    struct fault_values *away = dv_alloc(sizeof *away);
    const char *plural = fault_dist(f)->secret ? "secrets" : "configmaps";
    const char *name = f->side == 0 ? "dc1-distributor-values" : "dc2-distributor-values";
    *away = (struct fault_values){.server = fault_dist(f)->server, .secret = fault_dist(f)->secret};
    away->object = json_deep_copy(world_get(f->world, away->server, plural, name));
    json_t *meta = json_object_get(away->object, "metadata");
    json_object_del(meta, "uid");
    json_object_del(meta, "resourceVersion");
    json_object_del(meta, "managedFields");
    world_remove(f->world, away->server, plural, name);
    world_after(f->world, f->number, fault_values_back, fault_values_drop, away);
}

static void fault_values_no_key(const struct fault *f)
{
    json_t *object = world_get(f->world, fault_dist(f)->server, fault_dist(f)->secret ? "secrets" : "configmaps",
                               f->side == 0 ? "dc1-distributor-values" : "dc2-distributor-values");
    json_object_set_new(object, "data", json_pack("{s:s}", "other.yaml", ""));
}

static void fault_values_on(const struct fault *f)
{
    fault_values_replace(f, "enabled: false\n  level", "enabled: true\n  level", "helm-user");
}

static void fault_values_edit(const struct fault *f)
{
    fault_values_replace(f, "  offsetDistributor:\n    enabled: false", "  offsetDistributor:\n    enabled: true", "kubectl-edit");
}

static void fault_values_comment(const struct fault *f)
{
    char *text = world_values_text(f->world, f->side);
    if (text != NULL && strstr(text, "# keep empty") != NULL)
        fault_values_replace(f, "# keep empty", "# keep it empty", "kubectl-edit");
    else
        fault_values_replace(f, "# keep it empty", "# keep empty", "kubectl-edit");
    free(text);
}

static void fault_values_revert(const struct fault *f)
{
    world_values_write(f->world, f->side, fault_dist(f)->values_before, "gitops");
}

static void fault_principal_missing(const struct fault *f)
{
    fault_values_replace(f,
                         f->side == 0 ? "  - 'User:CN=dist-dc2,OU=Streaming #1,O=Example'\n"
                                      : "  - 'User:CN=dist-dc1,OU=Streaming #1,O=Example'   # quoted: has commas and blanks\n",
                         "", "helm-user");
}

static void fault_own_principal_missing(const struct fault *f)
{
    const struct fault other = {.world = f->world, .side = f->side};
    fault_values_replace(&other,
                         f->side == 1 ? "  - 'User:CN=dist-dc2,OU=Streaming #1,O=Example'\n"
                                      : "  - 'User:CN=dist-dc1,OU=Streaming #1,O=Example'   # quoted: has commas and blanks\n",
                         "", "helm-user");
}

/* ---------------------------------------------------------------- Connect, Strimzi */

static void fault_pod_restart(const struct fault *f)
{
    world_pod_restart(fault_dist(f), !dv_streq(f->value, "kill"));
}

static void fault_pod_down(const struct fault *f)
{
    struct world_dist *dist = fault_dist(f);
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        if (dist->connector[c].wanted)
            world_connector_stop(&dist->connector[c], false);
    dist->pod_up = false;
    world_pod_put(dist);
}

static void fault_connector_fail(const struct fault *f)
{
    struct world_connector *connector = &fault_dist(f)->connector[dv_streq(f->value, "od")   ? MODEL_OD
                                                                  : dv_streq(f->value, "oc") ? MODEL_OC
                                                                                             : MODEL_MD];
    world_connector_fail(connector, false, "org.apache.kafka.common.config.ConfigException: Invalid value x for configuration topics\n");
}

static void fault_task_fail(const struct fault *f)
{
    struct world_connector *connector = &fault_dist(f)->connector[dv_streq(f->value, "od")   ? MODEL_OD
                                                                  : dv_streq(f->value, "oc") ? MODEL_OC
                                                                                             : MODEL_MD];
    world_connector_fail(connector, true,
                         "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask due to unrecoverable exception.\n"
                         "Caused by: java.lang.IllegalStateException: made to fail\n");
}

static void fault_auto_restarted(const struct fault *f)
{
    fault_dist(f)->connector[MODEL_MD].auto_restarts += f->number;
    world_strimzi_soon(fault_dist(f));
}

static void fault_plugin(const struct fault *f)
{
    fault_dist(f)->plugin_missing = true;
    world_remove(f->world, fault_dist(f)->server, "kafkaconnects", f->side == 0 ? "dc1-distributor" : "dc2-distributor");
    world_strimzi_tick(fault_dist(f));
}

static void fault_log(const struct fault *f)
{
    world_log_dated(fault_dist(f), "%s", f->value);
}

/* One of the three that is not wanted now, made by hand. */
static void fault_stray_connector(const struct fault *f)
{
    static const char *const names[] = {"dc1-offset-distributor-level-1", "dc2-offset-distributor-level-1"};
    json_t *object = json_pack("{s:s, s:s, s:o, s:{s:s}}", "apiVersion", "kafka.strimzi.io/v1", "kind", "KafkaConnector", "metadata",
                               world_meta(names[f->side], "strimzi.io/cluster", f->side == 0 ? "dc1-distributor" : "dc2-distributor"),
                               "spec", "class", "io.distverify.lab.connect.OffsetDistributor");
    world_put(f->world, fault_dist(f)->server, "kafkaconnectors", object, NULL);
    world_connector_start(&fault_dist(f)->connector[MODEL_OD], 200);
    world_strimzi_soon(fault_dist(f));
}

static void fault_foreign_connector(const struct fault *f)
{
    json_t *object =
        json_pack("{s:s, s:s, s:o, s:{s:s}, s:{s:i, s:{s:{s:s}}}}", "apiVersion", "kafka.strimzi.io/v1", "kind", "KafkaConnector",
                  "metadata", world_meta("mirror", "strimzi.io/cluster", f->side == 0 ? "dc1-distributor" : "dc2-distributor"), "spec",
                  "class", "io.example.Mirror", "status", "observedGeneration", 1, "connectorStatus", "connector", "state", "RUNNING");
    world_put(f->world, fault_dist(f)->server, "kafkaconnectors", object, NULL);
}

static void fault_connect_annotation(const struct fault *f, const char *key, const char *value)
{
    const char *name = f->side == 0 ? "dc1-distributor" : "dc2-distributor";
    json_t *object = json_deep_copy(world_get(f->world, fault_dist(f)->server, "kafkaconnects", name));
    json_object_set_new(json_object_get(json_object_get(object, "metadata"), "annotations"), key, json_string(value));
    world_put(f->world, fault_dist(f)->server, "kafkaconnects", object, NULL);
}

static void fault_connect_paused(const struct fault *f)
{
    fault_connect_annotation(f, "strimzi.io/pause-reconciliation", "true");
}

static void fault_connect_unmanaged(const struct fault *f)
{
    fault_connect_annotation(f, "strimzi.io/use-connector-resources", "false");
}

static void fault_connect_remove(const struct fault *f)
{
    world_remove(f->world, fault_dist(f)->server, "kafkaconnects", f->side == 0 ? "dc1-distributor" : "dc2-distributor");
}

/* ---------------------------------------------------------------- API server */

static void fault_api_back(struct world *world, void *arg)
{
    const struct world_dist *dist = arg;
    world_api_down(world, dist->server, false);
}

static void fault_api_down(const struct fault *f)
{
    world_api_down(f->world, fault_dist(f)->server, true);
    if (f->value[0] != '\0')
        world_after(f->world, f->number, fault_api_back, NULL, fault_dist(f));
}

static void fault_api_relist(const struct fault *f)
{
    world_relist(f->world, 0);
}

static void fault_api_conflicts(const struct fault *f)
{
    f->world->api_conflicts = f->number;
}

static void fault_api_lose(const struct fault *f)
{
    f->world->api_lose = f->number;
}

static void fault_api_deny(const struct fault *f)
{
    (void)dv_strlcpy(f->world->api_deny, f->value, sizeof f->world->api_deny);
}

static void fault_lease(const struct fault *f)
{
    f->world->lease_ms = f->number;
}

static void fault_process_end(const struct fault *f)
{
    f->world->dead = f->world->controller != NULL;
}

static void fault_slow(const struct fault *f)
{
    f->world->slow = f->number;
}

/* ---------------------------------------------------------------- the resource */

/* key=value below .spec; the key's dots are levels, the value is JSON or a text. */
static void fault_spec(const struct fault *f)
{
    char path[128];
    const char *equals = strchr(f->value, ':');
    (void)dv_format(path, sizeof path, "%.*s", equals != NULL ? (int)(equals - f->value) : 0, f->value);
    json_t *value = equals != NULL ? json_loads(equals + 1, JSON_DECODE_ANY, NULL) : NULL;
    if (value == NULL)
        value = json_string(equals != NULL ? equals + 1 : "");
    json_t *live = world_resource(f->world, WORLD_RESOURCE);
    json_t *object = live != NULL ? json_deep_copy(live) : NULL;
    json_t *at = object != NULL ? json_object_get(object, "spec") : f->world->spec;
    char *key = path;
    for (char *dot = strchr(key, '.'); dot != NULL; key = dot + 1, dot = strchr(key, '.')) {
        *dot = '\0';
        if (json_object_get(at, key) == NULL)
            json_object_set_new(at, key, json_object());
        at = json_object_get(at, key);
    }
    json_object_set_new(at, key, value);
    if (object != NULL)
        world_put(f->world, 0, CONTROLLER_PLURAL, object, "kubectl");
}

static void fault_annotate(const struct fault *f, const char *key, const char *value)
{
    json_t *object = json_deep_copy(world_resource(f->world, WORLD_RESOURCE));
    json_t *meta = json_object_get(object, "metadata");
    if (json_object_get(meta, "annotations") == NULL)
        json_object_set_new(meta, "annotations", json_object());
    json_object_set_new(json_object_get(meta, "annotations"), key, json_string(value));
    world_put(f->world, 0, CONTROLLER_PLURAL, object, "kubectl");
}

static void fault_abort(const struct fault *f)
{
    const json_t *run = json_object_get(json_object_get(world_resource(f->world, WORLD_RESOURCE), "status"), "run");
    fault_annotate(f, "distverify.io/abort", f->value[0] != '\0' ? f->value : json_string_value(json_object_get(run, "id")));
}

static void fault_reverify(const struct fault *f)
{
    fault_annotate(f, "distverify.io/reverify", f->value);
}

static void fault_delete(const struct fault *f)
{
    world_remove(f->world, 0, CONTROLLER_PLURAL, WORLD_RESOURCE);
}

static const struct {
    const char *name;
    void (*deed)(const struct fault *f);
} faults_deeds[] = {
    {"kafka.down", fault_kafka_down},
    {"kafka.refuse", fault_kafka_refuse},
    {"kafka.same", fault_same_cluster},
    {"topic.remove", fault_topic_remove},
    {"topic.partitions", fault_topic_partitions},
    {"topic.logAppend", fault_topic_log_append},
    {"topic.compacted", fault_topic_compacted},
    {"topic.retention", fault_topic_retention},
    {"topic.hideConfigs", fault_topic_hidden},
    {"topic.openTransaction", fault_topic_open},
    {"topic.noise", fault_topic_noise},
    {"acl.deny", fault_acl_deny},
    {"acls.own", fault_acls_own},
    {"group.newProtocol", fault_group_blind},
    {"topic.future", fault_topic_future},
    {"group.set", fault_group_set},
    {"group.follow", fault_group_follow},
    {"values.invalid", fault_values_invalid},
    {"values.template", fault_values_template},
    {"values.text", fault_values_text},
    {"values.remove", fault_values_remove},
    {"values.replaced", fault_values_replaced},
    {"values.noKey", fault_values_no_key},
    {"values.on", fault_values_on},
    {"values.edit", fault_values_edit},
    {"values.comment", fault_values_comment},
    {"values.revert", fault_values_revert},
    {"principals.number", fault_principals_number},
    {"principals.remoteMissing", fault_principal_missing},
    {"principals.ownMissing", fault_own_principal_missing},
    {"pod.restart", fault_pod_restart},
    {"pod.down", fault_pod_down},
    {"connector.fail", fault_connector_fail},
    {"task.fail", fault_task_fail},
    {"connector.autoRestarted", fault_auto_restarted},
    {"connector.foreign", fault_foreign_connector},
    {"connector.stray", fault_stray_connector},
    {"plugin.missing", fault_plugin},
    {"log", fault_log},
    {"connect.paused", fault_connect_paused},
    {"connect.unmanaged", fault_connect_unmanaged},
    {"connect.remove", fault_connect_remove},
    {"api.down", fault_api_down},
    {"api.relist", fault_api_relist},
    {"api.conflicts", fault_api_conflicts},
    {"api.lose", fault_api_lose},
    {"api.deny", fault_api_deny},
    {"lease", fault_lease},
    {"process.end", fault_process_end},
    {"slow", fault_slow},
    {"spec", fault_spec},
    {"abort", fault_abort},
    {"reverify", fault_reverify},
    {"delete", fault_delete},
};

static bool fault_number(struct fault *f, const char *name)
{
    for (size_t i = 0; i < sizeof faults_numbers / sizeof faults_numbers[0]; i++)
        if (dv_streq(faults_numbers[i].name, name)) {
            memcpy((char *)&fault_dist(f)->manners + faults_numbers[i].at, &f->number, sizeof f->number);
            return true;
        }
    for (size_t i = 0; i < sizeof faults_kafka_numbers / sizeof faults_kafka_numbers[0]; i++)
        if (dv_streq(faults_kafka_numbers[i].name, name)) {
            memcpy((char *)fault_kafka(f) + faults_kafka_numbers[i].at, &f->number, sizeof f->number);
            return true;
        }
    return false;
}

/* "a:key=value", "b:key", "key" (of A) */
void world_act(struct world *world, const char *what)
{
    struct fault f = {.world = world, .side = dv_starts_with(what, "b:") ? 1 : 0, .number = 1};
    char name[48];
    const char *rest = dv_starts_with(what, "a:") || dv_starts_with(what, "b:") ? what + 2 : what;
    size_t len = strcspn(rest, "=");
    (void)dv_format(name, sizeof name, "%.*s", (int)len, rest);
    f.value = rest[len] == '=' ? rest + len + 1 : "";
    if (f.value[0] != '\0')
        (void)dv_parse_i64(f.value, INT64_MIN, INT64_MAX, &f.number);
    if (fault_number(&f, name))
        return;
    for (size_t i = 0; i < sizeof faults_deeds / sizeof faults_deeds[0]; i++)
        if (dv_streq(faults_deeds[i].name, name)) {
            faults_deeds[i].deed(&f);
            return;
        }
    world_break(world, "the script has an unknown word: %s", name);
}

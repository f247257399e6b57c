#include "model/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/timefmt.h"

/* Decoding walks the JSON with the path of where it is, so that every error names its field. */
struct walk {
    char path[160];
    const json_t *json; /* NULL when absent */
    struct dv_err *err;
    int64_t level;
};

static const char *const switch_names[MODEL_SWITCHES] = {
    "distribution", "init", "messageDistributor", "offsetDistributor", "offsetCommitter",
};

const char *model_side_name(enum model_side side)
{
    return side == MODEL_A ? "a" : "b";
}

const char *model_switch_name(enum model_switch sw)
{
    return switch_names[sw];
}

const char *model_connector_text(enum model_connector connector)
{
    static const char *const texts[MODEL_CONNECTORS] = {"Message Distributor", "Offset Distributor", "Offset Committer"};
    return texts[connector];
}

static struct walk spec_in(const struct walk *walk, const char *key)
{
    struct walk inner = *walk;
    inner.json = json_object_get(walk->json, key);
    (void)snprintf(inner.path, sizeof inner.path, "%.100s.%.50s", walk->path, key);
    return inner;
}

static int spec_bad(const struct walk *walk, const char *what)
{
    return dv_err_set(walk->err, DV_ERR_INVALID, "%s: %s", walk->path, what);
}

static bool spec_failed(const struct walk *walk)
{
    return walk->err != NULL && walk->err->kind != DV_ERR_NONE;
}

static char *spec_text(const struct walk *outer, const char *key, bool required)
{
    struct walk walk = spec_in(outer, key);
    const char *text = json_string_value(walk.json);
    if (text != NULL && text[0] != '\0')
        return dv_strdup(text);
    if (walk.json != NULL && !json_is_null(walk.json))
        (void)spec_bad(&walk, "must be a text that is not empty");
    else if (required)
        (void)spec_bad(&walk, "is missing");
    return NULL;
}

static int64_t spec_number(const struct walk *outer, const char *key, int64_t min, int64_t max, int64_t otherwise)
{
    struct walk walk = spec_in(outer, key);
    if (walk.json == NULL || json_is_null(walk.json))
        return otherwise;
    if (json_is_integer(walk.json) && json_integer_value(walk.json) >= min && json_integer_value(walk.json) <= max)
        return json_integer_value(walk.json);
    (void)dv_err_set(walk.err, DV_ERR_INVALID, "%s: must be a whole number from %lld to %lld", walk.path, (long long)min, (long long)max);
    return otherwise;
}

static int64_t spec_duration(const struct walk *outer, const char *key, int64_t otherwise)
{
    struct walk walk = spec_in(outer, key);
    int64_t ms = otherwise;
    if (walk.json == NULL || json_is_null(walk.json))
        return otherwise;
    if (dv_duration_parse(json_string_value(walk.json), &ms) != 0)
        (void)spec_bad(&walk, "must be a duration such as 60s or 1m30s");
    return ms;
}

static bool spec_flag(const struct walk *outer, const char *key, bool otherwise)
{
    struct walk walk = spec_in(outer, key);
    if (walk.json == NULL || json_is_null(walk.json))
        return otherwise;
    if (!json_is_boolean(walk.json))
        (void)spec_bad(&walk, "must be true or false");
    return json_is_true(walk.json);
}

static char **spec_texts(const struct walk *outer, const char *key, bool required, size_t *count)
{
    struct walk walk = spec_in(outer, key);
    size_t n = json_array_size(walk.json);
    *count = 0;
    if (n == 0) {
        if (required)
            (void)spec_bad(&walk, "needs at least one entry");
        return NULL;
    }
    char **list = dv_calloc(n, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(walk.json, i));
        if (text == NULL || text[0] == '\0')
            (void)spec_bad(&walk, "holds an entry that is no text");
        list[(*count)++] = dv_strdup(text != NULL ? text : "");
    }
    return list;
}

/* Replaces {level}; takes ownership of text. */
static char *spec_with_level(char *text, int64_t level)
{
    static const char mark[] = "{level}";
    char *at = text != NULL ? strstr(text, mark) : NULL;
    if (at == NULL)
        return text;
    char *made = dv_asprintf("%.*s%lld%s", (int)(at - text), text, (long long)level, at + sizeof mark - 1);
    free(text);
    return spec_with_level(made, level);
}

static struct model_path spec_path(const struct walk *outer, const char *key)
{
    struct model_path path = {0};
    path.keys = spec_texts(outer, key, true, &path.count);
    for (size_t i = 0; i < path.count; i++)
        path.keys[i] = spec_with_level(path.keys[i], outer->level);
    return path;
}

const char *model_path_text(const struct model_path *path, char *out, size_t size)
{
    struct dv_buf text = DV_BUF_INIT(4096);
    for (size_t i = 0; i < path->count; i++) {
        const char *quote = path->keys[i][0] == '\0' || strpbrk(path->keys[i], ". \"") != NULL ? "\"" : "";
        (void)dv_buf_addf(&text, "%s%s%s%s", i > 0 ? "." : "", quote, path->keys[i], quote);
    }
    (void)dv_strlcpy(out, dv_buf_text(&text), size);
    dv_buf_free(&text);
    return out;
}

/* topic, group and timestampsTopic: {name} or {nameOn: {a, b}}. */
static void spec_names(const struct walk *outer, const char *key, char **a, char **b)
{
    struct walk walk = spec_in(outer, key);
    char *both = spec_text(&walk, "name", false);
    struct walk on = spec_in(&walk, "nameOn");
    if (both != NULL && on.json == NULL) {
        *a = both;
        *b = dv_strdup(both);
        return;
    }
    free(both);
    if (both != NULL || on.json == NULL) {
        (void)spec_bad(&walk, "needs either name or nameOn");
        return;
    }
    *a = spec_text(&on, "a", true);
    *b = spec_text(&on, "b", true);
}

static void spec_switches(const struct walk *outer, struct model_distributor *distributor)
{
    struct walk switches = spec_in(outer, "switches");
    for (int i = 0; i < MODEL_SWITCHES; i++) {
        struct walk walk = spec_in(&switches, switch_names[i]);
        struct model_switch_spec *sw = &distributor->switches[i];
        if (walk.json == NULL) {
            (void)spec_bad(&walk, "is missing");
            return;
        }
        sw->path = spec_path(&walk, "path");
        sw->connector = spec_with_level(spec_text(&walk, "connector", i >= MODEL_SW_MD), walk.level);
        sw->group = spec_with_level(spec_text(&walk, "group", false), walk.level);
    }
}

/* Whether one of the two lies within the other, or both are the same. */
static bool spec_path_nested(const struct model_path *a, const struct model_path *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (!dv_streq(a->keys[i], b->keys[i]))
            return false;
    return true;
}

/* A connector whose group is not named has the one that Kafka Connect gives it. */
static bool spec_group_equal(const struct model_switch_spec *a, const struct model_switch_spec *b)
{
    const struct model_switch_spec *named = a->group != NULL ? a : b;
    const struct model_switch_spec *other = a->group != NULL ? b : a;
    if (other->group != NULL || named->group == NULL)
        return named->group != NULL && dv_streq(named->group, other->group);
    return dv_starts_with(named->group, "connect-") && dv_streq(named->group + strlen("connect-"), other->connector);
}

static void spec_check_pair(const struct walk *walk, const struct model_distributor *distributor, int i, int j)
{
    const struct model_switch_spec *one = &distributor->switches[i];
    const struct model_switch_spec *two = &distributor->switches[j];
    if (spec_path_nested(&one->path, &two->path))
        (void)dv_err_set(walk->err, DV_ERR_INVALID, "%s: has the same path as %s, or one lies within the other", walk->path,
                         switch_names[j]);
    if (one->connector != NULL && dv_streq(one->connector, two->connector))
        (void)dv_err_set(walk->err, DV_ERR_INVALID, "%s: has the same connector as %s", walk->path, switch_names[j]);
    if (one->connector != NULL && two->connector != NULL && spec_group_equal(one, two))
        (void)dv_err_set(walk->err, DV_ERR_INVALID, "%s: has the same group as %s", walk->path, switch_names[j]);
}

static void spec_check_switches(const struct walk *outer, const struct model_distributor *distributor)
{
    struct walk switches = spec_in(outer, "switches");
    struct walk principals = spec_in(outer, "principalsPath");
    for (int i = 0; i < MODEL_SWITCHES; i++) {
        struct walk walk = spec_in(&switches, switch_names[i]);
        for (int j = 0; j < i; j++)
            spec_check_pair(&walk, distributor, i, j);
        if (spec_path_nested(&distributor->principals_path, &distributor->switches[i].path))
            (void)dv_err_set(walk.err, DV_ERR_INVALID, "%s: and the path of switch %s lie within each other", principals.path,
                             switch_names[i]);
    }
}

static void spec_finally(const struct walk *outer, struct model_switches *finally)
{
    struct walk walk = spec_in(outer, "finally");
    for (int i = MODEL_SW_INIT; i < MODEL_SWITCHES; i++)
        finally->on[i] = spec_flag(&walk, switch_names[i], true);
    finally->on[MODEL_SW_DISTRIBUTION] = finally->on[MODEL_SW_MD] || finally->on[MODEL_SW_OD] || finally->on[MODEL_SW_OC];
}

static void spec_values(const struct walk *outer, struct model_values_target *values)
{
    struct walk walk = spec_in(outer, "values");
    struct walk map = spec_in(&walk, "configMapRef");
    struct walk secret = spec_in(&walk, "secretRef");
    if ((map.json != NULL) == (secret.json != NULL)) {
        (void)spec_bad(&walk, "needs exactly one of configMapRef and secretRef");
        return;
    }
    values->secret = secret.json != NULL;
    const struct walk *ref = values->secret ? &secret : &map;
    values->name = spec_text(ref, "name", true);
    values->key = spec_text(ref, "key", true);
}

static void spec_distributor(const struct walk *outer, struct model_distributor *distributor)
{
    struct walk walk = spec_in(outer, "distributor");
    struct walk connect = spec_in(&walk, "kafkaConnectRef");
    struct walk job = spec_in(&walk, "initJob");
    distributor->connect = spec_text(&connect, "name", true);
    distributor->principals = spec_texts(&walk, "principals", true, &distributor->principal_count);
    spec_values(&walk, &distributor->values);
    distributor->principals_path = spec_path(&walk, "principalsPath");
    spec_switches(&walk, distributor);
    if (!spec_failed(&walk))
        spec_check_switches(&walk, distributor);
    spec_finally(&walk, &distributor->finally);
    const json_t *selector = json_object_get(job.json, "selector");
    distributor->init_job_selector = selector != NULL ? json_deep_copy(selector) : NULL;
}

static void spec_tls(const struct walk *outer, struct model_kafka *kafka)
{
    struct walk walk = spec_in(outer, "tls");
    kafka->tls = json_is_object(walk.json);
    const json_t *list = json_object_get(walk.json, "trustedCertificates");
    size_t n = json_array_size(list);
    if (n == 0)
        return;
    kafka->trusted = dv_calloc(n, sizeof *kafka->trusted);
    for (size_t i = 0; i < n; i++) {
        struct walk item = spec_in(&walk, "trustedCertificates");
        item.json = json_array_get(list, i);
        struct model_trusted *trusted = &kafka->trusted[kafka->trusted_count++];
        trusted->secret = spec_text(&item, "secretName", true);
        trusted->certificate = spec_text(&item, "certificate", true);
    }
}

static enum model_auth_type spec_auth_type(const struct walk *walk)
{
    static const struct {
        const char *name;
        enum model_auth_type type;
    } types[] = {{"tls", MODEL_AUTH_TLS},
                 {"scram-sha-256", MODEL_AUTH_SCRAM_SHA_256},
                 {"scram-sha-512", MODEL_AUTH_SCRAM_SHA_512},
                 {"plain", MODEL_AUTH_PLAIN}};
    struct walk type = spec_in(walk, "type");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (dv_streq(json_string_value(type.json), types[i].name))
            return types[i].type;
    (void)spec_bad(&type, "must be tls, scram-sha-512, scram-sha-256 or plain");
    return MODEL_AUTH_NONE;
}

static void spec_auth(const struct walk *outer, struct model_kafka *kafka)
{
    struct walk walk = spec_in(outer, "authentication");
    if (walk.json == NULL || json_is_null(walk.json))
        return;
    kafka->auth = spec_auth_type(&walk);
    if (kafka->auth == MODEL_AUTH_TLS) {
        struct walk cert = spec_in(&walk, "certificateAndKey");
        kafka->cert_secret = spec_text(&cert, "secretName", true);
        kafka->cert_certificate = spec_text(&cert, "certificate", true);
        kafka->cert_key = spec_text(&cert, "key", true);
        if (!kafka->tls)
            (void)spec_bad(&walk, "type tls needs the tls block beside it");
        return;
    }
    struct walk password = spec_in(&walk, "passwordSecret");
    kafka->username = spec_text(&walk, "username", true);
    kafka->password_secret = spec_text(&password, "secretName", true);
    kafka->password_key = spec_text(&password, "password", true);
    if (!kafka->tls && !kafka->allow_plaintext_credentials)
        (void)spec_bad(&walk, "would send a password without TLS; add tls or set allowPlaintextCredentials");
}

static void spec_kafka(const struct walk *outer, struct model_kafka *kafka)
{
    struct walk walk = spec_in(outer, "kafka");
    kafka->bootstrap = spec_text(&walk, "bootstrapServers", true);
    kafka->allow_plaintext_credentials = spec_flag(&walk, "allowPlaintextCredentials", false);
    spec_tls(&walk, kafka);
    spec_auth(&walk, kafka);
}

static void spec_cluster(const struct walk *outer, const char *key, const char *ns, struct model_cluster *cluster)
{
    struct walk walk = spec_in(outer, key);
    struct walk kubeconfig = spec_in(&walk, "kubeConfig");
    cluster->name = spec_text(&walk, "name", true);
    cluster->ns = spec_text(&walk, "namespace", false);
    if (cluster->ns == NULL)
        cluster->ns = dv_strdup(ns);
    if (kubeconfig.json != NULL) {
        struct walk ref = spec_in(&kubeconfig, "secretRef");
        cluster->kubeconfig_secret = spec_text(&ref, "name", true);
        cluster->kubeconfig_key = spec_text(&ref, "key", false);
        if (cluster->kubeconfig_key == NULL)
            cluster->kubeconfig_key = dv_strdup("kubeconfig");
    }
    spec_distributor(&walk, &cluster->distributor);
    spec_kafka(&walk, &cluster->kafka);
}

static void spec_checks(const struct walk *outer, struct model_spec *spec)
{
    struct walk walk = spec_in(outer, "checks");
    spec->records_per_partition = spec_number(&walk, "recordsPerPartition", 1, MODEL_RECORDS_MAX, 3);
    spec->settle_ms = spec_duration(&walk, "settle", 30000);
    spec->held_ms = spec_duration(&walk, "held", 10000);
    spec->reconcile_ms = spec_duration(&walk, "reconcileInterval", 120000);
    spec->commit_interval_ms = spec_duration(&walk, "commitInterval", -1);
    spec->arrival_ms = spec_duration(&walk, "arrival", -1);
    spec->lag_threshold = spec_number(&walk, "lagThreshold", 0, INT64_MAX, -1);
    spec->behind_tolerance = spec_number(&walk, "behindTolerance", 0, 1000000, 1);
    spec->retries = spec_number(&walk, "retries", 0, 10, 2);
    struct walk logs = spec_in(&walk, "logs");
    spec->log_allow = spec_texts(&logs, "allow", false, &spec->log_allow_count);
}

/* What the schema cannot tell, because there a namespace may be said or left out. */
static void spec_check_clusters(const struct walk *walk, const struct model_cluster *a, const struct model_cluster *b)
{
    const struct model_values_target *mine = &a->distributor.values;
    const struct model_values_target *theirs = &b->distributor.values;
    const struct model_path *one = &a->distributor.switches[MODEL_SW_DISTRIBUTION].path;
    const struct model_path *two = &b->distributor.switches[MODEL_SW_DISTRIBUTION].path;
    if (!dv_streq(a->kubeconfig_secret, b->kubeconfig_secret) || !dv_streq(a->kubeconfig_key, b->kubeconfig_key) || !dv_streq(a->ns, b->ns))
        return;
    if (dv_streq(a->distributor.connect, b->distributor.connect))
        (void)dv_err_set(walk->err, DV_ERR_INVALID, "spec.clusters.b.distributor.kafkaConnectRef.name: is the KafkaConnect of a too");
    if (mine->secret == theirs->secret && dv_streq(mine->name, theirs->name) && dv_streq(mine->key, theirs->key) &&
        spec_path_nested(one, two))
        (void)dv_err_set(walk->err, DV_ERR_INVALID, "spec.clusters.b.distributor.values: the distribution switch there is that of a too");
}

static void spec_top(const struct walk *walk, const char *ns, struct model_spec *spec)
{
    struct walk deadlines = spec_in(walk, "deadlines");
    struct walk clusters = spec_in(walk, "clusters");
    spec->suspend = spec_flag(walk, "suspend", false);
    spec->take_over = spec_flag(walk, "takeOver", false);
    spec->window_ms = spec_duration(walk, "window", 60000);
    spec_checks(walk, spec);
    spec->stage_deadline_ms = spec_duration(&deadlines, "stage", 600000);
    spec->run_deadline_ms = spec_duration(&deadlines, "run", 3600000);
    spec->on_loop = dv_streq(json_string_value(json_object_get(walk->json, "onLoop")), "Hold") ? MODEL_LOOP_HOLD : MODEL_LOOP_DISABLE_LAST;
    spec_cluster(&clusters, "a", ns, &spec->cluster[MODEL_A]);
    spec_cluster(&clusters, "b", ns, &spec->cluster[MODEL_B]);
    spec->cluster[MODEL_B].kafka.side = MODEL_B;
    struct model_cluster *a = &spec->cluster[MODEL_A];
    struct model_cluster *b = &spec->cluster[MODEL_B];
    spec_names(walk, "topic", &a->topic, &b->topic);
    spec_names(walk, "group", &a->group, &b->group);
    spec_names(walk, "timestampsTopic", &a->timestamps_topic, &b->timestamps_topic);
    if (dv_streq(a->name, b->name) && a->name != NULL)
        (void)dv_err_set(walk->err, DV_ERR_INVALID, "spec.clusters.b.name: is the same as that of a");
    if (!spec_failed(walk))
        spec_check_clusters(walk, a, b);
}

int model_spec_decode(const json_t *json, const char *ns, struct model_spec **out, struct dv_err *err)
{
    struct dv_err local = DV_ERR_INIT;
    struct walk walk = {.path = "spec", .json = json, .err = &local};
    struct model_spec *spec = dv_alloc(sizeof *spec);
    if (!json_is_object(json))
        (void)spec_bad(&walk, "is missing");
    spec->level = spec_number(&walk, "level", 0, 1000, 1);
    walk.level = spec->level;
    spec_top(&walk, ns, spec);
    if (local.kind != DV_ERR_NONE) {
        model_spec_free(spec);
        if (err != NULL && err->kind == DV_ERR_NONE)
            *err = local;
        return -1;
    }
    model_spec_hash(spec, spec->hash);
    *out = spec;
    return 0;
}

static void spec_free_texts(char **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

static void spec_free_distributor(struct model_distributor *distributor)
{
    free(distributor->connect);
    spec_free_texts(distributor->principals, distributor->principal_count);
    free(distributor->values.name);
    free(distributor->values.key);
    spec_free_texts(distributor->principals_path.keys, distributor->principals_path.count);
    for (int i = 0; i < MODEL_SWITCHES; i++) {
        spec_free_texts(distributor->switches[i].path.keys, distributor->switches[i].path.count);
        free(distributor->switches[i].connector);
        free(distributor->switches[i].group);
    }
    json_decref(distributor->init_job_selector);
}

static void spec_free_kafka(struct model_kafka *kafka)
{
    free(kafka->bootstrap);
    for (size_t i = 0; i < kafka->trusted_count; i++) {
        free(kafka->trusted[i].secret);
        free(kafka->trusted[i].certificate);
    }
    free(kafka->trusted);
    free(kafka->username);
    free(kafka->password_secret);
    free(kafka->password_key);
    free(kafka->cert_secret);
    free(kafka->cert_certificate);
    free(kafka->cert_key);
}

void model_spec_free(struct model_spec *spec)
{
    if (spec == NULL)
        return;
    for (int side = 0; side < MODEL_SIDES; side++) {
        struct model_cluster *cluster = &spec->cluster[side];
        free(cluster->name);
        free(cluster->kubeconfig_secret);
        free(cluster->kubeconfig_key);
        free(cluster->ns);
        free(cluster->topic);
        free(cluster->group);
        free(cluster->timestamps_topic);
        spec_free_distributor(&cluster->distributor);
        spec_free_kafka(&cluster->kafka);
    }
    spec_free_texts(spec->log_allow, spec->log_allow_count);
    free(spec);
}

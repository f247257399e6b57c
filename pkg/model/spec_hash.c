/* Identity of a spec and of a target. Statuses hold these hashes: the same spec has the same one in every version of the program. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/spec.h"

/* Over what was decoded, each field with its name: neither a default that the API server writes down, nor a field that this program does
 * not know, nor another spelling of the same counts. A field that is added here is left out where it is as by default. */
static void hash_text(uint64_t *hash, const char *name, const char *text)
{
    if (text == NULL)
        return;
    *hash = dv_hash64(*hash, name, strlen(name) + 1);
    *hash = dv_hash64(*hash, text, strlen(text) + 1);
}

static void hash_texts(uint64_t *hash, const char *name, char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash_text(hash, name, list[i]);
}

static void hash_number(uint64_t *hash, const char *name, int64_t number)
{
    char text[24];
    hash_text(hash, name, dv_format(text, sizeof text, "%lld", (long long)number));
}

static void hash_switches(uint64_t *hash, const struct model_distributor *distributor)
{
    for (int i = 0; i < MODEL_SWITCHES; i++) {
        const struct model_switch_spec *sw = &distributor->switches[i];
        hash_text(hash, "switch", model_switch_name((enum model_switch)i));
        hash_texts(hash, "path", sw->path.keys, sw->path.count);
        hash_text(hash, "connector", sw->connector);
        hash_text(hash, "connector.group", sw->group);
        hash_number(hash, "finally", distributor->finally.on[i]);
    }
}

static void hash_distributor(uint64_t *hash, const struct model_distributor *distributor)
{
    char *selector = json_dumps(distributor->init_job_selector, JSON_SORT_KEYS | JSON_COMPACT);
    hash_text(hash, "kafkaConnect", distributor->connect);
    hash_text(hash, "initJob", selector);
    hash_texts(hash, "principals", distributor->principals, distributor->principal_count);
    hash_number(hash, "values.secret", distributor->values.secret);
    hash_text(hash, "values.name", distributor->values.name);
    hash_text(hash, "values.key", distributor->values.key);
    hash_texts(hash, "principalsPath", distributor->principals_path.keys, distributor->principals_path.count);
    hash_switches(hash, distributor);
    free(selector);
}

static void hash_kafka(uint64_t *hash, const struct model_kafka *kafka)
{
    hash_text(hash, "bootstrapServers", kafka->bootstrap);
    hash_number(hash, "tls", kafka->tls);
    for (size_t i = 0; i < kafka->trusted_count; i++) {
        hash_text(hash, "trusted.secret", kafka->trusted[i].secret);
        hash_text(hash, "trusted.certificate", kafka->trusted[i].certificate);
    }
    hash_number(hash, "authentication", kafka->auth);
    hash_text(hash, "username", kafka->username);
    hash_text(hash, "password.secret", kafka->password_secret);
    hash_text(hash, "password.key", kafka->password_key);
    hash_text(hash, "certificate.secret", kafka->cert_secret);
    hash_text(hash, "certificate.certificate", kafka->cert_certificate);
    hash_text(hash, "certificate.key", kafka->cert_key);
    hash_number(hash, "allowPlaintextCredentials", kafka->allow_plaintext_credentials);
}

static void hash_cluster(uint64_t *hash, const struct model_cluster *cluster)
{
    hash_text(hash, "cluster", cluster->name);
    hash_text(hash, "kubeConfig.secret", cluster->kubeconfig_secret);
    hash_text(hash, "kubeConfig.key", cluster->kubeconfig_key);
    hash_text(hash, "namespace", cluster->ns);
    hash_text(hash, "topic", cluster->topic);
    hash_text(hash, "group", cluster->group);
    hash_text(hash, "timestampsTopic", cluster->timestamps_topic);
    hash_distributor(hash, &cluster->distributor);
    hash_kafka(hash, &cluster->kafka);
}

void model_spec_hash(const struct model_spec *spec, char out[17])
{
    const struct {
        const char *name;
        int64_t number;
    } numbers[] = {
        {"level", spec->level},
        {"takeOver", spec->take_over},
        {"window", spec->window_ms},
        {"recordsPerPartition", spec->records_per_partition},
        {"settle", spec->settle_ms},
        {"held", spec->held_ms},
        {"reconcileInterval", spec->reconcile_ms},
        {"commitInterval", spec->commit_interval_ms},
        {"arrival", spec->arrival_ms},
        {"lagThreshold", spec->lag_threshold},
        {"behindTolerance", spec->behind_tolerance},
        {"retries", spec->retries},
    };
    uint64_t hash = DV_HASH_INIT;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hash_number(&hash, numbers[i].name, numbers[i].number);
    for (int side = 0; side < MODEL_SIDES; side++)
        hash_cluster(&hash, &spec->cluster[side]);
    (void)dv_format(out, 17, "%016llx", (unsigned long long)hash);
}

/* ---------------------------------------------------------------- target */

static uint64_t target_hash_text(uint64_t hash, const char *text)
{
    const char *given = text != NULL ? text : "";
    return dv_hash64(hash, given, strlen(given) + 1);
}

void model_target_hash(const struct model_cluster *cluster, char out[17])
{
    const struct model_distributor *distributor = &cluster->distributor;
    uint64_t hash = dv_hash64(DV_HASH_INIT, &distributor->values.secret, sizeof distributor->values.secret);
    const char *const place[] = {cluster->kubeconfig_secret, cluster->kubeconfig_key, cluster->ns, distributor->values.name,
                                 distributor->values.key};
    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++)
        hash = target_hash_text(hash, place[i]);
    for (int i = 0; i < MODEL_SWITCHES; i++) {
        const struct model_path *path = &distributor->switches[i].path;
        for (size_t k = 0; k < path->count; k++)
            hash = target_hash_text(hash, path->keys[k]);
    }
    (void)dv_format(out, 17, "%016llx", (unsigned long long)hash);
}

/* The spec of a DistributionVerification as structs. Strings are owned by the struct and never NULL unless said so. */
#ifndef DV_MODEL_SPEC_H
#define DV_MODEL_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"

enum model_side { MODEL_A, MODEL_B };
#define MODEL_SIDES 2
static inline enum model_side model_far(enum model_side side)
{
    return side == MODEL_A ? MODEL_B : MODEL_A;
}

/* The five switches of a Distributor, in the order of the normative table. */
enum model_switch { MODEL_SW_DISTRIBUTION, MODEL_SW_INIT, MODEL_SW_MD, MODEL_SW_OD, MODEL_SW_OC };
#define MODEL_SWITCHES 5
/* The three connectors; MODEL_SW_MD + connector is its switch. */
enum model_connector { MODEL_MD, MODEL_OD, MODEL_OC };
#define MODEL_CONNECTORS 3
static inline enum model_switch model_connector_switch(enum model_connector connector)
{
    return (enum model_switch)((int)MODEL_SW_MD + (int)connector);
}

/* Five booleans, or "not written". */
struct model_switches {
    bool on[MODEL_SWITCHES];
};

struct model_path {
    char **keys; /* {level} is replaced already */
    size_t count;
};

/* "init.principals", keys that hold a dot or a blank in quotes. Returns out, cut where it does not fit. */
const char *model_path_text(const struct model_path *path, char *out, size_t size);

struct model_switch_spec {
    struct model_path path;
    char *connector; /* KafkaConnector name, {level} replaced; NULL for distribution and init */
    char *group;     /* consumer group named by the user; NULL: derived from the connector */
};

/* Where the values text is: exactly one target. */
struct model_values_target {
    bool secret; /* a Secret, else a ConfigMap */
    char *name;
    char *key;
};

static inline const char *model_values_kind(const struct model_values_target *target)
{
    return target->secret ? "Secret" : "ConfigMap";
}

struct model_distributor {
    char *connect; /* KafkaConnect name */
    char **principals;
    size_t principal_count;
    struct model_values_target values;
    struct model_path principals_path;
    struct model_switch_spec switches[MODEL_SWITCHES];
    struct model_switches finally;
    json_t *init_job_selector; /* LabelSelector, NULL when absent */
};

enum model_auth_type { MODEL_AUTH_NONE, MODEL_AUTH_TLS, MODEL_AUTH_SCRAM_SHA_256, MODEL_AUTH_SCRAM_SHA_512, MODEL_AUTH_PLAIN };

struct model_trusted {
    char *secret;
    char *certificate; /* key in the Secret */
};

struct model_kafka {
    enum model_side side;
    char *bootstrap;
    bool tls; /* spec has a tls block */
    struct model_trusted *trusted;
    size_t trusted_count; /* 0 with tls: the system's CAs */
    enum model_auth_type auth;
    char *username;        /* SASL; NULL otherwise */
    char *password_secret; /* SASL; NULL otherwise */
    char *password_key;
    char *cert_secret; /* TLS client certificate; NULL otherwise */
    char *cert_certificate;
    char *cert_key;
    bool allow_plaintext_credentials;
};

struct model_cluster {
    char *name;
    char *kubeconfig_secret; /* NULL: the API server the controller runs in */
    char *kubeconfig_key;
    char *ns; /* namespace of the Distributor */
    struct model_distributor distributor;
    struct model_kafka kafka;
    char *topic;
    char *group;
    char *timestamps_topic;
};

enum model_on_failure { MODEL_FAILURE_HOLD };
enum model_on_loop { MODEL_LOOP_DISABLE_LAST, MODEL_LOOP_HOLD };

#define MODEL_RECORDS_MAX 100 /* per partition in one batch */

struct model_spec {
    int64_t level;
    bool suspend;
    bool take_over;
    int64_t window_ms;
    int64_t records_per_partition;
    int64_t settle_ms;
    int64_t held_ms;
    int64_t reconcile_ms;
    int64_t commit_interval_ms; /* -1: from the KafkaConnects */
    int64_t arrival_ms;         /* -1: commit interval + 30 s */
    int64_t lag_threshold;      /* -1: none */
    int64_t behind_tolerance;
    int64_t retries;
    int64_t stage_deadline_ms;
    int64_t run_deadline_ms;
    enum model_on_failure on_failure;
    enum model_on_loop on_loop;
    char **log_allow; /* substrings of log lines that are fine */
    size_t log_allow_count;
    struct model_cluster cluster[MODEL_SIDES];
    char hash[17]; /* specHash: over the fields that decide proofs */
};

/* json: the object's .spec; ns: the resource's namespace (default of a cluster's). On failure err->text begins with the field's path
 * ("spec.clusters.a.kafka: ..."), for the reason InvalidSpec. */
int model_spec_decode(const json_t *json, const char *ns, struct model_spec **out, struct dv_err *err);
void model_spec_free(struct model_spec *spec);

const char *model_side_name(enum model_side side);                /* as in the spec: "a" */
const char *model_switch_name(enum model_switch sw);              /* as in the spec: "messageDistributor" */
const char *model_connector_text(enum model_connector connector); /* for people: "Message Distributor" */

/* Hash of the fields that decide proofs; the others apply at once and start nothing. */
void model_spec_hash(const struct model_spec *spec, char out[17]);
/* Hash of where a cluster's switches are: API server, values object and key, paths. */
void model_target_hash(const struct model_cluster *cluster, char out[17]);

#endif

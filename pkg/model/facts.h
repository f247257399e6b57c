/* Facts: what was seen of one side's Distributor and Kafka, as small structs. Pure data; who owns what is said at each free function. */
#ifndef DV_MODEL_FACTS_H
#define DV_MODEL_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* ---------------------------------------------------------------- Kubernetes objects */

enum fact_connector_state {
    FACT_STATE_NONE, /* no connectorStatus, or no state in it */
    FACT_STATE_RUNNING,
    FACT_STATE_PAUSED,
    FACT_STATE_STOPPED,
    FACT_STATE_FAILED,
    FACT_STATE_UNASSIGNED,
    FACT_STATE_RESTARTING,
    FACT_STATE_OTHER,
};

#define FACT_CAUSE_MAX 256

/* One KafkaConnector. */
struct fact_connector {
    char *name;
    char *cluster; /* label strimzi.io/cluster; "" when absent */
    char *uid;
    int64_t generation;
    int64_t observed_generation; /* 0: never reconciled */
    int64_t created_ms;          /* wall time */
    bool deleting;
    bool ready;     /* condition Ready True */
    bool not_ready; /* condition NotReady True: Strimzi never writes Ready=False */
    bool conflict;  /* NotReady because of a rebalance (409, or 500 passed on by another worker): clears by itself */
    char *not_ready_reason;
    char cause[FACT_CAUSE_MAX]; /* last "Caused by" of the first FAILED trace, else of the condition; "" */
    bool authorization;         /* the cause is TopicAuthorization/GroupAuthorization/ClusterAuthorization */
    bool plugin_missing;        /* the class is not in the image */
    enum fact_connector_state state;
    bool source;   /* connectorStatus.type is source: it has no consumer group */
    int32_t tasks; /* tasks[] counted, never status.tasksMax */
    int32_t tasks_running;
    int32_t tasks_failed;
    int32_t first_failed_task; /* -1: none */
    uint64_t workers;          /* which task runs on which worker; 0: no task is placed */
    int64_t auto_restarts;     /* status.autoRestart.count; 0 when absent */
    bool auto_restart_on;      /* spec.autoRestart.enabled */
    int64_t restarted_ms;      /* wall: status.autoRestart.lastRestartTimestamp; 0 when absent */
    int64_t restart_due_ms;    /* wall: what FAILED since then is restarted no sooner; 0 when absent */
    bool want_stopped;         /* spec.state stopped or paused, or spec.pause */
    char *class_name;
    char *group_override; /* config consumer.override.group.id; NULL */
    char *topics;         /* config topics or topics.regex, as shown to people; NULL */
    uint64_t spec_hash;   /* class, config, tasksMax: part of the fingerprint */
};

/* One KafkaConnect. */
struct fact_connect {
    char *name;
    char *uid;
    int64_t generation;
    int64_t observed_generation;
    bool ready;
    bool not_ready;
    char *not_ready_reason;
    char cause[FACT_CAUSE_MAX];
    bool connector_resources; /* annotation strimzi.io/use-connector-resources: "true" */
    bool paused;              /* annotation strimzi.io/pause-reconciliation: "true" */
    int64_t replicas;         /* spec.replicas, 1 when absent */
    int64_t flush_ms;         /* spec.config offset.flush.interval.ms; -1 when absent */
    char **plugins;           /* classes in status.connectorPlugins; NULL when not listed yet */
    size_t plugin_count;
};

/* One pod of Kafka Connect. */
struct fact_pod {
    char *name;
    char *uid;
    char *connect;   /* label strimzi.io/cluster */
    bool is_connect; /* label strimzi.io/kind is KafkaConnect */
    bool ready;
    bool deleting;
    int64_t restarts; /* of the Connect container */
    char *container;  /* name of the Connect container */
    char *waiting;    /* reason of its waiting or last bad end ("CrashLoopBackOff"); NULL */
    char *phase;
};

/* One Job. */
struct fact_job {
    char *name;
    char *uid;
    int64_t created_ms; /* wall */
    bool succeeded;
    bool failed;
    char *message; /* of the Failed condition; NULL */
    bool matches;  /* the init job's selector */
};

void fact_connector_free(struct fact_connector *connector);
void fact_connect_free(struct fact_connect *connect);
void fact_pod_free(struct fact_pod *pod);
void fact_job_free(struct fact_job *job);

/* ---------------------------------------------------------------- log findings */

enum fact_log_kind {
    FACT_LOG_ERROR, /* ERROR or FATAL that no other kind names */
    FACT_LOG_OUT_OF_MEMORY,
    FACT_LOG_AUTHORIZATION,
    FACT_LOG_AUTHENTICATION,
    FACT_LOG_AUTHENTICATION_SUSPECTED,
    FACT_LOG_UNKNOWN_TOPIC,
    FACT_LOG_RETRYING, /* a RetriableException while the task goes on */
    FACT_LOG_CONFIG,
};

/* One log record with its trace, equal ones folded. */
struct fact_log_finding {
    enum fact_log_kind kind;
    bool warning;                  /* WARN, else ERROR, FATAL or no level */
    bool ended;                    /* the line says that its task ended */
    int64_t first_line, last_line; /* of the first such record, from 1 */
    int64_t count;
    int64_t first_ms, last_ms; /* wall time of the first and last record; 0 when the line has none */
    char pod[64];
    char connector[128]; /* from [name|task-n] or WorkerSinkTask{id=name-n}; "" */
    int32_t task;        /* -1 */
    char subject[160];   /* topic, group or peer that is named; "" */
    char mechanism[32];  /* SASL mechanism; "" */
    char cause[FACT_CAUSE_MAX];
    char line[FACT_CAUSE_MAX]; /* the record's first line, cut */
};

/* ---------------------------------------------------------------- Kafka */

struct fact_topic {
    bool found;
    int32_t partitions;
    bool configs_known;
    bool create_time;     /* message.timestamp.type is CreateTime */
    bool compacted;       /* cleanup.policy holds compact */
    bool deleted;         /* cleanup.policy holds delete */
    int64_t retention_ms; /* -1: unlimited */
};

enum fact_acl_match { FACT_ACL_LITERAL, FACT_ACL_PREFIXED }; /* the literal name "*" is the wildcard */
enum fact_acl_resource { FACT_ACL_TOPIC, FACT_ACL_GROUP, FACT_ACL_CLUSTER, FACT_ACL_TRANSACTIONAL_ID, FACT_ACL_OTHER };
enum fact_acl_operation {
    FACT_ACL_ALL,
    FACT_ACL_READ,
    FACT_ACL_WRITE,
    FACT_ACL_CREATE,
    FACT_ACL_DELETE,
    FACT_ACL_ALTER,
    FACT_ACL_DESCRIBE,
    FACT_ACL_DESCRIBE_CONFIGS,
    FACT_ACL_ALTER_CONFIGS,
    FACT_ACL_CLUSTER_ACTION,
    FACT_ACL_IDEMPOTENT_WRITE,
    FACT_ACL_OP_OTHER,
};

/* One ACL binding. Principals are opaque: compared byte for byte ("User:*" is Kafka's own wildcard). */
struct fact_acl {
    char *principal;
    char *host;
    char *name;
    enum fact_acl_resource resource;
    enum fact_acl_match match;
    enum fact_acl_operation operation;
    bool deny;
};

enum fact_group_state { FACT_GROUP_UNKNOWN, FACT_GROUP_REBALANCING, FACT_GROUP_STABLE, FACT_GROUP_DEAD, FACT_GROUP_EMPTY };

struct fact_assignment {
    char *topic;
    int32_t partition;
};

struct fact_group {
    char *name;
    struct dv_err err; /* of this group alone (authorization) */
    enum fact_group_state state;
    bool listed; /* in the cluster's list of groups. Listed but Dead: a group of the new protocol, which cannot be described */
    int32_t members;
    struct fact_assignment *assignments; /* over all members */
    size_t assignment_count;
};

/* Committed or log offsets by partition, -1: none. */
struct fact_offsets {
    int32_t partitions;
    int64_t *low;    /* log start; NULL for commits */
    int64_t *high;   /* log end (high watermark), or the committed offset */
    int64_t *stable; /* last stable offset; NULL when not asked */
};

/* How far a group is behind over all topics on which it has committed and which our principal may describe. */
struct fact_group_lag {
    int64_t records;    /* from commit to log end, in offsets: transaction markers and what compaction took count too */
    int32_t partitions; /* that were counted; those without a commit of the group are not */
    int32_t unseen;     /* with a commit and not counted: the log end was not to be had, or there are more than FACT_GROUP_LAG_MAX */
};
#define FACT_GROUP_LAG_MAX 2000

struct fact_header {
    char *name;
    unsigned char *value; /* NULL for a null value */
    size_t len;
};

/* A Kafka record, to be produced or as read. */
struct fact_record {
    int32_t partition;
    int64_t offset; /* -1 before it is produced */
    int64_t timestamp_ms;
    unsigned char *key;
    size_t key_len;
    unsigned char *value;
    size_t value_len;
    struct fact_header *headers;
    size_t header_count;
};

void fact_acls_free(struct fact_acl *acls, size_t count);
void fact_groups_free(struct fact_group *groups, size_t count);
void fact_offsets_free(struct fact_offsets *offsets);
void fact_record_clear(struct fact_record *record); /* frees what it holds, not itself */

/* True when needle stands in the bytes as a whole string: not preceded or followed by a letter, digit, '.', '_' or '-', or preceded by its
 * length as a binary format writes it. */
bool fact_bytes_contain(const unsigned char *bytes, size_t len, const char *needle);
bool fact_bytes_begin(const unsigned char *bytes, size_t len, const char *prefix); /* bytes may be NULL */

#endif

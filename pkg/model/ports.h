/* The two ports through which the controller reaches the world: Kubernetes and Kafka.
 *
 * Every function starts something and returns at once; what comes of it is an event through the sink that was given when the port was
 * made, later, from the loop, never from within the call. Requests carry an id chosen by the caller (never 0) that comes back in the
 * answer. After *_stop or *_close no event with that id arrives any more. Events and what they hold are borrowed: valid during the call.
 * Secret bytes never pass through here: adapters fetch and keep them.
 */
#ifndef DV_MODEL_PORTS_H
#define DV_MODEL_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/timefmt.h"
#include "model/facts.h"
#include "model/spec.h"

typedef uint64_t port_id;

/* ---------------------------------------------------------------- Kubernetes */

/* An API server: the controller's own, or one whose kubeconfig stands in a Secret of the own one. */
struct port_server {
    const char *ns;     /* namespace of the Secret; NULL: the own API server */
    const char *secret; /* name */
    const char *key;
};

enum port_verb { PORT_GET, PORT_CREATE, PORT_REPLACE, PORT_MERGE_PATCH, PORT_DELETE };

/* One API resource, addressed. */
struct port_resource {
    const char *group;   /* "" is the core group */
    const char *version; /* NULL: discovered, the newest that is served (Strimzi: v1, else v1beta2) */
    const char *plural;
    const char *ns;          /* NULL: cluster-scoped, or all namespaces in a watch */
    const char *name;        /* NULL: the collection */
    const char *subresource; /* NULL or "status" */
};

struct port_call {
    struct port_server server;
    enum port_verb verb;
    struct port_resource resource;
    const json_t *body; /* NULL for GET and DELETE; written out before the call returns */
};

struct port_watch {
    struct port_server server;
    struct port_resource resource; /* name set: one object, by fieldSelector metadata.name */
    const char *label_selector;    /* NULL, or as in the query */
};

struct port_log {
    struct port_server server;
    const char *ns, *pod, *container;
    int64_t since_ms; /* wall time; lines from before are left out where the server knows how */
    bool previous;    /* the log of the container's previous life, which ends by itself */
};

enum port_kube_event_kind {
    PORT_KUBE_ANSWER,  /* to call */
    PORT_KUBE_ITEM,    /* watch: object is there, new or changed (json) */
    PORT_KUBE_GONE,    /* watch: object is gone (ns, name; json is its last state or NULL) */
    PORT_KUBE_SYNCED,  /* watch: the first full list was delivered, or a new one after 410: what is not in it came as GONE; log: can be read
                          again */
    PORT_KUBE_TROUBLE, /* watch or log: cannot be served now (err); it goes on trying by itself. The store is kept */
    PORT_KUBE_LINES,   /* log: whole lines (text, len), without the last line break */
    PORT_KUBE_LOG_END, /* log: the container's log ended, or the pod is gone */
};

struct port_kube_event {
    enum port_kube_event_kind kind;
    port_id id;
    struct dv_err err;  /* ANSWER: kind NONE on 2xx; code holds the HTTP status; TROUBLE */
    const json_t *json; /* ANSWER: body, may be NULL; ITEM: the object */
    const char *ns, *name;
    const char *text;
    size_t len;
};

typedef void port_kube_sink(void *arg, const struct port_kube_event *event);

struct port_kube {
    void *impl;
    /* Requests on all servers share connections per (server, identity). fieldValidation=Strict and the program's field manager go with
     * every write. A call that gets no answer within 30 s ends with DV_ERR_TIMEOUT (the effect is unknown). */
    void (*call)(void *impl, port_id id, const struct port_call *call);
    /* Shared underneath: equal (server, resource, selectors) cost one connection; a later subscriber first gets the store as ITEMs. */
    void (*watch)(void *impl, port_id id, const struct port_watch *watch);
    void (*watch_stop)(void *impl, port_id id);
    /* Follows until LOG_END or log_stop; reconnects by itself without repeating lines. */
    void (*log)(void *impl, port_id id, const struct port_log *log);
    void (*log_stop)(void *impl, port_id id);
    /* Milliseconds the Lease surely outlives from now; 0 or less: do nothing unsafe. INT64_MAX without --lease. */
    int64_t (*lease_left_ms)(void *impl);
};

/* ---------------------------------------------------------------- Kafka */

enum port_ask {
    PORT_ASK_CLUSTER,    /* cluster id -> text */
    PORT_ASK_TOPIC,      /* topic -> fact_topic. Never creates it */
    PORT_ASK_LOG,        /* topic -> fact_offsets with low, high, stable */
    PORT_ASK_READ_RIGHT, /* topic: one fetch at the log end of each partition; no value */
    PORT_ASK_ACLS,       /* all bindings -> acls */
    PORT_ASK_GROUPS,     /* groups[] -> fact_group each, in the order asked */
    PORT_ASK_COMMITS,    /* group, topic -> fact_offsets with high only */
    PORT_ASK_GROUP_LAG,  /* group -> fact_group_lag over all topics. Those without Describe for us are left out unseen */
    PORT_ASK_DISTANCE,   /* topic, partition, from, to, before_ms, limit -> number: data records in [from, to) with a timestamp below
                            before_ms; limit when there are as many or more */
};

struct port_question {
    enum port_ask ask;
    const char *topic;
    const char *group;
    const char *const *groups;
    size_t group_count;
    int32_t partition;
    int64_t from, to, before_ms;
    int64_t limit; /* DISTANCE: counting ends there, whatever lies behind; 0: none */
};

struct port_reader {
    const char *topic;
    const int64_t *from; /* by partition */
    int32_t partitions;
    const char *header; /* only records with this header and value; NULL: all */
    const char *header_value;
    const char *key_prefix; /* with a header: also records without it whose key begins so; NULL: none */
    const char *needle[2];  /* only records whose key and value bytes hold both as whole strings; NULL: no such demand */
};

enum port_kafka_event_kind {
    PORT_KAFKA_ANSWER,    /* to ask: one of the values below by question */
    PORT_KAFKA_PRODUCED,  /* record (with its offset) or err; one for each record of the batch. DV_ERR_TIMEOUT: it may be persisted */
    PORT_KAFKA_COMMITTED, /* answer to commit. DV_ERR_TIMEOUT: it may have happened */
    PORT_KAFKA_RECORD,    /* reader: a record that passed the filter */
    PORT_KAFKA_POSITION,  /* reader: offsets.high = next offset to read, low = high watermark seen, stable = last stable offset when it was
                             asked for; sent when the reader has come to those, however much was written since, and each time again */
    PORT_KAFKA_TROUBLE,   /* reader: cannot read now (err); it goes on trying */
};

struct port_kafka_event {
    enum port_kafka_event_kind kind;
    port_id id;
    enum port_ask ask;
    struct dv_err err;
    const char *text;
    int64_t number;
    const struct fact_topic *topic;
    const struct fact_offsets *offsets;
    const struct fact_group_lag *lag;
    const struct fact_acl *acls;
    size_t acl_count;
    const struct fact_group *groups;
    size_t group_count;
    const struct fact_record *record;
    size_t index; /* PRODUCED: which record of the batch */
};

typedef void port_kafka_sink(void *arg, const struct port_kafka_event *event);

struct port_kafka {
    void *impl;
    /* A connection to one cluster with these credentials; secrets resolve in ns. cluster is the name people gave it, for messages. */
    void (*open)(void *impl, port_id client, const struct model_kafka *kafka, const char *ns, const char *cluster);
    void (*close)(void *impl, port_id client);
    /* Answered within 15 s or with DV_ERR_TIMEOUT. */
    void (*ask)(void *impl, port_id client, port_id id, const struct port_question *question);
    /* Idempotent, acks=all. Records are copied. */
    void (*produce)(void *impl, port_id client, port_id id, const char *topic, const struct fact_record *records, size_t count);
    /* Sets the group's committed offsets on the topic; offsets[p] < 0: partition is left alone. Refused while the group has members. */
    void (*commit)(void *impl, port_id client, port_id id, const char *group, const char *topic, const int64_t *offsets,
                   int32_t partitions);
    /* Assigns and seeks, read_committed, no group. */
    void (*read)(void *impl, port_id client, port_id id, const struct port_reader *reader);
    void (*read_stop)(void *impl, port_id id);
};

/* How an adapter gets Secret bytes: implemented by pkg/kube, used by pkg/kafka. The answer comes through done, later or from within the
 * call; data is borrowed and wiped afterwards. err kind DV_ERR_SECRET names Secret and key. */
typedef void port_secret_done(void *arg, const struct dv_err *err, const char *const *values, const size_t *lens, size_t count);
struct port_secret_item {
    const char *secret;
    const char *key;
};
struct port_secrets {
    void *impl;
    void (*get)(void *impl, const char *ns, const struct port_secret_item *items, size_t count, port_secret_done *done, void *arg);
};

#endif

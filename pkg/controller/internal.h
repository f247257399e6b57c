/* Inside pkg/controller: one entry per resource with all that is known for it, tickets for everything that was asked of the ports. */
#ifndef DV_CONTROLLER_INTERNAL_H
#define DV_CONTROLLER_INTERNAL_H

#include <uthash.h>

#include "controller/controller.h"
#include "distributor/distributor.h"
#include "values/values.h"
#include "verify/verify.h"

/* What a ticket's id stands for. */
enum ticket_kind {
    TICKET_RESOURCES, /* the watch on DistributionVerifications; no entry */
    TICKET_STATUS,
    TICKET_FINALIZER,
    TICKET_LOOK, /* the resource as it is after a status write without an answer */
    TICKET_EVENT,
    TICKET_ACCESS,
    TICKET_PATCH,
    TICKET_WATCH_VALUES,
    TICKET_WATCH_CONNECT,
    TICKET_WATCH_CONNECTORS,
    TICKET_WATCH_PODS,
    TICKET_WATCH_JOBS,
    TICKET_LOG,
    TICKET_CLIENT,
    TICKET_ASK,
    TICKET_PRODUCE,
    TICKET_COMMIT,
    TICKET_READER,
    TICKET_TS_READER,
};

struct entry;

struct ticket {
    port_id id;
    enum ticket_kind kind;
    struct entry *entry;
    enum model_side side;
    enum verify_fact fact;
    int64_t asked_ms;
    struct verify_distance distance;
    int index;
    char effect_id[16]; /* PATCH: what it is the effect of */
    port_id watch;      /* PATCH: on the object that it changes */
    UT_hash_handle hh;
};

/* Log of one container of one pod since the stage began. */
struct ctl_log {
    char *pod_uid;
    int64_t restarts; /* which life of the container */
    bool previous;    /* read once more from the end of that life */
    port_id id;
    int64_t since_ms;
    int64_t fed_ms;        /* monotonic; 0: nothing open */
    struct dv_err trouble; /* it cannot be read now; kind NONE: it can */
    struct distributor_log *log;
    struct ctl_log *next;
};

struct ctl_reader {
    port_id id; /* 0: not started */
    unsigned generation;
    int64_t at_ms;
    int32_t partitions;
    int64_t *next, *high, *stable;
    int64_t *from; /* timestamps reader: where it starts; NULL until the log end is known */
};

struct ctl_side {
    struct verify_stamp stamp[VF_COUNT];
    bool asked[VF_ASKED_COUNT];
    /* Kafka */
    port_id client;
    char cluster_id[64];
    struct fact_topic test_topic, ts_topic;
    struct fact_offsets *test_log, *ts_log, *md_commits, *test_commits;
    struct fact_group *groups;
    struct fact_group_lag group_lag;
    struct verify_right write_test, write_ts, read_group[MODEL_CONNECTORS];
    struct verify_distance *distances; /* VERIFY_DISTANCES of them, NULL until the first is known; oldest first */
    size_t distance_count;
    struct ctl_reader reader, ts_reader;
    int64_t ts_seen, ts_last_ms;
    int64_t ts_asked_ms;
    /* Kubernetes */
    int access_open;
    bool access_asked;
    uint32_t access_refused; /* rows of the table of rights */
    char access_missing[600];
    port_id watch_values, watch_connect, watch_connectors, watch_pods, watch_jobs;
    struct verify_values values;
    bool values_known;
    char *values_text;
    size_t values_len;
    char values_uid[64];  /* of the object that the next two are about; versions of two objects compare to nothing */
    int64_t values_floor; /* items older than this resourceVersion are not looked at: we wrote a newer one */
    struct fact_connect *connect;
    struct fact_connector **connectors;
    size_t connector_count;
    struct fact_pod **pods;
    size_t pod_count;
    struct fact_job **jobs;
    size_t job_count;
    struct ctl_log *logs;
    /* scratch of one turn */
    struct verify_connector *scratch_connectors;
    struct fact_log_finding *scratch_findings;
    bool *scratch_dirty;
    size_t finding_count;
};

struct entry {
    struct controller *ctl;
    char *key; /* "namespace/name" */
    char *ns, *name, *uid, *version;
    int64_t version_floor;
    int64_t taken_ms; /* monotonic: the resource was last heard of, by watch or as an answer */
    int64_t generation;
    bool deleting, gone, has_finalizer;
    json_t *finalizers; /* as seen; NULL */
    char *reverify, *abort_id;
    json_t *spec_json;
    struct model_spec *spec;
    struct dv_err spec_err;
    json_t *status_json;    /* as last seen or written */
    json_t *unknown_fields; /* paths the installed CRD does not know; NULL */
    char crd_too_old[201];  /* and what is said of it; "" */
    bool status_same;       /* status is known to say the same */
    struct model_status status;
    struct verify_memory memory;
    struct probe_table probes;
    struct ctl_side side[MODEL_SIDES];
    bool runs;                  /* as entry_runs() said last: when it ends, others may start */
    bool writing;               /* a status or finalizer write is under way: no turn before its answer */
    struct verify_plan *plan;   /* waits for that answer */
    struct verify_plan *unsure; /* its status write got no answer: whether it was done is looked up before anything else */
    bool act_asked_records;
    size_t act_records, act_answers;
    struct dv_err act_err;
    char last_step[80], last_waits[240]; /* as logged */
    int64_t due_ms;                      /* monotonic; INT64_MAX: nothing due */
    int64_t not_before_ms;
    int failures; /* writes in a row that failed, for the back-off */
    UT_hash_handle hh;
};

struct controller {
    struct controller_options options;
    struct port_kube kube;
    struct port_kafka kafka;
    port_id next_id;
    struct ticket *tickets;
    struct entry *entries;
    struct entry **order; /* round robin */
    size_t order_count;
    size_t order_next;
    bool synced;
    int64_t lost_ms; /* monotonic: the watch on the resources was lost and has not listed anew yet; 0: it is in step */
};

/* controller.c */
struct dv_now ctl_now(const struct controller *ctl);
struct ticket *ticket_new(struct controller *ctl, enum ticket_kind kind, struct entry *entry, enum model_side side);
struct ticket *ticket_find(struct controller *ctl, port_id id);
void ticket_drop(struct controller *ctl, struct ticket *ticket);
void entry_due(struct entry *entry, int64_t at_ms);
void entry_due_now(struct entry *entry);
int64_t ctl_version(const char *resource_version);    /* -1 when it is no number */
bool ctl_json_same(const json_t *a, const json_t *b); /* numbers by value: an API server writes 1.0 as 1 */

/* entry.c */
/* Found or made, brought up to date; NULL: outdated. listed: by the watch, whose list after a loss is right whatever its versions say. */
struct entry *entry_take(struct controller *ctl, const json_t *object, bool listed);
void entry_remove(struct entry *entry);
/* A run is under way, or its start is: a status that is being written, or was without an answer, counts as written. */
bool entry_runs(const struct entry *entry);
int entry_places_used(const struct controller *ctl); /* of max_runs */
/* Another verification whose run drives one of these Distributors; NULL. */
const char *entry_conflict(const struct entry *entry);
/* One of these whose run goes before this one's, which has not come beyond Preflight; NULL. */
const char *entry_goes_first(const struct entry *entry);

/* turn.c */
void turn_take(struct entry *entry);
void turn_answer(struct entry *entry, const struct port_kube_event *event, enum ticket_kind kind);

/* schema.c: a CRD that is older than this program */
bool schema_refused(struct entry *entry, const char *message); /* the answer names fields that were not known to be unknown */
json_t *schema_status(const struct entry *entry, const struct model_status *status); /* as it is written; caller decrefs */
void schema_forget(struct entry *entry);                                             /* the next write tries all fields again */

/* act.c */
void act_effect(struct entry *entry, const struct verify_plan *plan);
void act_patched(struct ticket *ticket, const struct port_kube_event *event);
void act_produced(struct entry *entry, const struct port_kafka_event *event);
void act_committed(struct entry *entry, const struct port_kafka_event *event);
void act_lost(struct entry *entry); /* no answer will come to the effect that was asked for */
void act_event(struct entry *entry, const struct verify_event *event);

/* observe.c: what is watched and read */
void observe_converge(struct entry *entry, const struct verify_observe *observe);
void observe_stop(struct entry *entry);
void observe_kube(struct ticket *ticket, const struct port_kube_event *event);
void observe_access(struct entry *entry, enum model_side side);
void observe_known(struct ctl_side *facts, enum verify_fact fact, int64_t now);
void observe_failed(struct ctl_side *facts, enum verify_fact fact, int64_t now, const struct dv_err *err);
struct port_server entry_server(const struct entry *entry, enum model_side side);

/* logs.c */
void logs_converge(struct entry *entry, enum model_side side, bool wanted, int64_t since_ms);
void logs_again(struct entry *entry, enum model_side side); /* the spec allows other lines */
void logs_event(struct ticket *ticket, const struct port_kube_event *event);
void logs_findings(struct entry *entry, enum model_side side, int64_t arrival_ms); /* of all pods of a side, for one turn */

/* ask.c: questions to Kafka */
void ask_all(struct entry *entry, const struct verify_plan *plan);
void ask_answer(struct ticket *ticket, const struct port_kafka_event *event);
const char *entry_group(struct entry *entry, enum model_side side, int which, char *scratch, size_t size);
void side_free_facts(struct ctl_side *facts);

/* target_object.c: values in a ConfigMap or Secret */
void target_item(struct entry *entry, enum model_side side, const json_t *object);
void target_gone(struct entry *entry, enum model_side side);
struct port_resource target_resource(const struct entry *entry, enum model_side side);
/* Body of the merge patch that makes the switches as wanted; NULL and err when the text cannot be changed safely. */
json_t *target_patch(struct entry *entry, enum model_side side, const struct model_switches *want, bool *changed, struct dv_err *err);
void target_clear(struct ctl_side *side);

#endif

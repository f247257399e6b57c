/* A world in memory and in virtual time: an API server, two Kafka clusters, two Distributors. It stands in for pkg/kube and pkg/kafka below
 * the controller. Left out: TLS, sockets, discovery, more than one test topic, consumer protocols; a Kafka group is its commits and the
 * number of its members. Everything random comes from one seed, so that a run can be repeated. */
#ifndef DV_SIM_WORLD_H
#define DV_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "controller/controller.h"
#include "model/ports.h"

#define WORLD_NS "kafka"
#define WORLD_RESOURCE "dc1-dc2"
#define WORLD_TOPIC "distribution-test"
#define WORLD_GROUP "distribution-test-group"
#define WORLD_TIMESTAMPS "_distributor-timestamps"
#define WORLD_PARTITIONS 3
#define WORLD_PARTITIONS_MAX 80

struct world;
typedef void world_fn(struct world *world, void *arg);

struct world_event {
    int64_t at;
    uint64_t seq;
    world_fn *fn;
    void (*drop)(void *arg); /* when it never runs; NULL: arg is not owned */
    void *arg;
};

/* ---------------------------------------------------------------- Kafka */

struct world_record {
    struct fact_record fact;
    bool control; /* a transaction marker: takes an offset, is never read */
};

struct world_partition {
    struct world_record *records;
    int64_t end; /* log end; offsets begin at 0 */
    size_t room;
    int64_t open; /* first offset of an open transaction; -1 */
};

struct world_topic {
    char *name;
    struct fact_topic fact;
    struct world_partition part[WORLD_PARTITIONS_MAX];
};

struct world_commit {
    char *group, *topic;
    int32_t partition;
    int64_t offset;
};

struct world_reader {
    port_id id;
    uint64_t epoch;
    int cluster;
    char *topic, *header, *header_value, *key_prefix, *needle[2];
    int32_t partitions;
    int64_t next[WORLD_PARTITIONS_MAX], high[WORLD_PARTITIONS_MAX];
    bool pumping, told, troubled;
    struct world_reader *link;
};

struct world_kafka {
    int index;
    char id[32];
    struct world_topic **topics;
    size_t topic_count;
    struct world_commit *commits; /* in force, one per group, topic and partition */
    size_t commit_count;
    struct world_commit *history; /* __consumer_offsets: every commit in order */
    size_t history_count;
    struct fact_acl *acls;
    size_t acl_count;
    bool down;
    int64_t group_members;   /* of the test group, from outside */
    bool group_blind;        /* the test group is one of the new protocol */
    enum dv_err_kind refuse; /* every request of ours ends so; NONE */
    int64_t refuse_ask;      /* only this enum port_ask is denied; -1 */
    int64_t lose_produce;    /* next batches are written and reported as lost */
    int64_t lose_commit;
};

/* ---------------------------------------------------------------- Distributors */

enum world_alter {
    WORLD_ALTER_NOTHING,
    WORLD_ALTER_KEY,
    WORLD_ALTER_VALUE,
    WORLD_ALTER_HEADER,
    WORLD_ALTER_TIMESTAMP,
    WORLD_ALTER_PARTITION,
    WORLD_ALTER_HEADERS_GONE
};

/* Faults and manners of one side; set by name, see world_faults.c. */
struct world_manners {
    int64_t md_ignore_flags, md_level, md_delay, md_stall, md_drop_every, md_duplicate, md_alter, md_skip_partition, md_fail_after;
    int64_t od_silent, od_previous, od_binary, od_elsewhere, od_dead;
    int64_t oc_ignore, oc_ahead, oc_behind, oc_beyond, oc_backwards, oc_flush, oc_rewind, oc_drift, oc_only_partition;
    int64_t init_skip; /* bits of enum world_grant */
    int64_t init_fail, init_delay, init_no_topic, init_narrow, init_hook;
    int64_t applier_delay, applier_refuse, applier_revert;
    int64_t auto_restart, start_delay, strimzi_delay, strimzi_slow;
    int64_t hold_back;    /* after its worker is back a task waits for so long (scheduled.rebalance.max.delay.ms) */
    int64_t new_protocol; /* the connectors' groups cannot be described */
    int64_t od_source;    /* the Offset Distributor is a source connector */
    int64_t own_group;    /* the Message Distributor's group is named in its config */
    int64_t replicate;    /* a foreign replicator copies the test topic from here */
};

enum world_grant {
    WORLD_GRANT_GROUP = 1,
    WORLD_GRANT_TOPIC_READ = 2,
    WORLD_GRANT_TOPIC_WRITE = 4,
    WORLD_GRANT_TS_WRITE = 8,
    WORLD_GRANT_TS_READ = 16
};

enum world_task_state { WORLD_TASK_NONE, WORLD_TASK_STARTING, WORLD_TASK_RUNNING, WORLD_TASK_FAILED, WORLD_TASK_CONNECTOR_FAILED };

struct world_pending {
    char *group, *topic;
    int32_t partition;
    int64_t number; /* offset or timestamp */
};

struct world_connector {
    struct world_dist *dist;
    enum model_connector kind;
    char name[80], group[100];
    bool wanted; /* its KafkaConnector is there */
    enum world_task_state state;
    const char *trace;
    bool leaving;  /* stopped, and its group does not know it yet */
    uint64_t life; /* raised with every start and stop: events of an earlier life do nothing */
    int64_t next[WORLD_PARTITIONS_MAX], done[WORLD_PARTITIONS_MAX]; /* read up to; to be committed */
    int64_t handled;
    bool pumping, flushing, dirty;
    int64_t history_next, history_done; /* Offset Distributor */
    struct world_pending *pending;
    size_t pending_count;
    int64_t auto_restarts;
};

struct world_line {
    int64_t wall_ms;
    char *text;
};

struct world_dist {
    struct world *world;
    int side;
    int server;
    bool secret; /* values in a Secret */
    int64_t revision;
    bool applying;
    bool pod_up;
    int64_t restarts;
    struct world_connector connector[MODEL_CONNECTORS];
    struct world_line *lines;
    size_t line_count;
    struct world_manners manners;
    bool plugin_missing;
    int64_t replicated[WORLD_PARTITIONS_MAX]; /* by a foreign replicator */
    char *values_before;
};

/* ---------------------------------------------------------------- Kubernetes */

struct world_object {
    int server;
    char *plural, *ns, *name;
    json_t *json;
};

struct world_watch {
    port_id id;
    uint64_t epoch;
    int server;
    char *plural, *ns, *name, *selector;
    int64_t last_at;
    json_t *known; /* names that were told */
    struct world_watch *link;
};

struct world_follow {
    port_id id;
    uint64_t epoch;
    int side;
    size_t next;
    bool due;
    struct world_follow *link;
};

/* ---------------------------------------------------------------- the world */

struct world_counts {
    int64_t turns, status_writes, asks, values_writes, produces, commits, events, conflicts;
};

/* What is done once, when a stage and step is reached. */
struct world_action {
    char stage[24], step[24];
    int64_t delay_ms;
    char *what;
    bool fired;
};

struct world {
    uint64_t random;
    int64_t now, wall_offset;
    struct world_event *heap;
    size_t heap_count, heap_room;
    uint64_t seq;
    /* the controller */
    struct controller *controller;
    uint64_t epoch;
    bool dead; /* the process is ended at this instant: nothing of it reaches the world any more */
    bool woken;
    int64_t due;
    int64_t restart_ms;
    int max_runs;
    int64_t lease_ms;
    /* the parts */
    struct world_kafka kafka[MODEL_SIDES];
    struct world_dist dist[MODEL_SIDES];
    struct world_object *objects;
    size_t object_count;
    int64_t version;
    struct world_watch *watches;
    struct world_follow *follows;
    struct world_reader *readers;
    struct {
        port_id id;
        uint64_t epoch;
        int cluster;
    } clients[64];
    size_t client_count;
    bool api_down[2];
    int64_t api_conflicts; /* so many of the next status writes meet a conflict */
    int64_t api_lose;      /* so many of the next writes are done and their answers lost */
    bool crd_old;          /* the CRD knows neither run.lastProgressAt nor the evidence's watchedSeconds */
    char api_deny[200];    /* "verb resource,verb resource" that an access review refuses */
    /* settings */
    bool field;
    int64_t window, flush, reconcile;
    int64_t slow; /* latencies times this */
    json_t *spec;
    /* the script */
    struct world_action *actions;
    size_t action_count;
    /* what came of it */
    struct world_counts counts;
    json_t *produced;  /* id of each probe that was produced -> times */
    json_t *committed; /* "side/partition/offset" set through the port -> times */
    json_t *happened;  /* reasons of events */
    char broken[512];  /* first invariant that did not hold */
};

/* world_time.c */
uint64_t world_draw(struct world *world);
int64_t world_between(struct world *world, int64_t low, int64_t high); /* inclusive; times world->slow */
bool world_chance(struct world *world, int percent);
void world_after(struct world *world, int64_t delay_ms, world_fn *fn, void (*drop)(void *arg), void *arg);
bool world_next_at(const struct world *world, int64_t *at);
void world_step(struct world *world); /* takes the next event; the clock moves to it */
int64_t world_wall(const struct world *world);
void world_break(struct world *world, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void world_seed_ids(uint64_t seed); /* what the controller draws from now on */

/* world.c */
struct world *world_new(uint64_t seed, bool field);
void world_free(struct world *world);
void world_controller_start(struct world *world);
void world_controller_stop(struct world *world);
json_t *world_resource(struct world *world, const char *name);      /* borrowed; NULL */
json_t *world_make_resource(struct world *world, const char *name); /* caller puts it */
const char *world_status_text(struct world *world, const char *key);
/* "0 1 0 0 0" as the values text says; "?" for what cannot be read */
void world_switches(struct world *world, int side, char out[12]);

/* world_kube.c */
struct port_kube world_kube_port(struct world *world);
json_t *world_get(struct world *world, int server, const char *plural, const char *name);
void world_put(struct world *world, int server, const char *plural, json_t *json, const char *manager); /* takes json */
void world_remove(struct world *world, int server, const char *plural, const char *name);
void world_api_down(struct world *world, int server, bool down);
void world_relist(struct world *world, int server);
void world_drop_epoch(struct world *world); /* what an ended controller watched */
void world_kube_free(struct world *world);
/* world_watch.c */
void world_changed(struct world *world, const struct world_object *object, bool gone);
void world_watch_start(struct world *world, port_id id, const struct port_watch *request);
void world_watch_stop(struct world *world, port_id id);
void world_log_start(struct world *world, port_id id, const struct port_log *log);
void world_log_stop(struct world *world, port_id id);
void world_log(struct world_dist *dist, const char *fmt, ...) __attribute__((format(printf, 2, 3)));       /* as it stands */
void world_log_dated(struct world_dist *dist, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* after the time of now */
void world_logs_end(struct world_dist *dist);

/* world_schema.c */
void world_check_status(struct world *world, const json_t *status);

/* world_kafka.c */
struct world_topic *world_topic(struct world_kafka *kafka, const char *name);
struct world_topic *world_topic_make(struct world_kafka *kafka, const char *name, int32_t partitions);
void world_topic_remove(struct world_kafka *kafka, const char *name);
int64_t world_append(struct world *world, int cluster, struct world_topic *topic, const struct fact_record *record, bool control);
void world_record_copy(struct fact_record *to, const struct fact_record *from);
const struct fact_header *world_header(const struct fact_record *record, const char *name);
void world_header_set(struct fact_record *record, const char *name, const void *value, size_t len);
int64_t world_committed(const struct world_kafka *kafka, const char *group, const char *topic, int32_t partition);
void world_commit(struct world *world, int cluster, const char *group, const char *topic, int32_t partition, int64_t offset);
int64_t world_stable(const struct world_partition *part);
void world_allow(struct world_kafka *kafka, const char *principal, enum fact_acl_resource resource, const char *name, bool prefixed,
                 enum fact_acl_operation operation, bool deny);
void world_kafka_free(struct world_kafka *kafka);

/* world_port.c, world_reader.c */
struct port_kafka world_kafka_port(struct world *world);
int world_client_cluster(struct world *world, port_id client); /* -1: not open */
void world_reader_start(struct world *world, int cluster, port_id id, const struct port_reader *request);
void world_reader_stop(struct world *world, port_id id);
void world_readers_wake(struct world *world, int cluster);
void world_readers_free(struct world *world, bool all);
struct fact_group world_describe(struct world *world, int cluster, const char *name); /* what it holds is the caller's */

/* world_distributor.c, world_connect.c, world_strimzi.c */
void world_dist_init(struct world *world, int side);
void world_dist_free(struct world_dist *dist);
void world_values_changed(struct world *world, int side);
void world_values_write(struct world *world, int side, const char *text, const char *manager);
char *world_values_text(struct world *world, int side); /* caller frees; NULL */
json_t *world_meta(const char *name, const char *label_key, const char *label);
const char *world_principal(int side);
void world_strimzi_soon(struct world_dist *dist);
void world_strimzi_tick(struct world_dist *dist);
void world_pod_put(struct world_dist *dist);
void world_connector_start(struct world_connector *connector, int64_t delay_ms);
void world_connector_stop(struct world_connector *connector, bool clean);
void world_connector_fail(struct world_connector *connector, bool task, const char *trace);
void world_connectors_wake(struct world *world, int cluster);
void world_pod_restart(struct world_dist *dist, bool clean);
const char *world_group(const struct world_connector *connector);
const char *world_connector_denied(struct world_connector *connector); /* trace of what an ACL refuses; NULL */
void world_committer_pump(struct world_connector *connector);
void world_offsets_pump(struct world_connector *connector);
void world_connector_flush_soon(struct world_connector *connector);
void world_pending_free(struct world_connector *connector);

/* world_faults.c, world_script.c: "a:md.level=2; @MessagesBothWays.Settle+500 b:pod.restart" */
void world_script(struct world *world, const char *script);
void world_script_look(struct world *world); /* starts what has become due */
void world_act(struct world *world, const char *what);

#endif

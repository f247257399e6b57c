/* What the files of this room share. Everything here belongs to the loop's thread unless it says otherwise.
 *
 *   kafka -> client (one per open) -> handle (one rd_kafka_t each, with one worker thread of ours for calls that can block)
 *                                  -> op (a question or a commit in progress), batch (records being produced), reader
 *
 * Nothing is freed while librdkafka's events are being handed out: a sink may close anything from within an event, so clients, ops and
 * handles that are given up go to a list that is emptied at the end of kafka_turn().
 */
#ifndef DV_KAFKA_INTERNAL_H
#define DV_KAFKA_INTERNAL_H

#include <stdatomic.h>

#include <librdkafka/rdkafka.h>
#include <uv.h>

#include "base/mem.h"
#include "kafka/kafka.h"

struct kafka_client;
struct kafka_handle;
struct kafka_fetch;
struct kafka_op;

/* ---------------------------------------------------------------- errors.c */

/* Names a cluster in messages. */
struct kafka_where {
    const char *cluster, *bootstrap;
    enum model_side side;
};

/* What was being done. operation is the Kafka operation a principal needs for it ("Describe"); topic and group may be NULL. */
struct kafka_what {
    const char *operation, *topic, *group;
};

/* Fills err from librdkafka's code; detail is librdkafka's own text or NULL. Always returns -1. */
int kafka_err(struct dv_err *err, struct kafka_where where, struct kafka_what what, rd_kafka_resp_err_t code, const char *detail);
/* What was under way on a connection that was given up is worth asking again. */
void kafka_err_lost(struct dv_err *err, struct kafka_where where);
/* True for faults of the connection or of waiting: the effect of a write that ends so is unknown. */
bool kafka_err_unknown_effect(const struct dv_err *err);
bool kafka_err_credentials(const struct dv_err *err); /* AUTH or CERT */
/* Short text for OpenSSL's X509_V_ERR_*; NULL when there is nothing better than librdkafka's own. */
const char *kafka_err_x509(int x509_error);

/* ---------------------------------------------------------------- detail.c */

/* librdkafka's text without what a reader has no use for, shortened between words. Returns out. */
const char *kafka_detail(char *out, size_t size, const char *detail);

/* What a text of librdkafka stands for: a sentence, and which field below spec.clusters.<side>.kafka to change. */
struct kafka_known {
    enum dv_err_kind kind;
    const char *text, *field;
};

const struct kafka_known *kafka_known(const char *detail); /* NULL; takes NULL */

#define KAFKA_PLACE_LONG 60
/* "Kafka cluster <name> (<address>)"; of a long list of addresses only the first. Returns out. */
const char *kafka_place(char *out, size_t size, struct kafka_where where);

/* ---------------------------------------------------------------- security.c */

/* Secret keys that the spec's kafka section needs, in the order kafka_security_conf() takes their bytes. Caller frees the array; the
 * strings stay the spec's. */
size_t kafka_security_items(const struct model_kafka *spec, struct port_secret_item **items);
/* A configuration for one cluster, from typed fields only: there is no way to hand librdkafka an option of the user's. NULL on failure. */
rd_kafka_conf_t *kafka_security_conf(const struct model_kafka *spec, const char *const *values, const size_t *lens,
                                     struct kafka_where where, struct dv_err *err);

/* ---------------------------------------------------------------- worker.c */

/* Where worker threads leave what they finished; lives until the last of them is gone. */
struct kafka_hub;

/* Work for a worker thread. run is called there; done on the loop's thread and owns the job. When the port is gone before a job comes back,
 * done is called with NULL, on any thread, and only frees. Embedded as the first member. */
struct kafka_job {
    struct kafka_job *next;
    void (*run)(struct kafka_job *job);
    void (*done)(struct kafka_job *job, struct kafka *kafka);
    bool last; /* the worker ends after it */
};

#define KAFKA_WORKER_STUCK_MS 30000
#define KAFKA_WORKERS_STUCK_MAX 8

struct kafka_hub *kafka_hub_new(uv_async_t *async);
void kafka_hub_wake(struct kafka_hub *hub);                        /* any thread */
void kafka_hub_finish(struct kafka_hub *hub, struct kafka *kafka); /* calls done of finished jobs */
/* Gives up workers whose job has not come back in time; with too many of them the process ends (3). Returns their number. */
size_t kafka_hub_check(struct kafka_hub *hub, int64_t now_ms);
size_t kafka_hub_threads(struct kafka_hub *hub);
/* Waits for the threads at most wait_ms, then lets go of the loop. */
void kafka_hub_close(struct kafka_hub *hub, struct kafka *kafka, int64_t wait_ms);

struct kafka_worker *kafka_worker_new(struct kafka_hub *hub); /* its thread starts with the first job */
void kafka_worker_push(struct kafka_worker *worker, struct kafka_job *job);
bool kafka_worker_stuck(struct kafka_worker *worker);

/* ---------------------------------------------------------------- handle.c */

enum kafka_handle_kind {
    KAFKA_HANDLE_ADMIN,  /* questions; ListOffsets tells the high watermark */
    KAFKA_HANDLE_STABLE, /* ListOffsets tells the last stable offset (isolation level read_committed) */
    KAFKA_HANDLE_ACLS,   /* notes the size of answers to DescribeAcls */
    KAFKA_HANDLE_COMMIT, /* commits: ends with one whose effect is unknown */
    KAFKA_HANDLE_PRODUCER,
    KAFKA_HANDLE_FETCH, /* one reader or one short look into a topic */
    KAFKA_HANDLES,
};

struct kafka_handle {
    struct kafka_handle *prev, *next;
    struct kafka *kafka;
    struct kafka_client *client;
    enum kafka_handle_kind kind;
    rd_kafka_t *rk;
    rd_kafka_queue_t *events;   /* errors, delivery reports, answers to admin requests */
    rd_kafka_queue_t *messages; /* FETCH: what partitions give */
    rd_kafka_topic_t *topic;    /* FETCH */
    int32_t started;            /* FETCH: partitions that were started */
    struct kafka_fetch *fetch;  /* FETCH: NULL once it is stopped */
    struct kafka_worker *worker;
    atomic_int x509;         /* last verdict on the broker's certificate; written by librdkafka's threads */
    atomic_size_t acls_size; /* ACLS: bytes of the last answer to DescribeAcls; written by librdkafka's threads */
    struct dv_err trouble;   /* why the cluster cannot be talked to; NONE after anything worked */
    int64_t trouble_ms;
    size_t outstanding; /* PRODUCER: records without a report */
    bool fatal;         /* PRODUCER: a fatal error; ended when nothing is outstanding */
    bool outdated;      /* PRODUCER: there are new credentials; a refusal says nothing of those */
    bool retired;
    atomic_bool ending; /* the same, for the worker */
};

struct kafka_handle *kafka_handle_new(struct kafka_client *client, enum kafka_handle_kind kind, struct dv_err *err);
/* Hands out what has come; returns true when there may be more. */
bool kafka_handle_drain(struct kafka_handle *handle);
void kafka_handle_worked(struct kafka_handle *handle);  /* the cluster answered */
void kafka_handle_retire(struct kafka_handle *handle);  /* no event from it any more; destroyed on its worker */
void kafka_handle_destroy(struct kafka_handle *handle); /* of a retired one, after the events are handed out */

/* ---------------------------------------------------------------- client.c */

enum kafka_client_state { KAFKA_CLIENT_FETCHING, KAFKA_CLIENT_READY, KAFKA_CLIENT_FAILED };

struct kafka_client {
    struct kafka_client *prev, *next;
    struct kafka *kafka;
    port_id id;
    struct model_kafka spec; /* own copies */
    char *ns, *cluster;
    enum kafka_client_state state;
    struct dv_err err;     /* FAILED */
    uint64_t fetch_serial; /* of the latest request for the Secrets */
    int64_t fetched_ms;
    uint64_t digest; /* over the Secrets' bytes */
    bool renewed;    /* readers have to begin anew with new credentials */
    bool suspect;    /* credentials were refused: look at the Secrets again before the next question */
    rd_kafka_conf_t *conf;
    struct kafka_handle *handle[KAFKA_HANDLES]; /* all but FETCH: made when first needed */
    struct kafka_op *ops;
    struct kafka_batch *batches;
    struct kafka_reader *readers;
    bool closed;
};

void kafka_client_open(struct kafka *kafka, port_id id, const struct model_kafka *spec, const char *ns, const char *cluster);
void kafka_client_close(struct kafka_client *client);
void kafka_client_free(struct kafka_client *client);
struct kafka_client *kafka_client_find(struct kafka *kafka, port_id id); /* NULL */
struct kafka_where kafka_client_where(const struct kafka_client *client);
void kafka_tickets_drop(struct kafka *kafka); /* answers about Secrets that still come find nobody */
void kafka_client_refetch(struct kafka_client *client);
/* Credentials that were refused may have been changed since they were read: true while that is looked up, and nothing is told yet. New
 * ones make handles retire, at once when the Secrets answer at once. */
bool kafka_client_rereads(struct kafka_client *client, int64_t trouble_ms);
void kafka_client_step(struct kafka_client *client, int64_t now_ms); /* starts what waits, ends what is late */
/* The shared handle of that kind, made when it is not there yet. */
struct kafka_handle *kafka_client_handle(struct kafka_client *client, enum kafka_handle_kind kind, struct dv_err *err);

/* ---------------------------------------------------------------- op.c */

struct kafka_ask_job;

/* A question or a commit from its arrival to its answer. Steps set handle, what, and the function that takes the answer. */
struct kafka_op {
    struct kafka_op *prev, *next;
    struct kafka_client *client;
    uint64_t serial; /* what librdkafka and jobs carry: the op may be gone when they answer */
    port_id id;
    bool commit;
    struct port_question question; /* own copies */
    int64_t *offsets;              /* commit */
    int64_t began_ms, step_ms;
    bool started;
    bool lost;   /* its handle was given up: new credentials, or a call that hangs */
    bool effect; /* a write is under way: without an answer it may have happened */
    struct kafka_handle *handle;
    struct kafka_what what;
    void (*on_event)(struct kafka_op *op, rd_kafka_event_t *event);
    void (*on_job)(struct kafka_op *op, struct kafka_ask_job *job);
    struct kafka_fetch *fetch;
    int32_t partitions, reached;
    bool *done;
    int64_t counted, seen;
    struct fact_topic topic;
    struct fact_offsets log;
    struct fact_group *groups;
};

#define KAFKA_ASK_MS 14500     /* an answer within 15 s */
#define KAFKA_REQUEST_MS 12000 /* what a call that blocks is given */

struct kafka_op *kafka_op_new(struct kafka_client *client, port_id id);
void kafka_op_start(struct kafka_op *op);
void kafka_op_step(struct kafka_op *op, int64_t now_ms);
void kafka_op_free(struct kafka_op *op);
struct kafka_op *kafka_op_find(struct kafka *kafka, uint64_t serial); /* NULL */
/* These end the op: it is freed when they return. */
void kafka_op_answer(struct kafka_op *op, struct port_kafka_event *event);
void kafka_op_fail(struct kafka_op *op, const struct dv_err *err);
void kafka_op_fail_code(struct kafka_op *op, rd_kafka_resp_err_t code, const char *detail);
/* An answer to an admin request: true when it is good; else the op is ended. */
bool kafka_op_event_good(struct kafka_op *op, rd_kafka_event_t *event);
/* Options of an admin request that carries the op's serial. Caller destroys. */
rd_kafka_AdminOptions_t *kafka_op_options(struct kafka_op *op, rd_kafka_admin_op_t api);
/* Makes op->handle the client's handle of that kind; false: the op is ended. */
bool kafka_op_use(struct kafka_op *op, enum kafka_handle_kind kind, struct kafka_what what);

/* ---------------------------------------------------------------- blocking.c: calls of librdkafka that block, as jobs */

enum kafka_ask_job_kind {
    KAFKA_JOB_CLUSTER_ID, /* -> text */
    KAFKA_JOB_PARTITIONS, /* topic -> partitions; UNKNOWN_TOPIC_OR_PART when it is not there */
    KAFKA_JOB_ENDS,       /* topic, partitions -> high and, with low not NULL, low: by the handle's isolation level */
    KAFKA_JOB_LAG,        /* commits -> lag */
};

struct kafka_ask_job {
    struct kafka_job job;
    enum kafka_ask_job_kind kind;
    uint64_t serial;
    struct kafka_handle *handle;
    char *topic;
    int32_t partitions;
    int64_t until_ms;
    int64_t *low, *high;
    rd_kafka_topic_partition_list_t *commits; /* LAG: of one group, FACT_GROUP_LAG_MAX of them at most */
    struct fact_group_lag lag;
    char *text;
    rd_kafka_resp_err_t err;
};

/* done == NULL: the op with that serial gets it through on_job. */
void kafka_ask_job_push(struct kafka_handle *handle, enum kafka_ask_job_kind kind, uint64_t serial, const char *topic, int32_t partitions,
                        bool low, void (*done)(struct kafka_job *job, struct kafka *kafka));
/* Takes commits. */
void kafka_lag_job_push(struct kafka_handle *handle, uint64_t serial, rd_kafka_topic_partition_list_t *commits, int32_t unseen,
                        void (*done)(struct kafka_job *job, struct kafka *kafka));
void kafka_ask_job_free(struct kafka_ask_job *job);

/* ---------------------------------------------------------------- questions: ask.c, groups.c, scan.c; commit.c */

void kafka_ask_start(struct kafka_op *op);
void kafka_acls_start(struct kafka_op *op);
void kafka_groups_start(struct kafka_op *op);
void kafka_scan_start(struct kafka_op *op); /* READ_RIGHT, DISTANCE */
void kafka_commit_start(struct kafka_op *op);
/* State and members of the only group in a DescribeConsumerGroups answer or one of several. */
void kafka_groups_take(const rd_kafka_ConsumerGroupDescription_t *description, struct kafka_where where, struct fact_group *group);
void kafka_groups_describe(struct kafka_op *op, const char **groups, size_t count);

/* ---------------------------------------------------------------- fetch.c: partitions from given offsets, read_committed, no group */

#define KAFKA_FETCH_SKIP INT64_MIN /* in place of an offset: the partition is left out */

struct kafka_fetch_part {
    int64_t next; /* offset to read next; may begin as RD_KAFKA_OFFSET_END */
    bool end;     /* at the end of what may be read */
    bool failed;
};

struct kafka_fetch_sink {
    void (*message)(void *owner, const rd_kafka_message_t *message);
    void (*end)(void *owner, int32_t partition);
    void (*error)(void *owner, int32_t partition, rd_kafka_resp_err_t code, const char *detail);
};

struct kafka_fetch {
    struct kafka_client *client;
    struct kafka_handle *handle; /* NULL between a failure and the next try */
    char *topic;
    int32_t partitions;
    struct kafka_fetch_part *parts;
    const struct kafka_fetch_sink *sink;
    void *owner;
    bool heard; /* some partition has given something since the beginning */
    int64_t begun_ms;
    int64_t again_ms; /* when to begin anew from the positions; 0: not */
};

/* from[p]: an offset, RD_KAFKA_OFFSET_END or KAFKA_FETCH_SKIP. Opens nothing yet. */
struct kafka_fetch *kafka_fetch_new(struct kafka_client *client, const char *topic, const int64_t *from, int32_t partitions,
                                    const struct kafka_fetch_sink *sink, void *owner);
int kafka_fetch_begin(struct kafka_fetch *fetch, struct dv_err *err);
void kafka_fetch_pause(struct kafka_fetch *fetch); /* gives the handle up, keeps the positions */
void kafka_fetch_free(struct kafka_fetch *fetch);  /* takes NULL */
void kafka_fetch_take(struct kafka_fetch *fetch, rd_kafka_message_t *message);
bool kafka_fetch_all_at_end(const struct kafka_fetch *fetch);

/* ---------------------------------------------------------------- reader.c, filter.c, produce.c */

struct kafka_reader;

void kafka_reader_open(struct kafka_client *client, port_id id, const struct port_reader *request);
void kafka_reader_stop(struct kafka_reader *reader); /* no event from it any more; freed at the client's next step */
void kafka_reader_free(struct kafka_reader *reader);
struct kafka_reader *kafka_reader_find(struct kafka *kafka, port_id id);
void kafka_readers_failed(struct kafka_client *client, const struct dv_err *err);
void kafka_readers_step(struct kafka_client *client, int64_t now_ms);
void kafka_readers_restart(struct kafka_client *client); /* after new credentials */
void kafka_readers_free(struct kafka_client *client);

struct kafka_filter {
    char *header, *header_value, *key_prefix;
    char *needle[2];
};

bool kafka_filter_passes(const struct kafka_filter *filter, const struct fact_record *record);
void kafka_filter_free(struct kafka_filter *filter);

struct kafka_batch;

void kafka_produce(struct kafka_client *client, port_id id, const char *topic, const struct fact_record *records, size_t count);
void kafka_produce_step(struct kafka_client *client, int64_t now_ms);
void kafka_produce_report(struct kafka_handle *handle, rd_kafka_event_t *event);
void kafka_produce_failed(struct kafka_client *client, const struct dv_err *err); /* every record that was not sent yet */
void kafka_batches_free(struct kafka_client *client);
/* Copy with its own memory; what librdkafka lent goes in by pointer and length. */
void kafka_record_copy(struct fact_record *to, const struct fact_record *from);
/* Borrows from the message except for the header array, which the caller frees. */
void kafka_record_borrow(struct fact_record *record, const rd_kafka_message_t *message);

/* ---------------------------------------------------------------- kafka.c */

struct kafka {
    uv_loop_t *uv;
    uv_async_t *async;
    uv_timer_t *tick;
    struct port_secrets secrets;
    port_kafka_sink *sink;
    void *arg;
    struct kafka_hub *hub;
    struct kafka_client *clients, *closed_clients;
    struct kafka_handle *handles, *retired;
    struct kafka_ticket *tickets;
    uint64_t serial;
    bool turning;
};

uint64_t kafka_serial(struct kafka *kafka); /* never 0, never twice */
int64_t kafka_now_ms(struct kafka *kafka);
void kafka_wake(struct kafka *kafka);
void kafka_emit(struct kafka *kafka, const struct port_kafka_event *event);

#endif

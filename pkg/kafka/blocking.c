#include "kafka/internal.h"

#include <stdlib.h>

/* librdkafka cannot be interrupted: it is asked for a little at a time, so that a handle that is given up ends soon. */
#define BLOCKING_CONNECT_SLICE_MS 200
#define BLOCKING_SLICE_MS 4000
#define BLOCKING_LAG_MS 6000 /* other questions wait behind it */
#define BLOCKING_LAG_SLICE_MS 1000

static bool blocking_goes_on(const struct kafka_ask_job *job)
{
    return !atomic_load(&job->handle->ending) && (int64_t)(uv_hrtime() / 1000000) < job->until_ms;
}

/* The cluster's id, known from the first metadata of any broker on. Caller frees with rd_kafka_mem_free(). */
static char *blocking_cluster_id(struct kafka_ask_job *job, rd_kafka_t *rk)
{
    char *id = NULL;
    while (id == NULL && blocking_goes_on(job))
        id = rd_kafka_clusterid(rk, BLOCKING_CONNECT_SLICE_MS);
    return id;
}

static bool blocking_connected(struct kafka_ask_job *job, rd_kafka_t *rk)
{
    char *id = blocking_cluster_id(job, rk);
    if (id != NULL)
        rd_kafka_mem_free(rk, id);
    return id != NULL;
}

static bool blocking_again(const struct kafka_ask_job *job, rd_kafka_resp_err_t err)
{
    return (err == RD_KAFKA_RESP_ERR__TIMED_OUT || err == RD_KAFKA_RESP_ERR__TRANSPORT) && blocking_goes_on(job);
}

/* Asks for this one topic with auto-creation off (allow.auto.create.topics=false goes into the request, so that a broker with
 * auto.create.topics.enable=true does not create it either). Never without a topic: for "all topics known to this handle" librdkafka
 * 2.0.2 puts auto-creation on again. What comes is also what this handle knows of the topic from now on. */
static rd_kafka_resp_err_t blocking_metadata(struct kafka_ask_job *job, rd_kafka_t *rk, const char *name,
                                             const struct rd_kafka_metadata **metadata)
{
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__TIMED_OUT;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
    if (topic == NULL)
        return RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
    if (blocking_connected(job, rk)) {
        do {
            err = rd_kafka_metadata(rk, 0, topic, metadata, BLOCKING_SLICE_MS);
        } while (blocking_again(job, err));
    }
    rd_kafka_topic_destroy(topic);
    return err;
}

static void blocking_partitions(struct kafka_ask_job *job, rd_kafka_t *rk)
{
    const struct rd_kafka_metadata *metadata = NULL;
    job->err = blocking_metadata(job, rk, job->topic, &metadata);
    if (job->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    job->err = metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    job->partitions = metadata->topic_cnt == 1 ? (int32_t)metadata->topics[0].partition_cnt : 0;
    if (job->partitions > 0 && job->err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
        job->err = RD_KAFKA_RESP_ERR_NO_ERROR; /* the count stands although a partition has no leader now */
    rd_kafka_metadata_destroy(metadata);
}

/* ListOffsets asks nobody about a partition that was added since this handle looked at the topic, up to three minutes ago. */
static bool blocking_look_again(struct kafka_ask_job *job, rd_kafka_t *rk, const char *topic)
{
    const struct rd_kafka_metadata *metadata = NULL;
    if (blocking_metadata(job, rk, topic, &metadata) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return false;
    rd_kafka_metadata_destroy(metadata);
    return true;
}

/* ListOffsets for all partitions at once: librdkafka passes -2 and -1 on as timestamps, which Kafka takes for log start and log end;
 * under read_committed the end is the last stable offset. */
static rd_kafka_resp_err_t blocking_offsets(rd_kafka_t *rk, const struct kafka_ask_job *job, int64_t which, int64_t *out)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(job->partitions);
    for (int32_t p = 0; p < job->partitions; p++)
        rd_kafka_topic_partition_list_add(list, job->topic, p)->offset = which;
    rd_kafka_resp_err_t err = rd_kafka_offsets_for_times(rk, list, BLOCKING_SLICE_MS);
    for (int i = 0; i < list->cnt && err == RD_KAFKA_RESP_ERR_NO_ERROR; i++) {
        const rd_kafka_topic_partition_t *one = &list->elems[i];
        err = one->err;
        if (err == RD_KAFKA_RESP_ERR_NO_ERROR && one->offset < 0)
            err = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
        out[one->partition] = one->offset;
    }
    rd_kafka_topic_partition_list_destroy(list);
    return err;
}

static rd_kafka_resp_err_t blocking_both_ends(struct kafka_ask_job *job, rd_kafka_t *rk)
{
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (job->low != NULL)
        err = blocking_offsets(rk, job, RD_KAFKA_OFFSET_BEGINNING, job->low);
    return err == RD_KAFKA_RESP_ERR_NO_ERROR ? blocking_offsets(rk, job, RD_KAFKA_OFFSET_END, job->high) : err;
}

static void blocking_ends(struct kafka_ask_job *job, rd_kafka_t *rk)
{
    bool looked = false;
    job->err = RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (!blocking_connected(job, rk))
        return;
    do {
        job->err = blocking_both_ends(job, rk);
        if (job->err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION && !looked) {
            looked = true;
            if (blocking_look_again(job, rk, job->topic))
                job->err = blocking_both_ends(job, rk);
        }
    } while (blocking_again(job, job->err));
    /* The topic was there a moment ago, or nobody would know the number of its partitions: only a leader is missing. */
    if (job->err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || job->err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
        job->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        job->err = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
}

/* ---------------------------------------------------------------- lag of a whole group */

/* Log ends of count commits from `at` on, as far as each could be told. Caller destroys. */
static rd_kafka_topic_partition_list_t *blocking_lag_ends(const struct kafka_ask_job *job, rd_kafka_t *rk, int at, int count,
                                                          int timeout_ms, rd_kafka_resp_err_t *err)
{
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_new(count);
    for (int i = at; i < at + count; i++)
        rd_kafka_topic_partition_list_add(ends, job->commits->elems[i].topic, job->commits->elems[i].partition)->offset =
            RD_KAFKA_OFFSET_END;
    *err = rd_kafka_offsets_for_times(rk, ends, timeout_ms);
    return ends;
}

/* At the topics with a partition that is not known; false: there are none. */
static bool blocking_lag_look_again(struct kafka_ask_job *job, rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *ends)
{
    const char *topic = NULL;
    for (int i = 0; i < ends->cnt && blocking_goes_on(job); i++) {
        const rd_kafka_topic_partition_t *end = &ends->elems[i];
        if (end->err != RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || dv_streq(end->topic, topic))
            continue;
        topic = end->topic;
        (void)blocking_look_again(job, rk, topic);
    }
    return topic != NULL;
}

/* False: not one of these commits is counted. */
static bool blocking_lag_part(struct kafka_ask_job *job, rd_kafka_t *rk, int at, int count, int timeout_ms)
{
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_topic_partition_list_t *ends = blocking_lag_ends(job, rk, at, count, timeout_ms, &err);
    if (blocking_lag_look_again(job, rk, ends)) {
        rd_kafka_topic_partition_list_destroy(ends);
        ends = blocking_lag_ends(job, rk, at, count, timeout_ms, &err);
    }
    bool good = err == RD_KAFKA_RESP_ERR_NO_ERROR;
    for (int i = 0; i < count && good; i++) {
        const rd_kafka_topic_partition_t *end = &ends->elems[i];
        const rd_kafka_topic_partition_t *commit = rd_kafka_topic_partition_list_find(job->commits, end->topic, end->partition);
        if (end->err != RD_KAFKA_RESP_ERR_NO_ERROR || end->offset < 0 || commit == NULL) {
            job->lag.unseen++;
            continue;
        }
        job->lag.partitions++;
        job->lag.records += end->offset > commit->offset ? end->offset - commit->offset : 0;
    }
    rd_kafka_topic_partition_list_destroy(ends);
    return good;
}

/* All at once. One partition in the way fails all of a call: it is closed in on by halves and left out, so that the others count. */
static void blocking_lag(struct kafka_ask_job *job, rd_kafka_t *rk)
{
    int total = job->commits->cnt;
    int at = 0;
    int count = total;
    job->until_ms = (int64_t)(uv_hrtime() / 1000000) + BLOCKING_LAG_MS;
    job->err = RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (!blocking_connected(job, rk))
        return;
    job->err = RD_KAFKA_RESP_ERR_NO_ERROR;
    while (at < total && blocking_goes_on(job)) {
        if (blocking_lag_part(job, rk, at, count, count == total ? BLOCKING_SLICE_MS : BLOCKING_LAG_SLICE_MS)) {
            at += count;
            count *= 2;
        } else if (count == 1) {
            job->lag.unseen++;
            at++;
        } else {
            count /= 2;
        }
        count = count > total - at ? total - at : count;
    }
    job->lag.unseen += total - at;
}

/* ---------------------------------------------------------------- jobs */

static void blocking_run(struct kafka_job *base)
{
    struct kafka_ask_job *job = (struct kafka_ask_job *)base;
    rd_kafka_t *rk = job->handle->rk;
    job->until_ms = (int64_t)(uv_hrtime() / 1000000) + KAFKA_REQUEST_MS;
    if (atomic_load(&job->handle->ending)) {
        job->err = RD_KAFKA_RESP_ERR__DESTROY;
        return;
    }
    switch (job->kind) {
    case KAFKA_JOB_CLUSTER_ID:
        job->text = blocking_cluster_id(job, rk);
        job->err = job->text == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT : RD_KAFKA_RESP_ERR_NO_ERROR;
        break;
    case KAFKA_JOB_PARTITIONS: blocking_partitions(job, rk); break;
    case KAFKA_JOB_ENDS: blocking_ends(job, rk); break;
    case KAFKA_JOB_LAG: blocking_lag(job, rk); break;
    }
}

static void blocking_done(struct kafka_job *base, struct kafka *kafka)
{
    struct kafka_ask_job *job = (struct kafka_ask_job *)base;
    struct kafka_op *op = kafka != NULL ? kafka_op_find(kafka, job->serial) : NULL;
    if (op != NULL && op->handle == job->handle && op->on_job != NULL && !op->lost) {
        if (job->err >= 0)
            kafka_handle_worked(op->handle);
        op->on_job(op, job);
    }
    kafka_ask_job_free(job);
}

void kafka_ask_job_free(struct kafka_ask_job *job)
{
    if (job->text != NULL)
        rd_kafka_mem_free(NULL, job->text);
    if (job->commits != NULL)
        rd_kafka_topic_partition_list_destroy(job->commits);
    free(job->low);
    free(job->high);
    free(job->topic);
    free(job);
}

static struct kafka_ask_job *blocking_new(struct kafka_handle *handle, enum kafka_ask_job_kind kind, uint64_t serial,
                                          void (*done)(struct kafka_job *job, struct kafka *kafka))
{
    struct kafka_ask_job *job = dv_alloc(sizeof *job);
    job->job = (struct kafka_job){.run = blocking_run, .done = done != NULL ? done : blocking_done};
    job->kind = kind;
    job->serial = serial;
    job->handle = handle;
    return job;
}

void kafka_ask_job_push(struct kafka_handle *handle, enum kafka_ask_job_kind kind, uint64_t serial, const char *topic, int32_t partitions,
                        bool low, void (*done)(struct kafka_job *job, struct kafka *kafka))
{
    struct kafka_ask_job *job = blocking_new(handle, kind, serial, done);
    job->topic = dv_strdup(topic);
    job->partitions = partitions;
    if (kind == KAFKA_JOB_ENDS) {
        job->high = dv_calloc((size_t)partitions + 1, sizeof *job->high);
        job->low = low ? dv_calloc((size_t)partitions + 1, sizeof *job->low) : NULL;
    }
    kafka_worker_push(handle->worker, &job->job);
}

void kafka_lag_job_push(struct kafka_handle *handle, uint64_t serial, rd_kafka_topic_partition_list_t *commits, int32_t unseen,
                        void (*done)(struct kafka_job *job, struct kafka *kafka))
{
    struct kafka_ask_job *job = blocking_new(handle, KAFKA_JOB_LAG, serial, done);
    job->commits = commits;
    job->lag.unseen = unseen;
    kafka_worker_push(handle->worker, &job->job);
}

#include "kafka/internal.h"

#include <stdlib.h>

#include "base/err.h"

#define FETCH_AGAIN_MS 3000

/* librdkafka's simple consumer: partitions are started at given offsets on a handle without a group. It does the same as assign and seek
 * but, unlike those, needs no group.id and so never asks for a coordinator: nothing of ours shows as a group. */

struct kafka_fetch *kafka_fetch_new(struct kafka_client *client, const char *topic, const int64_t *from, int32_t partitions,
                                    const struct kafka_fetch_sink *sink, void *owner)
{
    struct kafka_fetch *fetch = dv_alloc(sizeof *fetch);
    fetch->client = client;
    fetch->topic = dv_strdup(topic);
    fetch->partitions = partitions;
    fetch->parts = dv_calloc((size_t)partitions + 1, sizeof *fetch->parts);
    fetch->sink = sink;
    fetch->owner = owner;
    for (int32_t p = 0; p < partitions; p++)
        fetch->parts[p].next = from[p];
    return fetch;
}

int kafka_fetch_begin(struct kafka_fetch *fetch, struct dv_err *err)
{
    struct kafka_handle *handle = kafka_handle_new(fetch->client, KAFKA_HANDLE_FETCH, err);
    fetch->again_ms = 0;
    if (handle == NULL)
        return -1;
    handle->topic = rd_kafka_topic_new(handle->rk, fetch->topic, NULL);
    if (handle->topic == NULL) {
        kafka_handle_retire(handle);
        return dv_err_set(err, DV_ERR_INVALID, "%s is no name of a Kafka topic", fetch->topic);
    }
    fetch->handle = handle;
    fetch->heard = false;
    fetch->begun_ms = kafka_now_ms(fetch->client->kafka);
    handle->fetch = fetch;
    handle->started = fetch->partitions;
    for (int32_t p = 0; p < fetch->partitions; p++) {
        fetch->parts[p].end = fetch->parts[p].failed = false;
        if (fetch->parts[p].next != KAFKA_FETCH_SKIP)
            (void)rd_kafka_consume_start_queue(handle->topic, p, fetch->parts[p].next, handle->messages);
    }
    return 0;
}

void kafka_fetch_pause(struct kafka_fetch *fetch)
{
    kafka_handle_retire(fetch->handle);
    fetch->handle = NULL;
}

void kafka_fetch_free(struct kafka_fetch *fetch)
{
    if (fetch == NULL)
        return;
    kafka_fetch_pause(fetch);
    free(fetch->parts);
    free(fetch->topic);
    free(fetch);
}

bool kafka_fetch_all_at_end(const struct kafka_fetch *fetch)
{
    for (int32_t p = 0; p < fetch->partitions; p++)
        if (fetch->parts[p].next != KAFKA_FETCH_SKIP && !fetch->parts[p].end)
            return false;
    return true;
}

/* librdkafka stops a partition for good on some errors and goes on by itself after others: beginning anew from the position serves both. */
static void fetch_failed(struct kafka_fetch *fetch, const rd_kafka_message_t *message)
{
    int32_t partition = message->partition;
    fetch->heard = true;
    if (partition >= 0 && partition < fetch->partitions) {
        fetch->parts[partition].failed = true;
        fetch->parts[partition].end = false;
    }
    if (fetch->again_ms == 0)
        fetch->again_ms = kafka_now_ms(fetch->client->kafka) + FETCH_AGAIN_MS;
    fetch->sink->error(fetch->owner, partition, message->err, rd_kafka_message_errstr(message));
}

/* The sink may free the fetch: nothing of it is touched after the sink was called. */
void kafka_fetch_take(struct kafka_fetch *fetch, rd_kafka_message_t *message)
{
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR && message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        fetch_failed(fetch, message);
        return;
    }
    if (message->partition < 0 || message->partition >= fetch->partitions)
        return;
    struct kafka_fetch_part *part = &fetch->parts[message->partition];
    kafka_handle_worked(fetch->handle);
    part->failed = false;
    fetch->heard = true;
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        part->next = message->offset;
        part->end = true;
        fetch->sink->end(fetch->owner, message->partition);
    } else {
        part->next = message->offset + 1;
        part->end = false;
        fetch->sink->message(fetch->owner, message);
    }
}

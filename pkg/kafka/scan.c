#include "kafka/internal.h"

#include <stdlib.h>

#include "base/err.h"

/* Short looks into a topic: READ_RIGHT and DISTANCE. */

static void scan_reached(struct kafka_op *op, int32_t partition)
{
    if (!op->done[partition]) {
        op->done[partition] = true;
        op->reached++;
    }
    if (op->reached == op->partitions)
        kafka_op_answer(op, &(struct port_kafka_event){.err = DV_ERR_INIT});
}

static void scan_message(void *owner, const rd_kafka_message_t *message)
{
    struct kafka_op *op = owner;
    const struct port_question *question = &op->question;
    if (question->ask == PORT_ASK_READ_RIGHT) {
        scan_reached(op, message->partition);
        return;
    }
    if (message->offset < question->to && rd_kafka_message_timestamp(message, NULL) < question->before_ms)
        op->counted++;
    bool enough = question->limit > 0 && op->counted >= question->limit;
    if (enough || message->offset + 1 >= question->to)
        kafka_op_answer(op, &(struct port_kafka_event){.number = op->counted});
}

/* Below the range's end with nothing more to read: an open transaction, or the range lies past the log end. Both may pass: wait. */
static void scan_end(void *owner, int32_t partition)
{
    struct kafka_op *op = owner;
    if (op->question.ask == PORT_ASK_READ_RIGHT)
        scan_reached(op, partition);
    else if (op->fetch->parts[partition].next >= op->question.to)
        kafka_op_answer(op, &(struct port_kafka_event){.number = op->counted});
}

static void scan_error(void *owner, int32_t partition, rd_kafka_resp_err_t code, const char *detail)
{
    struct kafka_op *op = owner;
    (void)partition;
    struct dv_err err = DV_ERR_INIT;
    (void)kafka_err(&err, kafka_client_where(op->client), op->what, code, detail);
    if (!err.retry)
        kafka_op_fail(op, &err);
}

static const struct kafka_fetch_sink scan_sink = {scan_message, scan_end, scan_error};

static void scan_begin(struct kafka_op *op, const int64_t *from)
{
    struct dv_err err = DV_ERR_INIT;
    op->what = (struct kafka_what){.operation = "Read", .topic = op->question.topic};
    op->step_ms = kafka_now_ms(op->client->kafka);
    op->handle = NULL;
    op->done = dv_calloc((size_t)op->partitions + 1, sizeof *op->done);
    op->fetch = kafka_fetch_new(op->client, op->question.topic, from, op->partitions, &scan_sink, op);
    if (kafka_fetch_begin(op->fetch, &err) != 0) {
        kafka_op_fail(op, &err);
        return;
    }
    op->handle = op->fetch->handle;
}

void kafka_scan_start(struct kafka_op *op)
{
    const struct port_question *question = &op->question;
    bool distance = question->ask == PORT_ASK_DISTANCE;
    if (distance && question->partition >= op->partitions) {
        kafka_op_fail_code(op, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, NULL);
        return;
    }
    if (distance && question->from >= question->to) {
        kafka_op_answer(op, &(struct port_kafka_event){.number = 0});
        return;
    }
    DV_CLEANUP_FREE int64_t *from = dv_calloc((size_t)op->partitions + 1, sizeof *from);
    for (int32_t p = 0; p < op->partitions; p++)
        from[p] = distance ? KAFKA_FETCH_SKIP : RD_KAFKA_OFFSET_END;
    if (distance)
        from[question->partition] = question->from;
    scan_begin(op, from);
}

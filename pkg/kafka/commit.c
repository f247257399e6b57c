#include "kafka/internal.h"

#include <stdlib.h>

#include "base/err.h"

static void commit_got(struct kafka_op *op, rd_kafka_event_t *event)
{
    if (!kafka_op_event_good(op, event))
        return;
    size_t count = 0;
    const rd_kafka_group_result_t **list =
        rd_kafka_AlterConsumerGroupOffsets_result_groups(rd_kafka_event_AlterConsumerGroupOffsets_result(event), &count);
    const rd_kafka_error_t *error = count == 1 ? rd_kafka_group_result_error(list[0]) : NULL;
    rd_kafka_resp_err_t code = count == 1 ? RD_KAFKA_RESP_ERR_NO_ERROR : RD_KAFKA_RESP_ERR__FAIL;
    if (error != NULL)
        code = rd_kafka_error_code(error);
    const rd_kafka_topic_partition_list_t *parts = count == 1 ? rd_kafka_group_result_partitions(list[0]) : NULL;
    for (int i = 0; parts != NULL && i < parts->cnt && code == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
        code = parts->elems[i].err;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        kafka_op_fail_code(op, code, error != NULL ? rd_kafka_error_string(error) : NULL);
    else
        kafka_op_answer(op, &(struct port_kafka_event){.err = DV_ERR_INIT});
}

static void commit_write(struct kafka_op *op)
{
    struct kafka_what what = {.operation = "Read", .topic = op->question.topic, .group = op->question.group};
    if (!kafka_op_use(op, KAFKA_HANDLE_COMMIT, what))
        return;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(op->partitions);
    for (int32_t p = 0; p < op->partitions; p++)
        if (op->offsets[p] >= 0)
            rd_kafka_topic_partition_list_add(list, op->question.topic, p)->offset = op->offsets[p];
    if (list->cnt == 0) {
        rd_kafka_topic_partition_list_destroy(list);
        kafka_op_answer(op, &(struct port_kafka_event){.err = DV_ERR_INIT});
        return;
    }
    op->effect = true;
    op->on_event = commit_got;
    rd_kafka_AlterConsumerGroupOffsets_t *request = rd_kafka_AlterConsumerGroupOffsets_new(op->question.group, list);
    rd_kafka_AdminOptions_t *options = kafka_op_options(op, RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS);
    rd_kafka_AlterConsumerGroupOffsets(op->handle->rk, &request, 1, options, op->handle->events);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_AlterConsumerGroupOffsets_destroy(request);
    rd_kafka_topic_partition_list_destroy(list);
}

/* The broker refuses a commit from outside to a classic group with members too (UNKNOWN_MEMBER_ID), and to one of the new protocol, which
 * looks Dead here: this first look only gives the better message and keeps the window short. */
static void commit_group_got(struct kafka_op *op, rd_kafka_event_t *event)
{
    if (!kafka_op_event_good(op, event))
        return;
    size_t count = 0;
    const rd_kafka_ConsumerGroupDescription_t **list =
        rd_kafka_DescribeConsumerGroups_result_groups(rd_kafka_event_DescribeConsumerGroups_result(event), &count);
    if (count != 1) {
        kafka_op_fail_code(op, RD_KAFKA_RESP_ERR__FAIL, NULL);
        return;
    }
    struct fact_group *group = dv_calloc(1, sizeof *group);
    group->name = dv_strdup(op->question.group);
    kafka_groups_take(list[0], kafka_client_where(op->client), group);
    struct dv_err err = group->err;
    char place[400];
    if (err.kind == DV_ERR_NONE && (group->members > 0 || (group->state != FACT_GROUP_EMPTY && group->state != FACT_GROUP_DEAD)))
        (void)dv_err_set(&err, DV_ERR_CONFLICT, "%s: group %s has %d members: its offsets are left alone",
                         kafka_place(place, sizeof place, kafka_client_where(op->client)), group->name, (int)group->members);
    fact_groups_free(group, 1);
    if (err.kind != DV_ERR_NONE)
        kafka_op_fail(op, &err);
    else
        commit_write(op);
}

void kafka_commit_start(struct kafka_op *op)
{
    if (!kafka_op_use(op, KAFKA_HANDLE_COMMIT, (struct kafka_what){.operation = "Describe", .group = op->question.group}))
        return;
    op->on_event = commit_group_got;
    kafka_groups_describe(op, &op->question.group, 1);
}

#include "kafka/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static enum fact_group_state groups_state(rd_kafka_consumer_group_state_t state)
{
    switch (state) {
    case RD_KAFKA_CONSUMER_GROUP_STATE_PREPARING_REBALANCE:
    case RD_KAFKA_CONSUMER_GROUP_STATE_COMPLETING_REBALANCE: return FACT_GROUP_REBALANCING;
    case RD_KAFKA_CONSUMER_GROUP_STATE_STABLE: return FACT_GROUP_STABLE;
    case RD_KAFKA_CONSUMER_GROUP_STATE_DEAD: return FACT_GROUP_DEAD;
    case RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY: return FACT_GROUP_EMPTY;
    case RD_KAFKA_CONSUMER_GROUP_STATE_UNKNOWN:
    case RD_KAFKA_CONSUMER_GROUP_STATE__CNT: return FACT_GROUP_UNKNOWN;
    }
    return FACT_GROUP_UNKNOWN;
}

static void groups_take_member(const rd_kafka_MemberDescription_t *member, struct fact_group *group)
{
    const rd_kafka_MemberAssignment_t *assignment = rd_kafka_MemberDescription_assignment(member);
    const rd_kafka_topic_partition_list_t *list = assignment != NULL ? rd_kafka_MemberAssignment_partitions(assignment) : NULL;
    if (list == NULL || list->cnt <= 0)
        return;
    group->assignments = dv_reallocarray(group->assignments, group->assignment_count + (size_t)list->cnt, sizeof *group->assignments);
    for (int i = 0; i < list->cnt; i++)
        group->assignments[group->assignment_count++] =
            (struct fact_assignment){.topic = dv_strdup(list->elems[i].topic), .partition = list->elems[i].partition};
}

void kafka_groups_take(const rd_kafka_ConsumerGroupDescription_t *description, struct kafka_where where, struct fact_group *group)
{
    const rd_kafka_error_t *error = rd_kafka_ConsumerGroupDescription_error(description);
    if (error != NULL && rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        (void)kafka_err(&group->err, where, (struct kafka_what){.operation = "Describe", .group = group->name}, rd_kafka_error_code(error),
                        rd_kafka_error_string(error));
        return;
    }
    size_t members = rd_kafka_ConsumerGroupDescription_member_count(description);
    group->state = groups_state(rd_kafka_ConsumerGroupDescription_state(description));
    group->members = (int32_t)members;
    for (size_t i = 0; i < members; i++)
        groups_take_member(rd_kafka_ConsumerGroupDescription_member(description, i), group);
}

void kafka_groups_describe(struct kafka_op *op, const char **groups, size_t count)
{
    rd_kafka_AdminOptions_t *options = kafka_op_options(op, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);
    rd_kafka_DescribeConsumerGroups(op->handle->rk, groups, count, options, op->handle->events);
    rd_kafka_AdminOptions_destroy(options);
}

static void groups_described(struct kafka_op *op, rd_kafka_event_t *event)
{
    if (!kafka_op_event_good(op, event))
        return;
    size_t count = 0;
    const rd_kafka_ConsumerGroupDescription_t **list =
        rd_kafka_DescribeConsumerGroups_result_groups(rd_kafka_event_DescribeConsumerGroups_result(event), &count);
    struct kafka_where where = kafka_client_where(op->client);
    for (size_t i = 0; i < op->question.group_count; i++)
        for (size_t j = 0; j < count; j++)
            if (strcmp(op->groups[i].name, rd_kafka_ConsumerGroupDescription_group_id(list[j])) == 0)
                kafka_groups_take(list[j], where, &op->groups[i]);
    kafka_op_answer(op, &(struct port_kafka_event){.groups = op->groups, .group_count = op->question.group_count});
}

/* Each name once: librdkafka refuses a request that names a group twice. */
static size_t groups_unique(const struct port_question *question, const char **out)
{
    size_t count = 0;
    for (size_t i = 0; i < question->group_count; i++) {
        bool known = false;
        for (size_t j = 0; j < count && !known; j++)
            known = strcmp(out[j], question->groups[i]) == 0;
        if (!known)
            out[count++] = question->groups[i];
    }
    return count;
}

static void groups_listed(struct kafka_op *op, rd_kafka_event_t *event)
{
    if (!kafka_op_event_good(op, event))
        return;
    size_t count = 0, errors = 0;
    const rd_kafka_ListConsumerGroups_result_t *result = rd_kafka_event_ListConsumerGroups_result(event);
    const rd_kafka_error_t **error = rd_kafka_ListConsumerGroups_result_errors(result, &errors);
    if (errors > 0) { /* a broker is missing: a group of its could be taken for absent */
        kafka_op_fail_code(op, rd_kafka_error_code(error[0]), rd_kafka_error_string(error[0]));
        return;
    }
    const rd_kafka_ConsumerGroupListing_t **list = rd_kafka_ListConsumerGroups_result_valid(result, &count);
    for (size_t i = 0; i < op->question.group_count; i++)
        for (size_t j = 0; j < count && !op->groups[i].listed; j++)
            op->groups[i].listed = strcmp(op->groups[i].name, rd_kafka_ConsumerGroupListing_group_id(list[j])) == 0;
    if (!kafka_op_use(op, KAFKA_HANDLE_ADMIN, (struct kafka_what){.operation = "Describe", .group = op->question.groups[0]}))
        return;
    op->on_event = groups_described;
    DV_CLEANUP_FREE const char **names = dv_calloc(op->question.group_count, sizeof *names);
    kafka_groups_describe(op, names, groups_unique(&op->question, names));
}

void kafka_groups_start(struct kafka_op *op)
{
    if (!kafka_op_use(op, KAFKA_HANDLE_ADMIN, (struct kafka_what){.operation = "Describe", .group = op->question.groups[0]}))
        return;
    op->groups = dv_calloc(op->question.group_count, sizeof *op->groups);
    for (size_t i = 0; i < op->question.group_count; i++)
        op->groups[i].name = dv_strdup(op->question.groups[i]);
    op->on_event = groups_listed;
    rd_kafka_AdminOptions_t *options = kafka_op_options(op, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS);
    rd_kafka_ListConsumerGroups(op->handle->rk, options, op->handle->events);
    rd_kafka_AdminOptions_destroy(options);
}

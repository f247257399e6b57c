#include "kafka/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* ---------------------------------------------------------------- CLUSTER */

static void ask_cluster_got(struct kafka_op *op, struct kafka_ask_job *job)
{
    if (job->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        kafka_op_fail_code(op, job->err, NULL);
    else
        kafka_op_answer(op, &(struct port_kafka_event){.text = job->text});
}

static void ask_cluster(struct kafka_op *op)
{
    if (!kafka_op_use(op, KAFKA_HANDLE_ADMIN, (struct kafka_what){.operation = "a look at its id"}))
        return;
    op->on_job = ask_cluster_got;
    kafka_ask_job_push(op->handle, KAFKA_JOB_CLUSTER_ID, op->serial, NULL, 0, false, NULL);
}

/* ---------------------------------------------------------------- partitions first, as most questions need them */

static void ask_partitions(struct kafka_op *op, void (*got)(struct kafka_op *op, struct kafka_ask_job *job))
{
    if (!kafka_op_use(op, KAFKA_HANDLE_ADMIN, (struct kafka_what){.operation = "Describe", .topic = op->question.topic}))
        return;
    op->on_job = got;
    kafka_ask_job_push(op->handle, KAFKA_JOB_PARTITIONS, op->serial, op->question.topic, 0, false, NULL);
}

static bool ask_got_partitions(struct kafka_op *op, const struct kafka_ask_job *job)
{
    op->partitions = job->partitions;
    if (job->err == RD_KAFKA_RESP_ERR_NO_ERROR)
        return true;
    kafka_op_fail_code(op, job->err, NULL);
    return false;
}

/* ---------------------------------------------------------------- TOPIC */

static void ask_topic_answer(struct kafka_op *op)
{
    struct fact_topic topic = op->topic;
    kafka_op_answer(op, &(struct port_kafka_event){.topic = &topic});
}

static bool ask_policy_has(const char *policies, const char *policy)
{
    size_t len = strlen(policy);
    for (const char *at = policies; *at != '\0';) {
        at += strspn(at, ", ");
        size_t word = strcspn(at, ", ");
        if (word == len && strncmp(at, policy, len) == 0)
            return true;
        at += word;
    }
    return false;
}

static void ask_topic_config(struct fact_topic *topic, const char *name, const char *value)
{
    if (value == NULL)
        return;
    if (strcmp(name, "message.timestamp.type") == 0)
        topic->create_time = strcmp(value, "CreateTime") == 0;
    else if (strcmp(name, "retention.ms") == 0)
        (void)dv_parse_i64(value, INT64_MIN, INT64_MAX, &topic->retention_ms);
    else if (strcmp(name, "cleanup.policy") == 0) {
        topic->compacted = ask_policy_has(value, "compact");
        topic->deleted = ask_policy_has(value, "delete");
    }
}

/* Without DescribeConfigs on the topic its settings stay unknown: of the timestamps topic nobody needs them. */
static void ask_topic_configs_got(struct kafka_op *op, rd_kafka_event_t *event)
{
    if (!kafka_op_event_good(op, event))
        return;
    size_t count = 0, entries = 0;
    const rd_kafka_ConfigResource_t **list =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count);
    rd_kafka_resp_err_t code = count == 1 ? rd_kafka_ConfigResource_error(list[0]) : RD_KAFKA_RESP_ERR__FAIL;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED &&
        code != RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED) {
        kafka_op_fail_code(op, code, count == 1 ? rd_kafka_ConfigResource_error_string(list[0]) : NULL);
        return;
    }
    op->topic.configs_known = code == RD_KAFKA_RESP_ERR_NO_ERROR;
    const rd_kafka_ConfigEntry_t **entry = op->topic.configs_known ? rd_kafka_ConfigResource_configs(list[0], &entries) : NULL;
    for (size_t i = 0; i < entries; i++)
        ask_topic_config(&op->topic, rd_kafka_ConfigEntry_name(entry[i]), rd_kafka_ConfigEntry_value(entry[i]));
    ask_topic_answer(op);
}

static void ask_topic_got(struct kafka_op *op, struct kafka_ask_job *job)
{
    op->topic = (struct fact_topic){.retention_ms = -1};
    if (job->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
        ask_topic_answer(op);
        return;
    }
    if (!ask_got_partitions(op, job))
        return;
    op->topic.found = true;
    op->topic.partitions = job->partitions;
    if (!kafka_op_use(op, KAFKA_HANDLE_ADMIN, (struct kafka_what){.operation = "DescribeConfigs", .topic = op->question.topic}))
        return;
    op->on_event = ask_topic_configs_got;
    rd_kafka_ConfigResource_t *resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, op->question.topic);
    rd_kafka_AdminOptions_t *options = kafka_op_options(op, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(op->handle->rk, &resource, 1, options, op->handle->events);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_ConfigResource_destroy(resource);
}

/* ---------------------------------------------------------------- LOG */

/* The last stable offset is asked after the high watermark: seen the other way round, a record in between would look like an open
 * transaction. */
static void ask_log_stable_got(struct kafka_op *op, struct kafka_ask_job *job)
{
    if (job->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        kafka_op_fail_code(op, job->err, NULL);
        return;
    }
    op->log.stable = job->high;
    job->high = NULL;
    for (int32_t p = 0; p < op->log.partitions; p++)
        if (op->log.stable[p] > op->log.high[p])
            op->log.stable[p] = op->log.high[p];
    kafka_op_answer(op, &(struct port_kafka_event){.offsets = &op->log});
}

static void ask_log_ends_got(struct kafka_op *op, struct kafka_ask_job *job)
{
    if (job->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        kafka_op_fail_code(op, job->err, NULL);
        return;
    }
    op->log = (struct fact_offsets){.partitions = job->partitions, .low = job->low, .high = job->high};
    job->low = job->high = NULL;
    if (!kafka_op_use(op, KAFKA_HANDLE_STABLE, op->what))
        return;
    op->on_job = ask_log_stable_got;
    kafka_ask_job_push(op->handle, KAFKA_JOB_ENDS, op->serial, op->question.topic, op->partitions, false, NULL);
}

static void ask_log_got(struct kafka_op *op, struct kafka_ask_job *job)
{
    if (!ask_got_partitions(op, job))
        return;
    op->on_job = ask_log_ends_got;
    kafka_ask_job_push(op->handle, KAFKA_JOB_ENDS, op->serial, op->question.topic, op->partitions, true, NULL);
}

/* ---------------------------------------------------------------- COMMITS */

/* What the only group in the answer has committed, lent; false: the op is ended. */
static bool ask_group_commits(struct kafka_op *op, rd_kafka_event_t *event, const rd_kafka_topic_partition_list_t **parts)
{
    if (!kafka_op_event_good(op, event))
        return false;
    size_t count = 0;
    const rd_kafka_group_result_t **list =
        rd_kafka_ListConsumerGroupOffsets_result_groups(rd_kafka_event_ListConsumerGroupOffsets_result(event), &count);
    const rd_kafka_error_t *error = count == 1 ? rd_kafka_group_result_error(list[0]) : NULL;
    if (count != 1 || error != NULL) {
        kafka_op_fail_code(op, error != NULL ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR__FAIL,
                           error != NULL ? rd_kafka_error_string(error) : NULL);
        return false;
    }
    *parts = rd_kafka_group_result_partitions(list[0]);
    return true;
}

/* list == NULL: all that the group has committed. */
static void ask_list_commits(struct kafka_op *op, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_ListConsumerGroupOffsets_t *request = rd_kafka_ListConsumerGroupOffsets_new(op->question.group, list);
    rd_kafka_AdminOptions_t *options = kafka_op_options(op, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
    rd_kafka_ListConsumerGroupOffsets(op->handle->rk, &request, 1, options, op->handle->events);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_ListConsumerGroupOffsets_destroy(request);
}

static void ask_commits_got(struct kafka_op *op, rd_kafka_event_t *event)
{
    const rd_kafka_topic_partition_list_t *parts = NULL;
    if (!ask_group_commits(op, event, &parts))
        return;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (int i = 0; parts != NULL && i < parts->cnt; i++) {
        const rd_kafka_topic_partition_t *one = &parts->elems[i];
        if (one->err != RD_KAFKA_RESP_ERR_NO_ERROR)
            code = one->err;
        else if (one->partition >= 0 && one->partition < op->partitions && one->offset >= 0)
            op->log.high[one->partition] = one->offset;
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        kafka_op_fail_code(op, code, NULL);
    else
        kafka_op_answer(op, &(struct port_kafka_event){.offsets = &op->log});
}

static void ask_commits(struct kafka_op *op, struct kafka_ask_job *job)
{
    if (!ask_got_partitions(op, job))
        return;
    struct kafka_what what = {.operation = "Describe", .topic = op->question.topic, .group = op->question.group};
    if (!kafka_op_use(op, KAFKA_HANDLE_ADMIN, what))
        return;
    op->on_event = ask_commits_got;
    op->log = (struct fact_offsets){.partitions = op->partitions, .high = dv_calloc((size_t)op->partitions + 1, sizeof(int64_t))};
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(op->partitions);
    for (int32_t p = 0; p < op->partitions; p++) {
        op->log.high[p] = -1;
        (void)rd_kafka_topic_partition_list_add(list, op->question.topic, p);
    }
    ask_list_commits(op, list);
    rd_kafka_topic_partition_list_destroy(list);
}

/* ---------------------------------------------------------------- GROUP_LAG */

static void ask_lag_got(struct kafka_op *op, struct kafka_ask_job *job)
{
    if (job->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        kafka_op_fail_code(op, job->err, NULL);
    else
        kafka_op_answer(op, &(struct port_kafka_event){.lag = &job->lag});
}

/* The broker leaves out topics that we may not describe. (Brokers before 2.4 tell librdkafka before 2.3 of no commits at all.) */
static void ask_lag_commits_got(struct kafka_op *op, rd_kafka_event_t *event)
{
    const rd_kafka_topic_partition_list_t *parts = NULL;
    if (!ask_group_commits(op, event, &parts))
        return;
    int count = parts != NULL ? parts->cnt : 0;
    int32_t unseen = 0;
    rd_kafka_topic_partition_list_t *commits = rd_kafka_topic_partition_list_new(count < FACT_GROUP_LAG_MAX ? count : FACT_GROUP_LAG_MAX);
    for (int i = 0; i < count; i++) {
        const rd_kafka_topic_partition_t *one = &parts->elems[i];
        if (one->err != RD_KAFKA_RESP_ERR_NO_ERROR || (one->offset >= 0 && commits->cnt == FACT_GROUP_LAG_MAX))
            unseen++;
        else if (one->offset >= 0)
            rd_kafka_topic_partition_list_add(commits, one->topic, one->partition)->offset = one->offset;
    }
    op->on_job = ask_lag_got;
    kafka_lag_job_push(op->handle, op->serial, commits, unseen, NULL);
}

static void ask_lag(struct kafka_op *op)
{
    if (!kafka_op_use(op, KAFKA_HANDLE_ADMIN, (struct kafka_what){.operation = "Describe", .group = op->question.group}))
        return;
    op->on_event = ask_lag_commits_got;
    ask_list_commits(op, NULL);
}

/* ---------------------------------------------------------------- which question */

static void ask_scan(struct kafka_op *op, struct kafka_ask_job *job)
{
    if (ask_got_partitions(op, job))
        kafka_scan_start(op);
}

static bool ask_complete(const struct port_question *question)
{
    switch (question->ask) {
    case PORT_ASK_CLUSTER:
    case PORT_ASK_ACLS: return true;
    case PORT_ASK_TOPIC:
    case PORT_ASK_LOG:
    case PORT_ASK_READ_RIGHT: return question->topic != NULL;
    case PORT_ASK_DISTANCE: return question->topic != NULL && question->partition >= 0 && question->from >= 0;
    case PORT_ASK_GROUPS: return question->group_count > 0;
    case PORT_ASK_COMMITS: return question->topic != NULL && question->group != NULL;
    case PORT_ASK_GROUP_LAG: return question->group != NULL;
    }
    return false;
}

void kafka_ask_start(struct kafka_op *op)
{
    if (!ask_complete(&op->question)) {
        struct dv_err err = DV_ERR_INIT;
        (void)dv_err_set(&err, DV_ERR_INTERNAL, "a question to Kafka cluster %s lacks what it is about", op->client->cluster);
        kafka_op_fail(op, &err);
        return;
    }
    switch (op->question.ask) {
    case PORT_ASK_CLUSTER: ask_cluster(op); return;
    case PORT_ASK_TOPIC: ask_partitions(op, ask_topic_got); return;
    case PORT_ASK_LOG: ask_partitions(op, ask_log_got); return;
    case PORT_ASK_READ_RIGHT:
    case PORT_ASK_DISTANCE: ask_partitions(op, ask_scan); return;
    case PORT_ASK_ACLS: kafka_acls_start(op); return;
    case PORT_ASK_GROUPS: kafka_groups_start(op); return;
    case PORT_ASK_COMMITS: ask_partitions(op, ask_commits); return;
    case PORT_ASK_GROUP_LAG: ask_lag(op); return;
    }
}

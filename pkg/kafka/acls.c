#include "kafka/internal.h"

#include <stdlib.h>

#include "base/err.h"

static enum fact_acl_resource acls_resource(rd_kafka_ResourceType_t type)
{
    switch (type) {
    case RD_KAFKA_RESOURCE_TOPIC: return FACT_ACL_TOPIC;
    case RD_KAFKA_RESOURCE_GROUP: return FACT_ACL_GROUP;
    case RD_KAFKA_RESOURCE_BROKER: return FACT_ACL_CLUSTER; /* Kafka's number 4 is the cluster here, a broker in configurations */
    case RD_KAFKA_RESOURCE_UNKNOWN:                         /* transactional ids and later kinds: librdkafka 2.0.2 knows none of them */
    case RD_KAFKA_RESOURCE_ANY:
    case RD_KAFKA_RESOURCE__CNT: return FACT_ACL_OTHER;
    }
    return (int)type == 5 ? FACT_ACL_TRANSACTIONAL_ID : FACT_ACL_OTHER;
}

static enum fact_acl_operation acls_operation(rd_kafka_AclOperation_t operation)
{
    switch (operation) {
    case RD_KAFKA_ACL_OPERATION_ALL: return FACT_ACL_ALL;
    case RD_KAFKA_ACL_OPERATION_READ: return FACT_ACL_READ;
    case RD_KAFKA_ACL_OPERATION_WRITE: return FACT_ACL_WRITE;
    case RD_KAFKA_ACL_OPERATION_CREATE: return FACT_ACL_CREATE;
    case RD_KAFKA_ACL_OPERATION_DELETE: return FACT_ACL_DELETE;
    case RD_KAFKA_ACL_OPERATION_ALTER: return FACT_ACL_ALTER;
    case RD_KAFKA_ACL_OPERATION_DESCRIBE: return FACT_ACL_DESCRIBE;
    case RD_KAFKA_ACL_OPERATION_CLUSTER_ACTION: return FACT_ACL_CLUSTER_ACTION;
    case RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS: return FACT_ACL_DESCRIBE_CONFIGS;
    case RD_KAFKA_ACL_OPERATION_ALTER_CONFIGS: return FACT_ACL_ALTER_CONFIGS;
    case RD_KAFKA_ACL_OPERATION_IDEMPOTENT_WRITE: return FACT_ACL_IDEMPOTENT_WRITE;
    case RD_KAFKA_ACL_OPERATION_UNKNOWN:
    case RD_KAFKA_ACL_OPERATION_ANY:
    case RD_KAFKA_ACL_OPERATION__CNT: return FACT_ACL_OP_OTHER;
    }
    return FACT_ACL_OP_OTHER;
}

/* librdkafka up to 2.8 drops the error code of this answer: a refusal looks like an empty list. But its message makes the answer longer
 * than one that is empty in truth: correlation id, throttle time, error code, no message, no resources. An empty list is therefore asked
 * for again on a handle that looks at the sizes. */
#define ACLS_EMPTY_SIZE 16

static void acls_ask(struct kafka_op *op, enum kafka_handle_kind kind);

static void acls_got(struct kafka_op *op, rd_kafka_event_t *event)
{
    if (!kafka_op_event_good(op, event))
        return;
    size_t count = 0;
    const rd_kafka_AclBinding_t **list = rd_kafka_DescribeAcls_result_acls(rd_kafka_event_DescribeAcls_result(event), &count);
    if (count == 0 && op->handle->kind == KAFKA_HANDLE_ADMIN) {
        acls_ask(op, KAFKA_HANDLE_ACLS);
        return;
    }
    if (count == 0 && atomic_load(&op->handle->acls_size) > ACLS_EMPTY_SIZE) {
        struct dv_err err = DV_ERR_INIT;
        char place[400];
        (void)dv_err_set(&err, DV_ERR_DENIED, "%s does not allow us Describe on the cluster, or has no authorizer",
                         kafka_place(place, sizeof place, kafka_client_where(op->client)));
        kafka_op_fail(op, &err);
        return;
    }
    struct fact_acl *acls = dv_calloc(count + 1, sizeof *acls);
    for (size_t i = 0; i < count; i++) {
        acls[i] = (struct fact_acl){
            .principal = dv_strdup(rd_kafka_AclBinding_principal(list[i])),
            .host = dv_strdup(rd_kafka_AclBinding_host(list[i])),
            .name = dv_strdup(rd_kafka_AclBinding_name(list[i])),
            .resource = acls_resource(rd_kafka_AclBinding_restype(list[i])),
            .match = rd_kafka_AclBinding_resource_pattern_type(list[i]) == RD_KAFKA_RESOURCE_PATTERN_PREFIXED ? FACT_ACL_PREFIXED
                                                                                                              : FACT_ACL_LITERAL,
            .operation = acls_operation(rd_kafka_AclBinding_operation(list[i])),
            .deny = rd_kafka_AclBinding_permission_type(list[i]) == RD_KAFKA_ACL_PERMISSION_TYPE_DENY,
        };
    }
    kafka_op_answer(op, &(struct port_kafka_event){.acls = acls, .acl_count = count});
    fact_acls_free(acls, count);
}

static void acls_ask(struct kafka_op *op, enum kafka_handle_kind kind)
{
    if (!kafka_op_use(op, kind, (struct kafka_what){.operation = "Describe"}))
        return;
    op->on_event = acls_got;
    rd_kafka_AclBindingFilter_t *all = rd_kafka_AclBindingFilter_new(RD_KAFKA_RESOURCE_ANY, NULL, RD_KAFKA_RESOURCE_PATTERN_ANY, NULL, NULL,
                                                                     RD_KAFKA_ACL_OPERATION_ANY, RD_KAFKA_ACL_PERMISSION_TYPE_ANY, NULL, 0);
    rd_kafka_AdminOptions_t *options = kafka_op_options(op, RD_KAFKA_ADMIN_OP_DESCRIBEACLS);
    rd_kafka_DescribeAcls(op->handle->rk, all, options, op->handle->events);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_AclBinding_destroy(all);
}

void kafka_acls_start(struct kafka_op *op)
{
    acls_ask(op, KAFKA_HANDLE_ADMIN);
}

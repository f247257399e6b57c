#include <string.h>

#include "base/mem.h"
#include "distributor/distributor.h"

static bool acl_principal_matches(const struct fact_acl *acl, const char *principal)
{
    return dv_streq(acl->principal, "User:*") || dv_streq(acl->principal, principal);
}

static bool acl_name_matches(const struct fact_acl *acl, const char *name)
{
    if (acl->name == NULL || name == NULL)
        return false;
    if (acl->match == FACT_ACL_PREFIXED)
        return dv_starts_with(name, acl->name);
    return dv_streq(acl->name, "*") || dv_streq(acl->name, name);
}

static bool acl_implies(enum fact_acl_operation held, enum fact_acl_operation wanted)
{
    switch (wanted) {
    case FACT_ACL_DESCRIBE: return held == FACT_ACL_READ || held == FACT_ACL_WRITE || held == FACT_ACL_DELETE || held == FACT_ACL_ALTER;
    case FACT_ACL_DESCRIBE_CONFIGS: return held == FACT_ACL_ALTER_CONFIGS;
    case FACT_ACL_ALL:
    case FACT_ACL_READ:
    case FACT_ACL_WRITE:
    case FACT_ACL_CREATE:
    case FACT_ACL_DELETE:
    case FACT_ACL_ALTER:
    case FACT_ACL_ALTER_CONFIGS:
    case FACT_ACL_CLUSTER_ACTION:
    case FACT_ACL_IDEMPOTENT_WRITE:
    case FACT_ACL_OP_OTHER: break;
    }
    return false;
}

static bool acl_operation_matches(const struct fact_acl *acl, enum fact_acl_operation wanted)
{
    /* Two operations this program does not know are not thereby the same one; a deny that may be meant counts. */
    if (wanted == FACT_ACL_OP_OTHER || acl->operation == FACT_ACL_OP_OTHER)
        return acl->operation == FACT_ACL_ALL || (acl->deny && wanted == acl->operation);
    return acl->operation == FACT_ACL_ALL || acl->operation == wanted || (!acl->deny && acl_implies(acl->operation, wanted));
}

static enum distributor_acl_verdict acl_effect(const struct fact_acl *acl)
{
    bool everywhere = dv_streq(acl->host, "*");
    if (acl->deny)
        return everywhere ? DISTRIBUTOR_ACL_DENIED : DISTRIBUTOR_ACL_HOST_DENIED;
    return everywhere ? DISTRIBUTOR_ACL_ALLOWED : DISTRIBUTOR_ACL_HOST_LIMITED;
}

/* A stronger effect hides a weaker one, whatever the order of the rules. */
static int acl_rank(enum distributor_acl_verdict verdict)
{
    switch (verdict) {
    case DISTRIBUTOR_ACL_NONE: return 0;
    case DISTRIBUTOR_ACL_HOST_LIMITED: return 1;
    case DISTRIBUTOR_ACL_ALLOWED: return 2;
    case DISTRIBUTOR_ACL_HOST_DENIED: return 3;
    case DISTRIBUTOR_ACL_DENIED: return 4;
    }
    return 0;
}

enum distributor_acl_verdict distributor_acl_check(const struct fact_acl *acls, size_t count, const char *principal,
                                                   enum fact_acl_resource resource, const char *name, enum fact_acl_operation operation,
                                                   const struct fact_acl **deciding)
{
    enum distributor_acl_verdict verdict = DISTRIBUTOR_ACL_NONE;
    const struct fact_acl *rule = NULL;
    for (size_t i = 0; acls != NULL && i < count; i++) {
        const struct fact_acl *acl = &acls[i];
        if (acl->resource != resource || !acl_name_matches(acl, name) || !acl_principal_matches(acl, principal) ||
            !acl_operation_matches(acl, operation))
            continue;
        enum distributor_acl_verdict effect = acl_effect(acl);
        if (acl_rank(effect) > acl_rank(verdict)) {
            verdict = effect;
            rule = acl;
        }
    }
    if (deciding != NULL)
        *deciding = rule;
    return verdict;
}

bool distributor_acl_allows(const struct fact_acl *acls, size_t count, const char *principal, enum fact_acl_resource resource,
                            const char *name, enum fact_acl_operation operation, const struct fact_acl **deciding)
{
    return distributor_acl_check(acls, count, principal, resource, name, operation, deciding) == DISTRIBUTOR_ACL_ALLOWED;
}

const char *distributor_acl_operation_name(enum fact_acl_operation operation)
{
    switch (operation) {
    case FACT_ACL_ALL: return "All";
    case FACT_ACL_READ: return "Read";
    case FACT_ACL_WRITE: return "Write";
    case FACT_ACL_CREATE: return "Create";
    case FACT_ACL_DELETE: return "Delete";
    case FACT_ACL_ALTER: return "Alter";
    case FACT_ACL_DESCRIBE: return "Describe";
    case FACT_ACL_DESCRIBE_CONFIGS: return "DescribeConfigs";
    case FACT_ACL_ALTER_CONFIGS: return "AlterConfigs";
    case FACT_ACL_CLUSTER_ACTION: return "ClusterAction";
    case FACT_ACL_IDEMPOTENT_WRITE: return "IdempotentWrite";
    case FACT_ACL_OP_OTHER: break;
    }
    return "another operation";
}

const char *distributor_acl_resource_name(enum fact_acl_resource resource)
{
    switch (resource) {
    case FACT_ACL_TOPIC: return "topic";
    case FACT_ACL_GROUP: return "group";
    case FACT_ACL_CLUSTER: return "cluster";
    case FACT_ACL_TRANSACTIONAL_ID: return "transactional id";
    case FACT_ACL_OTHER: break;
    }
    return "resource";
}

char *distributor_acl_text(const struct fact_acl *acl, char *out, size_t size)
{
    return dv_format(out, size, "%s %s %s on %s %s%s from host %s", acl->deny ? "deny" : "allow",
                     acl->principal != NULL ? acl->principal : "", distributor_acl_operation_name(acl->operation),
                     distributor_acl_resource_name(acl->resource), acl->name != NULL ? acl->name : "",
                     acl->match == FACT_ACL_PREFIXED ? " (prefixed)" : "", acl->host != NULL ? acl->host : "");
}

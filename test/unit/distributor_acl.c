#include "../support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "distributor/distributor.h"

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    if (text == NULL)
        fail_msg("no text %s", key);
    return text;
}

static enum fact_acl_operation operation_of(const char *name)
{
    for (int i = FACT_ACL_ALL; i < FACT_ACL_OP_OTHER; i++)
        if (strcmp(distributor_acl_operation_name((enum fact_acl_operation)i), name) == 0)
            return (enum fact_acl_operation)i;
    return FACT_ACL_OP_OTHER;
}

static enum fact_acl_resource resource_of(const char *name)
{
    for (int i = FACT_ACL_TOPIC; i < FACT_ACL_OTHER; i++)
        if (strcmp(distributor_acl_resource_name((enum fact_acl_resource)i), name) == 0)
            return (enum fact_acl_resource)i;
    return FACT_ACL_OTHER;
}

static struct fact_acl *acls_of(const json_t *list)
{
    struct fact_acl *acls = dv_calloc(json_array_size(list), sizeof *acls);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        acls[i].principal = dv_strdup(text_of(item, "principal"));
        acls[i].host = dv_strdup(text_of(item, "host"));
        acls[i].name = dv_strdup(text_of(item, "name"));
        acls[i].resource = resource_of(text_of(item, "resource"));
        acls[i].operation = operation_of(text_of(item, "operation"));
        acls[i].match = strcmp(text_of(item, "match"), "prefixed") == 0 ? FACT_ACL_PREFIXED : FACT_ACL_LITERAL;
        acls[i].deny = json_is_true(json_object_get(item, "deny"));
    }
    return acls;
}

static void ask(const char *name, const struct fact_acl *acls, size_t count, const json_t *question)
{
    static const char *const verdicts[] = {"none", "allowed", "denied", "host-denied", "host-limited"};
    const struct fact_acl *deciding = acls;
    const char *principal = text_of(question, "principal");
    enum fact_acl_resource resource = resource_of(text_of(question, "resource"));
    enum fact_acl_operation operation = operation_of(text_of(question, "operation"));
    const char *topic = text_of(question, "topic");
    enum distributor_acl_verdict verdict = distributor_acl_check(acls, count, principal, resource, topic, operation, &deciding);
    const json_t *want = json_object_get(question, "deciding");
    if (strcmp(verdicts[verdict], text_of(question, "verdict")) != 0)
        fail_msg("%s: %s on %s is %s", name, text_of(question, "operation"), topic, verdicts[verdict]);
    if (json_is_null(want) ? deciding != NULL : deciding != acls + json_integer_value(want))
        fail_msg("%s: %s on %s is decided by another rule", name, text_of(question, "operation"), topic);
    assert_int_equal(distributor_acl_allows(acls, count, principal, resource, topic, operation, NULL), verdict == DISTRIBUTOR_ACL_ALLOWED);
}

static void acls_decide_as_kafka_does(void **state)
{
    (void)state;
    json_t *table = test_read_json("test/unit/cases/acl/table.json");
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(json_object_get(table, "items"), i, item)
    {
        const json_t *rules = json_object_get(item, "acls");
        struct fact_acl *acls = acls_of(rules);
        size_t k = 0;
        json_t *question = NULL;
        json_array_foreach(json_object_get(item, "asks"), k, question)
        {
            ask(text_of(item, "name"), acls, json_array_size(rules), question);
        }
        fact_acls_free(acls, json_array_size(rules));
    }
    assert_true(i > 15);
    json_decref(table);
}

static void an_unknown_operation_is_never_a_match_that_allows(void **state)
{
    (void)state;
    struct fact_acl acls[] = {{.principal = "User:x", .host = "*", .name = "t", .operation = FACT_ACL_OP_OTHER}};
    assert_false(distributor_acl_allows(acls, 1, "User:x", FACT_ACL_TOPIC, "t", FACT_ACL_OP_OTHER, NULL));
    assert_false(distributor_acl_allows(acls, 1, "User:x", FACT_ACL_TOPIC, "t", FACT_ACL_READ, NULL));
    acls[0].name = NULL;
    acls[0].principal = NULL;
    assert_false(distributor_acl_allows(acls, 1, "User:x", FACT_ACL_TOPIC, "t", FACT_ACL_READ, NULL));
    assert_false(distributor_acl_allows(NULL, 0, NULL, FACT_ACL_TOPIC, NULL, FACT_ACL_READ, NULL));
}

static void a_rule_in_words(void **state)
{
    (void)state;
    char text[256];
    struct fact_acl acl = {
        .principal = "User:x", .host = "*", .name = "demo-", .operation = FACT_ACL_WRITE, .match = FACT_ACL_PREFIXED, .deny = true};
    assert_string_equal(distributor_acl_text(&acl, text, sizeof text), "deny User:x Write on topic demo- (prefixed) from host *");
    (void)distributor_acl_text(&acl, text, 10);
    assert_string_equal(text, "deny User");
}

static void denials_name_what_was_denied(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum fact_acl_resource resource;
        const char *name;
    } rows[] = {
        {"TopicAuthorizationException: Not authorized to access topics: [a.b, c]", FACT_ACL_TOPIC, "a.b, c"},
        {"GroupAuthorizationException: Not authorized to access group: connect-x", FACT_ACL_GROUP, "connect-x"},
        {"[Consumer clientId=c, groupId=connect-x] Topic authorization failed for topics [t]", FACT_ACL_TOPIC, "t"},
        {"[Consumer clientId=c, groupId=connect-x] Offset commit failed on partition t-0 at offset 1: Group authorization failed.",
         FACT_ACL_GROUP, "connect-x"},
        {"Offset commit failed on partition t-0 at offset 1: Group authorization failed.", FACT_ACL_GROUP, ""},
        {"Offset commit failed on partition t-0 at offset 1: Topic authorization failed.", FACT_ACL_TOPIC, "t"},
        {"Not authorized to read from partition t-1-12.", FACT_ACL_TOPIC, "t-1"},
        {"Not authorized to commit to topics [t]", FACT_ACL_TOPIC, "t"},
        {"correlation id 5 : {t=TOPIC_AUTHORIZATION_FAILED}", FACT_ACL_TOPIC, "t"},
        {"correlation id 5 : {a=LEADER_NOT_AVAILABLE, t=TOPIC_AUTHORIZATION_FAILED, u=TOPIC_AUTHORIZATION_FAILED}", FACT_ACL_TOPIC, "t, u"},
        {"ClusterAuthorizationException: Cluster authorization failed.", FACT_ACL_CLUSTER, ""},
        {"TransactionalIdAuthorizationException: Transactional Id authorization failed.", FACT_ACL_TRANSACTIONAL_ID, ""},
        {"DelegationTokenAuthorizationException: no", FACT_ACL_OTHER, ""},
        {"Not authorized to access topics: [", FACT_ACL_TOPIC, ""},
        {"Not authorized to read from partition ", FACT_ACL_TOPIC, ""},
    };
    struct distributor_denial denial;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(distributor_denial_of(rows[i].text, &denial));
        if (denial.resource != rows[i].resource || strcmp(denial.name, rows[i].name) != 0)
            fail_msg("%s: %d '%s'", rows[i].text, (int)denial.resource, denial.name);
    }
    assert_false(distributor_denial_of("a TimeoutException", &denial));
    assert_false(distributor_denial_of(NULL, &denial));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acls_decide_as_kafka_does),
        cmocka_unit_test(an_unknown_operation_is_never_a_match_that_allows),
        cmocka_unit_test(a_rule_in_words),
        cmocka_unit_test(denials_name_what_was_denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

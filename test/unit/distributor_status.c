#include "../support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "distributor/distributor.h"

/* ---------------------------------------------------------------- helpers */

/* RFC 7386 */
static json_t *merged(json_t *target, const json_t *patch)
{
    if (!json_is_object(patch))
        return json_deep_copy(patch);
    json_t *out = json_is_object(target) ? json_deep_copy(target) : json_object();
    void *iter = json_object_iter((json_t *)(uintptr_t)patch);
    for (; iter != NULL; iter = json_object_iter_next((json_t *)(uintptr_t)patch, iter)) {
        const char *key = json_object_iter_key(iter);
        const json_t *value = json_object_iter_value(iter);
        if (json_is_null(value))
            (void)json_object_del(out, key);
        else
            (void)json_object_set_new(out, key, merged(json_object_get(out, key), value));
    }
    return out;
}

static json_t *object_of(const json_t *file, const json_t *item)
{
    if (json_is_true(json_object_get(item, "absent")))
        return NULL;
    const json_t *patch = json_object_get(item, "patch");
    const json_t *status = json_object_get(item, "status");
    json_t *base = json_object_get(file, "base");
    json_t *object = patch != NULL ? merged(base, patch) : json_deep_copy(base);
    if (status != NULL) /* whole, nulls and all */
        (void)json_object_set_new(object, "status", json_deep_copy(status));
    return object;
}

static void want_text(const char *name, const json_t *expect, const char *key, const char *have)
{
    const json_t *value = json_object_get(expect, key);
    if (value != NULL && strcmp(json_string_value(value), have != NULL ? have : "") != 0)
        fail_msg("%s: %s is '%s', not '%s'", name, key, have != NULL ? have : "", json_string_value(value));
}

static void want_number(const char *name, const json_t *expect, const char *key, int64_t have)
{
    const json_t *value = json_object_get(expect, key);
    int64_t number = json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
    if (value != NULL && number != have)
        fail_msg("%s: %s is %lld, not %lld", name, key, (long long)have, (long long)number);
}

/* ---------------------------------------------------------------- connectors */

static void want_fact(const char *name, const json_t *expect, const struct fact_connector *fact)
{
    static const char *const resources[] = {"topic", "group", "cluster", "transactional-id", "other"};
    want_number(name, expect, "tasks", fact->tasks);
    want_number(name, expect, "running", fact->tasks_running);
    want_number(name, expect, "failed", fact->tasks_failed);
    want_number(name, expect, "firstFailed", fact->first_failed_task);
    want_number(name, expect, "authorization", fact->authorization);
    want_number(name, expect, "pluginMissing", fact->plugin_missing);
    want_number(name, expect, "conflict", fact->conflict);
    want_number(name, expect, "restartDueAfter", fact->restart_due_ms - fact->restarted_ms);
    want_text(name, expect, "cause", fact->cause);
    want_text(name, expect, "reason", fact->not_ready_reason);
    want_text(name, expect, "cluster", fact->cluster);
    want_text(name, expect, "topics", fact->topics);
    struct distributor_denial denial = {.resource = FACT_ACL_OTHER};
    if (json_object_get(expect, "denied") != NULL)
        assert_true(distributor_denial_of(fact->cause, &denial));
    want_text(name, expect, "denied", resources[denial.resource]);
    want_text(name, expect, "deniedName", denial.name);
}

static void want_judgement(const char *name, const json_t *expect, const struct distributor_judgement *judgement)
{
    static const char *const healths[] = {"wait", "healthy", "failed", "blocked", "off"};
    static const char *const faults[] = {"fine", "connector", "task", "plugin", "restarted", "connect"};
    want_text(name, expect, "health", healths[judgement->health]);
    want_text(name, expect, "fault", faults[judgement->fault]);
    want_number(name, expect, "task", judgement->task);
    const char *why = json_string_value(json_object_get(expect, "why"));
    if (why != NULL && strstr(judgement->why, why) == NULL)
        fail_msg("%s: why is '%s'", name, judgement->why);
    assert_int_equal(judgement->health == DISTRIBUTOR_FAILED, judgement->fault != DISTRIBUTOR_FINE);
    assert_int_equal(judgement->health == DISTRIBUTOR_HEALTHY, judgement->why[0] == '\0');
}

static uint64_t placed(const char *tasks)
{
    char text[512];
    json_t *json = json_loads(dv_format(text, sizeof text, "{\"status\":{\"connectorStatus\":{\"tasks\":[%s]}}}", tasks), 0, NULL);
    struct fact_connector *fact = distributor_connector(json);
    uint64_t workers = fact->workers;
    fact_connector_free(fact);
    json_decref(json);
    return workers;
}

/* Where the tasks run, in whichever order they are listed. */
static void moved_tasks_are_seen(void **state)
{
    (void)state;
#define TASK(id, worker) "{\"id\":" #id ",\"worker_id\":\"" worker "\"}"
    assert_int_equal(placed(TASK(0, "a") "," TASK(1, "b")), placed(TASK(1, "b") "," TASK(0, "a")));
    assert_int_not_equal(placed(TASK(0, "a") "," TASK(1, "b")), placed(TASK(0, "b") "," TASK(1, "a")));
    assert_int_not_equal(placed(TASK(0, "a")), placed(TASK(0, "b")));
    assert_int_equal(placed(""), 0);
    assert_int_equal(placed("{\"id\":0}"), 0);
#undef TASK
}

static void one_item(const json_t *file, const json_t *item)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const json_t *expect = json_object_get(item, "expect");
    bool absent = json_is_true(json_object_get(item, "absent"));
    json_t *object = object_of(file, item);
    struct fact_connector *fact = distributor_connector(object);
    struct distributor_judgement judgement;
    distributor_judge_connector(absent ? NULL : fact, strcmp(json_string_value(json_object_get(item, "wanted")), "on") == 0,
                                json_integer_value(json_object_get(item, "restartsAtStart")), &judgement);
    want_fact(name, expect, fact);
    want_judgement(name, expect, &judgement);
    char *warnings = distributor_warnings(object);
    want_text(name, expect, "warnings", warnings);
    free(warnings);
    fact_connector_free(fact);
    json_decref(object);
}

static void one_file(const char *path, const char *name, void *arg)
{
    (void)name;
    (void)arg;
    json_t *file = test_read_json(path);
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(json_object_get(file, "items"), i, item)
    {
        one_item(file, item);
    }
    assert_true(i > 0);
    json_decref(file);
}

static void connectors_are_judged(void **state)
{
    (void)state;
    assert_true(test_each_entry("test/unit/cases/strimzi-status", one_file, NULL) > 4);
}

static void what_a_connector_says_of_itself(void **state)
{
    (void)state;
    json_t *object =
        json_pack("{s:{s:s,s:s,s:i,s:s},s:{s:s,s:i,s:{s:b},s:{s:s,s:s}},s:{s:{s:s}}}", "metadata", "name", "n", "uid", "u", "generation", 4,
                  "creationTimestamp", "2026-03-02T10:00:00Z", "spec", "class", "a.B", "tasksMax", 2, "autoRestart", "enabled", 1, "config",
                  "topics", "t", "consumer.override.group.id", "g", "status", "connectorStatus", "type", "source");
    struct fact_connector *fact = distributor_connector(object);
    assert_string_equal(fact->name, "n");
    assert_string_equal(fact->uid, "u");
    assert_string_equal(fact->class_name, "a.B");
    assert_string_equal(fact->group_override, "g");
    assert_string_equal(fact->topics, "t");
    assert_true(fact->source);
    assert_true(fact->auto_restart_on);
    assert_true(fact->created_ms > 0);
    assert_int_equal(fact->generation, 4);
    assert_int_equal(fact->tasks, 0);
    uint64_t hash = fact->spec_hash;
    fact_connector_free(fact);
    (void)json_object_set_new(json_object_get(object, "spec"), "state", json_string("stopped"));
    fact = distributor_connector(object);
    assert_true(fact->spec_hash == hash);
    fact_connector_free(fact);
    (void)json_object_set_new(json_object_get(object, "spec"), "tasksMax", json_integer(3));
    fact = distributor_connector(object);
    assert_true(fact->spec_hash != hash);
    fact_connector_free(fact);
    json_decref(object);
}

/* ---------------------------------------------------------------- KafkaConnect */

static json_t *connect_object(const char *condition, int observed)
{
    json_t *object =
        json_pack("{s:{s:s,s:s,s:i,s:{s:s}},s:{s:i,s:{s:s}},s:{s:i,s:[{s:s,s:s,s:s,s:s}],s:[{s:s,s:s},{s:s},{s:n}]}}", "metadata", "name",
                  "demo-connect", "uid", "uid-1", "generation", 2, "annotations", "strimzi.io/use-connector-resources", "true", "spec",
                  "replicas", 3, "config", "offset.flush.interval.ms", "1000", "status", "observedGeneration", observed, "conditions",
                  "type", condition, "status", "True", "reason", "TimeoutException", "message", "took long", "connectorPlugins", "class",
                  "a.B", "type", "sink", "class", "c.D", "class");
    assert_non_null(object);
    return object;
}

static enum distributor_health connect_health(json_t *object, const char *why)
{
    struct fact_connect *connect = distributor_connect(object);
    struct distributor_judgement judgement;
    distributor_judge_connect(connect, &judgement);
    assert_non_null(strstr(judgement.why, why));
    fact_connect_free(connect);
    return judgement.health;
}

static void kafka_connect(void **state)
{
    (void)state;
    json_t *object = connect_object("Ready", 2);
    struct fact_connect *connect = distributor_connect(object);
    assert_int_equal(connect->flush_ms, 1000);
    assert_int_equal(connect->replicas, 3);
    assert_string_equal(connect->uid, "uid-1");
    assert_int_equal(connect->plugin_count, 2);
    assert_string_equal(connect->plugins[1], "c.D");
    fact_connect_free(connect);
    assert_int_equal(connect_health(object, ""), DISTRIBUTOR_HEALTHY);
    json_t *annotations = json_object_get(json_object_get(object, "metadata"), "annotations");
    (void)json_object_set_new(annotations, "strimzi.io/pause-reconciliation", json_string("true"));
    assert_int_equal(connect_health(object, "pause"), DISTRIBUTOR_BLOCKED);
    (void)json_object_clear(annotations);
    assert_int_equal(connect_health(object, "use-connector-resources"), DISTRIBUTOR_BLOCKED);
    json_decref(object);
    object = connect_object("NotReady", 2);
    assert_int_equal(connect_health(object, "took long"), DISTRIBUTOR_WAIT);
    json_t *condition = json_array_get(json_object_get(json_object_get(object, "status"), "conditions"), 0);
    (void)json_object_set_new(condition, "reason", json_string("InvalidResourceException"));
    assert_int_equal(connect_health(object, "InvalidResourceException: took long"), DISTRIBUTOR_FAILED);
    (void)json_object_set_new(json_object_get(object, "spec"), "replicas", json_integer(0));
    assert_int_equal(connect_health(object, "0 replicas"), DISTRIBUTOR_BLOCKED);
    json_decref(object);
    object = connect_object("Ready", 1);
    assert_int_equal(connect_health(object, "generation 2"), DISTRIBUTOR_WAIT);
    json_decref(object);
    connect = distributor_connect(NULL);
    assert_int_equal(connect->replicas, 1);
    assert_int_equal(connect->flush_ms, -1);
    assert_null(connect->plugins);
    fact_connect_free(connect);
    struct distributor_judgement judgement;
    distributor_judge_connect(NULL, &judgement);
    assert_int_equal(judgement.health, DISTRIBUTOR_WAIT);
}

/* ---------------------------------------------------------------- pods */

static struct fact_pod *pod_of(const char *status)
{
    static const char head[] = "{\"metadata\":{\"name\":\"c-connect-0\",\"uid\":\"u\",\"labels\":{\"strimzi.io/"
                               "cluster\":\"c\",\"strimzi.io/kind\":\"KafkaConnect\"}},"
                               "\"spec\":{\"containers\":[{\"name\":\"sidecar\"},{\"name\":\"c-connect\"}]},\"status\":";
    char *text = dv_asprintf("%s%s}", head, status);
    json_error_t error;
    json_t *object = json_loads(text, 0, &error);
    if (object == NULL)
        fail_msg("%s: %s", text, error.text);
    struct fact_pod *pod = distributor_pod(object);
    assert_string_equal(pod->container, "c-connect");
    assert_true(pod->is_connect);
    json_decref(object);
    free(text);
    return pod;
}

static void pods_say_what_they_wait_for(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        const char *waiting;
        int restarts;
        bool ready;
    } rows[] = {
        {"null", NULL, 0, false},
        {"{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],\"containerStatuses\":[{\"name\":\"sidecar\","
         "\"restartCount\":9},{\"name\":\"c-connect\",\"restartCount\":2,\"state\":{\"running\":{}},\"lastState\":{\"terminated\":{"
         "\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}",
         NULL, 2, true},
        {"{\"containerStatuses\":[{\"name\":\"c-connect\",\"restartCount\":3,\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}}}]}",
         "CrashLoopBackOff", 3, false},
        {"{\"containerStatuses\":[{\"name\":\"c-connect\",\"restartCount\":1,\"state\":{\"running\":{}},\"lastState\":{\"terminated\":{"
         "\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}",
         "OOMKilled", 1, false},
        {"{\"containerStatuses\":[{\"name\":\"c-connect\",\"state\":{\"terminated\":{\"exitCode\":0,\"reason\":\"Completed\"}}}]}", NULL, 0,
         false},
        {"{\"containerStatuses\":[{\"name\":\"c-connect\",\"state\":{\"terminated\":{\"exitCode\":1}}}]}", "Error", 0, false},
        {"{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\"}]}", "Unschedulable", 0, false},
        {"{\"phase\":\"Failed\",\"reason\":\"Evicted\"}", "Evicted", 0, false},
        {"{\"initContainerStatuses\":[{\"name\":\"i\",\"state\":{\"waiting\":{\"reason\":\"ImagePullBackOff\"}}}],\"containerStatuses\":[{"
         "\"name\":\"c-connect\",\"state\":{\"waiting\":{\"reason\":\"PodInitializing\"}}}]}",
         "ImagePullBackOff", 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fact_pod *pod = pod_of(rows[i].status);
        if (!dv_streq(pod->waiting, rows[i].waiting) || pod->restarts != rows[i].restarts || pod->ready != rows[i].ready)
            fail_msg("row %zu: %s %lld %d", i, pod->waiting != NULL ? pod->waiting : "-", (long long)pod->restarts, pod->ready);
        fact_pod_free(pod);
    }
    struct fact_pod *pod = distributor_pod(NULL);
    assert_false(pod->is_connect);
    fact_pod_free(pod);
}

/* ---------------------------------------------------------------- jobs */

static void selectors(void **state)
{
    (void)state;
    static const struct {
        const char *selector;
        bool matches;
    } rows[] = {
        {"null", false},
        {"{}", true},
        {"{\"matchLabels\":{\"app\":\"init\"}}", true},
        {"{\"matchLabels\":{\"app\":\"init\",\"level\":\"2\"}}", false},
        {"{\"matchLabels\":{\"app\":null}}", false},
        {"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"x\",\"init\"]}]}", true},
        {"{\"matchExpressions\":[{\"key\":\"none\",\"operator\":\"In\",\"values\":[\"x\"]}]}", false},
        {"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"NotIn\",\"values\":[\"init\"]}]}", false},
        {"{\"matchExpressions\":[{\"key\":\"none\",\"operator\":\"NotIn\",\"values\":[\"init\"]}]}", true},
        {"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}", true},
        {"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"DoesNotExist\"}]}", false},
        {"{\"matchExpressions\":[{\"key\":\"none\",\"operator\":\"DoesNotExist\"}]}", true},
        {"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Gt\",\"values\":[\"1\"]}]}", false},
        {"{\"matchLabels\":{\"app\":\"init\"},\"matchExpressions\":[{\"key\":\"none\",\"operator\":\"Exists\"}]}", false},
        {"{\"matchExpressions\":[null]}", false},
    };
    json_t *object =
        json_pack("{s:{s:s,s:s,s:{s:s}},s:{s:[{s:s,s:s}]}}", "metadata", "name", "j", "creationTimestamp", "2026-03-02T10:00:00Z", "labels",
                  "app", "init", "status", "conditions", "type", "Complete", "status", "True");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *selector = json_loads(rows[i].selector, JSON_DECODE_ANY, NULL);
        assert_non_null(selector);
        struct fact_job *job = distributor_job(object, selector);
        if (job->matches != rows[i].matches)
            fail_msg("%s", rows[i].selector);
        assert_true(job->succeeded && !job->failed && job->created_ms > 0);
        fact_job_free(job);
        json_decref(selector);
    }
    struct fact_job *job = distributor_job(object, NULL);
    assert_false(job->matches);
    fact_job_free(job);
    json_decref(object);
}

static void a_failed_job_says_why(void **state)
{
    (void)state;
    json_t *object = json_pack("{s:{s:i,s:[{s:s,s:s},{s:s,s:s,s:s}]}}", "status", "failed", 3, "conditions", "type", "Complete", "status",
                               "False", "type", "Failed", "status", "True", "message", "Job has reached the specified backoff limit");
    struct fact_job *job = distributor_job(object, NULL);
    assert_true(job->failed && !job->succeeded);
    assert_string_equal(job->message, "Job has reached the specified backoff limit");
    fact_job_free(job);
    json_decref(object);
}

/* ---------------------------------------------------------------- mutation */

static uint32_t fuzz_seed = 1;

static uint32_t fuzz_next(uint32_t below)
{
    fuzz_seed = fuzz_seed * 1664525U + 1013904223U;
    return (fuzz_seed >> 8) % below;
}

static json_t *fuzz_odd(void)
{
    switch (fuzz_next(9)) {
    case 0: return json_null();
    case 1: return json_true();
    case 2: return json_integer(-1);
    case 3: return json_integer(INT64_MAX);
    case 4: return json_real(1e300);
    case 5: return json_string("");
    case 6: return json_array();
    case 7: return json_string("Caused by: \n\tat \nException in thread \"");
    default: return json_object();
    }
}

/* A copy in which fields and elements are dropped or retyped here and there. */
static json_t *fuzz_copy(const json_t *json, uint32_t one_in)
{
    if (fuzz_next(one_in) == 0)
        return fuzz_odd();
    json_t *from = (json_t *)(uintptr_t)json;
    if (json_is_array(json)) {
        json_t *out = json_array();
        for (size_t i = 0; i < json_array_size(json); i++)
            if (fuzz_next(one_in) != 0)
                (void)json_array_append_new(out, fuzz_copy(json_array_get(json, i), one_in));
        return out;
    }
    if (!json_is_object(json))
        return json_deep_copy(json);
    json_t *out = json_object();
    for (void *iter = json_object_iter(from); iter != NULL; iter = json_object_iter_next(from, iter))
        if (fuzz_next(one_in) != 0)
            (void)json_object_set_new(out, json_object_iter_key(iter), fuzz_copy(json_object_iter_value(iter), one_in));
    return out;
}

static void fuzz_read(const json_t *object)
{
    struct distributor_judgement judgement;
    struct fact_connector *connector = distributor_connector(object);
    distributor_judge_connector(connector, true, 0, &judgement);
    distributor_judge_connector(connector, false, 0, &judgement);
    assert_non_null(connector->name);
    assert_non_null(connector->class_name);
    assert_non_null(connector->not_ready_reason);
    struct fact_connect *connect = distributor_connect(object);
    distributor_judge_connect(connect, &judgement);
    struct fact_pod *pod = distributor_pod(object);
    assert_non_null(pod->container);
    struct fact_job *job = distributor_job(object, object);
    free(distributor_warnings(object));
    fact_connector_free(connector);
    fact_connect_free(connect);
    fact_pod_free(pod);
    fact_job_free(job);
}

static void fuzz_file(const char *path, const char *name, void *arg)
{
    (void)name;
    (void)arg;
    json_t *file = test_read_json(path);
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(json_object_get(file, "items"), i, item)
    {
        json_t *object = object_of(file, item);
        for (uint32_t round = 0; object != NULL && round < 300; round++) {
            json_t *mutant = fuzz_copy(object, 3 + round % 30);
            fuzz_read(mutant);
            json_decref(mutant);
        }
        json_decref(object);
    }
    json_decref(file);
}

static void odd_objects_do_no_harm(void **state)
{
    (void)state;
    fuzz_read(NULL);
    (void)test_each_entry("test/unit/cases/strimzi-status", fuzz_file, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connectors_are_judged),
        cmocka_unit_test(what_a_connector_says_of_itself),
        cmocka_unit_test(kafka_connect),
        cmocka_unit_test(pods_say_what_they_wait_for),
        cmocka_unit_test(selectors),
        cmocka_unit_test(a_failed_job_says_why),
        cmocka_unit_test(moved_tasks_are_seen),
        cmocka_unit_test(odd_objects_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

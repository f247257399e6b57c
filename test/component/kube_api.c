/* Requests, watches and the Lease against a real API server. */
#include "../support/kube_objects.h"

static json_t *patch_body(const char *value, const char *rv)
{
    return json_pack("{s:{s:s},s:{s:s}}", "metadata", "resourceVersion", rv, "data", "value", value);
}

static void calls_and_conflicts(void **state)
{
    (void)state;
    struct harness *h = opened();
    (void)deleted(h, configmap("calls"));
    char *old = dv_strdup(version_of(created(h, configmap("calls"), configmap_body("calls", "one"))->json));
    struct heard *answer = with_body(h, PORT_CREATE, configmap("calls"), configmap_body("calls", "two"));
    assert_int_equal(answer->err.kind, DV_ERR_CONFLICT);
    assert_int_equal(answer->err.code, 409);

    answer = with_body(h, PORT_MERGE_PATCH, configmap("calls"), patch_body("two", old));
    assert_int_equal(answer->err.kind, DV_ERR_NONE);
    assert_int_equal(answer->err.code, 200);
    answer = with_body(h, PORT_MERGE_PATCH, configmap("calls"), patch_body("three", old));
    assert_int_equal(answer->err.kind, DV_ERR_CONFLICT);

    answer = harness_call(h, &(struct port_call){.verb = PORT_GET, .resource = configmap("calls")});
    assert_string_equal(json_string_value(json_object_get(json_object_get(answer->json, "data"), "value")), "two");
    json_t *managers = json_object_get(json_object_get(answer->json, "metadata"), "managedFields");
    assert_string_equal(json_string_value(json_object_get(json_array_get(managers, 0), "manager")), "distverify");
    json_t *unknown = json_pack("{s:s}", "nonsense", "x");
    answer = with_body(h, PORT_MERGE_PATCH, configmap("calls"), unknown);
    assert_int_equal(answer->err.kind, DV_ERR_INVALID);
    if (strstr(answer->err.text, "nonsense") == NULL)
        fail_msg("%s", answer->err.text);

    answer = harness_call(h, &(struct port_call){.verb = PORT_GET, .resource = configmap("absent")});
    assert_int_equal(answer->err.kind, DV_ERR_NOT_FOUND);
    assert_int_equal(answer->err.code, 404);
    struct port_resource odd = {.group = "nobody.example", .plural = "things", .ns = NS};
    answer = harness_call(h, &(struct port_call){.verb = PORT_GET, .resource = odd});
    assert_int_equal(answer->err.kind, DV_ERR_UNSUPPORTED);
    odd.version = "v1";
    answer = harness_call(h, &(struct port_call){.verb = PORT_GET, .resource = odd});
    assert_int_equal(answer->err.kind, DV_ERR_UNSUPPORTED);
    free(old);
    harness_free(h);
}

static void watch_sees_changes(void **state)
{
    (void)state;
    struct harness *h = opened();
    (void)deleted(h, configmap("watched"));
    struct port_watch watch = {.resource = configmap(NULL), .label_selector = "test=yes"};
    h->port->watch(h->port->impl, 1, &watch);
    assert_true(harness_expect(h, PORT_KUBE_SYNCED, 1, 1, NULL, 10000));
    char *rv = dv_strdup(version_of(created(h, configmap("watched"), configmap_body("watched", "one"))->json));
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 1, 1, "watched", 5000));
    (void)with_body(h, PORT_MERGE_PATCH, configmap("watched"), patch_body("two", rv));
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 1, 2, "watched", 5000));
    assert_string_equal(json_string_value(json_object_get(harness_last(h, PORT_KUBE_ITEM, 1)->json, "kind")), "ConfigMap");

    h->port->watch(h->port->impl, 2, &watch); /* shared: a later one gets what there is */
    assert_true(harness_expect(h, PORT_KUBE_SYNCED, 2, 1, NULL, 5000));
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 2, 1, "watched", 1));
    size_t before = harness_count(h, PORT_KUBE_ITEM, 1);
    h->port->watch(h->port->impl, 3, &watch); /* from the store this time */
    assert_true(harness_expect(h, PORT_KUBE_SYNCED, 3, 1, NULL, 5000));
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 3, 1, "watched", 1));
    assert_int_equal(harness_count(h, PORT_KUBE_ITEM, 1), before);

    h->port->watch_stop(h->port->impl, 2);
    (void)deleted(h, configmap("watched"));
    assert_true(harness_expect(h, PORT_KUBE_GONE, 1, 1, "watched", 5000));
    assert_true(harness_expect(h, PORT_KUBE_GONE, 3, 1, "watched", 1));
    assert_int_equal(harness_count(h, PORT_KUBE_GONE, 2), 0);
    free(rv);
    harness_free(h);
}

static void one_object_comes_and_goes(void **state)
{
    (void)state;
    struct harness *h = opened();
    (void)deleted(h, configmap("single"));
    struct port_watch watch = {.resource = configmap("single")};
    h->port->watch(h->port->impl, 1, &watch);
    assert_true(harness_expect(h, PORT_KUBE_SYNCED, 1, 1, NULL, 10000));
    assert_int_equal(harness_count(h, PORT_KUBE_ITEM, 1), 0);
    harness_wait(h, NULL, NULL, 300);
    (void)created(h, configmap("single"), configmap_body("single", "one"));
    (void)created(h, configmap("other"), configmap_body("other", "one"));
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 1, 1, "single", 5000));
    h->port->watch_stop(h->port->impl, 1);

    h->port->watch(h->port->impl, 2, &watch); /* it is there from the beginning now */
    assert_true(harness_expect(h, PORT_KUBE_SYNCED, 2, 1, NULL, 10000));
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 2, 1, "single", 1));
    harness_wait(h, NULL, NULL, 300);
    (void)deleted(h, configmap("single"));
    assert_true(harness_expect(h, PORT_KUBE_GONE, 2, 1, "single", 5000));
    assert_int_equal(harness_count(h, PORT_KUBE_ITEM, 2), 1);
    (void)deleted(h, configmap("other"));
    harness_free(h);
}

static bool all_answered(struct harness *h, void *arg)
{
    return harness_count(h, PORT_KUBE_ANSWER, 0) >= *(size_t *)arg;
}

static void many_are_listed_in_pages(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    struct harness *h = opened();
    size_t wanted = MANY;
    for (size_t i = 0; i < MANY; i++) {
        char name[32];
        json_t *body = configmap_body(dv_format(name, sizeof name, "many-%zu", i), "x");
        (void)json_object_set_new(json_object_get(json_object_get(body, "metadata"), "labels"), "test", json_string("many"));
        struct port_call call = {.verb = PORT_CREATE, .resource = configmap(NULL), .body = body};
        h->port->call(h->port->impl, 1000 + i, &call);
        json_decref(body);
    }
    assert_true(harness_wait(h, all_answered, &wanted, 60000));
    harness_forget(h);
    struct port_watch watch = {.resource = configmap(NULL), .label_selector = "test=many"};
    h->port->watch(h->port->impl, 1, &watch);
    assert_true(harness_expect(h, PORT_KUBE_SYNCED, 1, 1, NULL, 20000));
    assert_int_equal(harness_count(h, PORT_KUBE_ITEM, 1), MANY);
    harness_forget(h);
    for (size_t i = 0; i < MANY; i++) {
        char name[32];
        struct port_call call = {.verb = PORT_DELETE, .resource = configmap(dv_format(name, sizeof name, "many-%zu", i))};
        h->port->call(h->port->impl, 1000 + i, &call);
    }
    assert_true(harness_wait(h, all_answered, &wanted, 60000));
    assert_true(harness_expect(h, PORT_KUBE_GONE, 1, MANY, NULL, 10000));
    harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_conflicts),
        cmocka_unit_test(watch_sees_changes),
        cmocka_unit_test(one_object_comes_and_goes),
        cmocka_unit_test(many_are_listed_in_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

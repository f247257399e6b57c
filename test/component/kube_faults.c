/* Watches and logs through restarts of a real API server, and a CRD that comes late. Restarts the lab's API server. */
#include "../support/kube_objects.h"

#include "base/buf.h"

static void lab(const char *what, const char *part)
{
    char *command = dv_asprintf("test/lab/lab %s %s >/dev/null 2>&1", what, part);
    if (system(command) != 0)
        fail_msg("%s", command);
    free(command);
}

/* ---------------------------------------------------------------- watches */

static void watch_through_a_restart(void **state)
{
    (void)state;
    struct harness *h = opened();
    (void)deleted(h, configmap("before"));
    (void)deleted(h, configmap("after"));
    (void)created(h, configmap("before"), configmap_body("before", "x"));
    h->port->watch(h->port->impl, 1, &(struct port_watch){.resource = configmap(NULL), .label_selector = "test=yes"});
    h->port->watch(h->port->impl, 2, &(struct port_watch){.resource = configmap("before")});
    h->port->watch(h->port->impl, 3, &(struct port_watch){.resource = configmap("after")});
    for (port_id id = 1; id <= 3; id++)
        assert_true(harness_expect(h, PORT_KUBE_SYNCED, id, 1, NULL, 10000));
    harness_wait(h, NULL, NULL, 500);
    lab("kill", "kube-apiserver");
    for (port_id id = 1; id <= 3;
         id++) { /* each, before the start blocks us: a watch that only then finds its end goes on without a word */
        assert_true(harness_expect(h, PORT_KUBE_TROUBLE, id, 1, NULL, 15000));
        assert_int_equal(harness_last(h, PORT_KUBE_TROUBLE, id)->err.kind, DV_ERR_UNREACHABLE);
    }
    lab("start", "kube-apiserver");
    for (port_id id = 1; id <= 3; id++)
        assert_true(harness_expect(h, PORT_KUBE_SYNCED, id, 2, NULL, 120000));
    assert_int_equal(harness_count(h, PORT_KUBE_GONE, 0), 0);
    (void)created(h, configmap("after"), configmap_body("after", "x"));
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 1, 1, "after", 5000));
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 3, 1, "after", 5000));
    (void)deleted(h, configmap("before"));
    assert_true(harness_expect(h, PORT_KUBE_GONE, 2, 1, "before", 5000));
    assert_true(harness_expect(h, PORT_KUBE_GONE, 1, 1, "before", 5000));
    (void)deleted(h, configmap("after"));
    harness_free(h);
}

static struct port_resource crd(void)
{
    return (struct port_resource){
        .group = "apiextensions.k8s.io", .version = "v1", .plural = "customresourcedefinitions", .name = "widgets.late.example"};
}

static json_t *crd_version(const char *name, int storage)
{
    return json_pack("{s:s,s:b,s:b,s:{s:{s:s,s:b}},s:{s:{}}}", "name", name, "served", 1, "storage", storage, "schema", "openAPIV3Schema",
                     "type", "object", "x-kubernetes-preserve-unknown-fields", 1, "subresources", "status");
}

static json_t *crd_body(void)
{
    return json_pack("{s:s,s:s,s:{s:s},s:{s:s,s:s,s:{s:s,s:s,s:s},s:[o,o]}}", "apiVersion", "apiextensions.k8s.io/v1", "kind",
                     "CustomResourceDefinition", "metadata", "name", "widgets.late.example", "spec", "group", "late.example", "scope",
                     "Namespaced", "names", "plural", "widgets", "singular", "widget", "kind", "Widget", "versions",
                     crd_version("v1beta1", 0), crd_version("v1", 1));
}

static struct port_resource widget(const char *name, const char *subresource)
{
    return (struct port_resource){.group = "late.example", .plural = "widgets", .ns = NS, .name = name, .subresource = subresource};
}

static void crd_comes_late(void **state)
{
    (void)state;
    struct harness *h = opened();
    (void)deleted(h, crd());
    harness_wait(h, NULL, NULL, 1500);
    h->port->watch(h->port->impl, 1, &(struct port_watch){.resource = widget(NULL, NULL)});
    assert_true(harness_expect(h, PORT_KUBE_TROUBLE, 1, 1, NULL, 5000));
    assert_int_equal(harness_last(h, PORT_KUBE_TROUBLE, 1)->err.kind, DV_ERR_UNSUPPORTED);
    (void)created(h, crd(), crd_body());
    assert_true(harness_expect(h, PORT_KUBE_SYNCED, 1, 1, NULL, 15000));

    json_t *body = json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "late.example/v1", "kind", "Widget", "metadata", "name", "w");
    struct heard *answer = with_body(h, PORT_CREATE, widget("w", NULL), body);
    assert_int_equal(answer->err.kind, DV_ERR_NONE);
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 1, 1, "w", 5000));
    json_t *status = json_deep_copy(answer->json);
    (void)json_object_set_new(status, "status", json_pack("{s:s}", "phase", "done"));
    answer = with_body(h, PORT_REPLACE, widget("w", "status"), json_incref(status));
    assert_int_equal(answer->err.kind, DV_ERR_NONE);
    answer = with_body(h, PORT_REPLACE, widget("w", "status"), status); /* its resourceVersion is old now */
    assert_int_equal(answer->err.kind, DV_ERR_CONFLICT);
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 1, 2, "w", 5000));

    (void)deleted(h, crd());
    assert_true(harness_expect(h, PORT_KUBE_GONE, 1, 1, "w", 10000));
    assert_true(harness_expect(h, PORT_KUBE_TROUBLE, 1, 2, NULL, 20000));
    assert_int_equal(harness_last(h, PORT_KUBE_TROUBLE, 1)->err.kind, DV_ERR_UNSUPPORTED);
    harness_free(h);
}

/* ---------------------------------------------------------------- logs */

static struct port_resource pod(const char *name)
{
    return (struct port_resource){.group = "", .plural = "pods", .ns = NS, .name = name};
}

static bool pod_is_away(struct harness *h, void *arg)
{
    (void)arg;
    return harness_count(h, PORT_KUBE_SYNCED, 900) > 0 && harness_count(h, PORT_KUBE_ITEM, 900) == harness_count(h, PORT_KUBE_GONE, 900);
}

static void start_pod(struct harness *h, const char *name, const char *restart, const char *script)
{
    (void)harness_call(h, &(struct port_call){.verb = PORT_DELETE, .resource = pod(name)});
    h->port->watch(h->port->impl, 900, &(struct port_watch){.resource = pod(name)});
    assert_true(harness_wait(h, pod_is_away, NULL, 40000));
    h->port->watch_stop(h->port->impl, 900);
    json_t *body = json_pack("{s:s,s:s,s:{s:s,s:s},s:{s:s,s:i,s:[{s:s,s:s,s:[s,s,s]}]}}", "apiVersion", "v1", "kind", "Pod", "metadata",
                             "name", name, "namespace", NS, "spec", "restartPolicy", restart, "terminationGracePeriodSeconds", 1,
                             "containers", "name", "c", "image", "none", "command", "sh", "-c", script);
    (void)created(h, pod(name), body);
}

static char *all_lines(const struct harness *h, port_id id)
{
    struct dv_buf out = DV_BUF_INIT(1000000);
    for (size_t i = 0; i < h->count; i++)
        if (h->heard[i].kind == PORT_KUBE_LINES && h->heard[i].id == id)
            (void)dv_buf_addf(&out, "%s\n", h->heard[i].text);
    return dv_buf_take(&out);
}

static void log_to_its_end(void **state)
{
    (void)state;
    struct harness *h = opened();
    start_pod(h, "talks", "Never", "for i in 1 2 3 4 5; do echo line $i; sleep 0.2; done");
    h->port->log(h->port->impl, 1, &(struct port_log){.ns = NS, .pod = "talks", .container = "c"});
    assert_true(harness_expect(h, PORT_KUBE_LOG_END, 1, 1, NULL, 90000));
    char *lines = all_lines(h, 1);
    assert_string_equal(lines, "line 1\nline 2\nline 3\nline 4\nline 5\n");
    free(lines);
    (void)deleted(h, pod("talks"));
    harness_free(h);
}

static void log_through_a_restart(void **state)
{
    (void)state;
    struct harness *h = opened();
    struct dv_buf wanted = DV_BUF_INIT(100000);
    start_pod(h, "goes-on", "Never", "i=0; while [ $i -lt 120 ]; do i=$((i+1)); echo $i; sleep 0.1; done");
    h->port->log(h->port->impl, 1, &(struct port_log){.ns = NS, .pod = "goes-on", .container = "c"});
    assert_true(harness_expect(h, PORT_KUBE_LINES, 1, 10, NULL, 90000)); /* the node finds its way back after the restart before this one */
    lab("kill", "kube-apiserver");
    lab("start", "kube-apiserver");
    assert_true(harness_expect(h, PORT_KUBE_LOG_END, 1, 1, NULL, 120000));
    for (int i = 1; i <= 120; i++)
        (void)dv_buf_addf(&wanted, "%d\n", i);
    char *lines = all_lines(h, 1);
    assert_string_equal(lines, dv_buf_text(&wanted));
    free(lines);
    dv_buf_free(&wanted);
    (void)deleted(h, pod("goes-on"));
    harness_free(h);
}

static void log_of_the_life_before(void **state)
{
    (void)state;
    struct harness *h = opened();
    start_pod(h, "crashes", "Always", "echo about to crash; sleep 1; exit 3");
    h->port->log(h->port->impl, 1, &(struct port_log){.ns = NS, .pod = "crashes", .container = "c"});
    assert_true(harness_expect(h, PORT_KUBE_LOG_END, 1, 1, NULL, 90000));
    char *lines = all_lines(h, 1);
    assert_string_equal(lines, "about to crash\n");
    free(lines);
    for (port_id id = 10; harness_count(h, PORT_KUBE_LINES, id - 1) == 0 && id < 40; id++) {
        harness_wait(h, NULL, NULL, 500);
        h->port->log(h->port->impl, id, &(struct port_log){.ns = NS, .pod = "crashes", .container = "c", .previous = true});
        assert_true(harness_expect(h, PORT_KUBE_LOG_END, id, 1, NULL, 10000));
    }
    assert_non_null(strstr(harness_last(h, PORT_KUBE_LINES, 0)->text, "about to crash"));
    (void)deleted(h, pod("crashes"));
    h->port->log(h->port->impl, 50, &(struct port_log){.ns = NS, .pod = "absent", .container = "c"});
    assert_true(harness_expect(h, PORT_KUBE_LOG_END, 50, 1, NULL, 10000));
    harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_to_its_end),          cmocka_unit_test(log_of_the_life_before), cmocka_unit_test(crd_comes_late),
        cmocka_unit_test(watch_through_a_restart), cmocka_unit_test(log_through_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

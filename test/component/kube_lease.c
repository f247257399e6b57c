/* The Lease against a real API server, with two who want it. Stops the lab's API server for half a minute. */
#include "../support/kube_objects.h"

struct candidate {
    struct harness *h;
    const char *identity;
    int acquired, lost, stopped;
    struct dv_err err;
    char *holder;
    int64_t acquired_ms, lost_ms;
};

static void on_acquired(void *arg)
{
    struct candidate *c = arg;
    c->acquired++;
    c->acquired_ms = dv_clock_now().mono_ms;
}

static void on_lost(void *arg, const struct dv_err *err)
{
    struct candidate *c = arg;
    c->lost++;
    c->err = *err;
    c->lost_ms = dv_clock_now().mono_ms;
}

static void on_waiting(void *arg, const char *holder, const struct dv_err *err)
{
    struct candidate *c = arg;
    (void)err;
    free(c->holder);
    c->holder = dv_strdup(holder);
}

static void on_stopped(void *arg)
{
    ((struct candidate *)arg)->stopped++;
}

static struct port_resource lease(const char *name)
{
    return (struct port_resource){.group = "coordination.k8s.io", .plural = "leases", .ns = NS, .name = name};
}

static void run_for(struct candidate *c, const char *name, const char *identity)
{
    c->identity = identity;
    c->err = DV_ERR_INIT;
    kube_lease_start(c->h->kube, &(struct kube_lease_options){.ns = NS,
                                                              .name = name,
                                                              .identity = identity,
                                                              .on_acquired = on_acquired,
                                                              .on_lost = on_lost,
                                                              .on_waiting = on_waiting,
                                                              .arg = c});
}

static bool one_is(struct harness *h, void *arg)
{
    (void)h;
    return *(int *)arg > 0;
}

static bool has_holder(struct harness *h, void *arg)
{
    (void)h;
    return ((struct candidate *)arg)->holder != NULL;
}

/* The second one on the loop of the first. */
static struct kube *second_kube(struct harness *h)
{
    struct dv_err err = DV_ERR_INIT;
    struct kube *kube =
        kube_new(h->loop, &(struct kube_options){.kubeconfig = lab_env("KUBECONFIG"), .user_agent = "second/0"}, harness_sink, h, &err);
    assert_non_null(kube);
    return kube;
}

static void handed_over(void **state)
{
    (void)state;
    struct harness *h = opened();
    struct harness other = {.kube = second_kube(h)};
    struct candidate a = {.h = h};
    struct candidate b = {.h = &other};
    (void)deleted(h, lease("handed"));
    assert_true(h->port->lease_left_ms(h->port->impl) == INT64_MAX);
    run_for(&a, "handed", "a");
    assert_int_equal(h->port->lease_left_ms(h->port->impl), 0);
    assert_true(harness_wait(h, one_is, &a.acquired, 5000));
    assert_in_range(h->port->lease_left_ms(h->port->impl), 14000, 15000);
    run_for(&b, "handed", "b");
    assert_true(harness_wait(h, has_holder, &b, 5000));
    assert_string_equal(b.holder, "a");
    harness_wait(h, NULL, NULL, 5000);
    assert_in_range(h->port->lease_left_ms(h->port->impl), 12500, 15000); /* renewed meanwhile */
    const json_t *spec = json_object_get(harness_call(h, &(struct port_call){.verb = PORT_GET, .resource = lease("handed")})->json, "spec");
    assert_int_equal(strlen(json_string_value(json_object_get(spec, "renewTime"))), 27); /* six digits */
    assert_int_equal(json_integer_value(json_object_get(spec, "leaseDurationSeconds")), 15);
    assert_int_equal(b.acquired, 0);

    kube_lease_stop(h->kube, on_stopped, &a);
    assert_int_equal(h->port->lease_left_ms(h->port->impl), 0);
    assert_true(harness_wait(h, one_is, &a.stopped, 3500));
    assert_true(harness_wait(h, one_is, &b.acquired, 4000)); /* need not wait for its end */
    assert_int_equal(a.lost, 0);
    spec = json_object_get(harness_call(h, &(struct port_call){.verb = PORT_GET, .resource = lease("handed")})->json, "spec");
    assert_string_equal(json_string_value(json_object_get(spec, "holderIdentity")), "b");
    assert_int_equal(json_integer_value(json_object_get(spec, "leaseTransitions")), 1);
    kube_free(other.kube);
    free(b.holder);
    harness_free(h);
}

static void taken_after_a_crash(void **state)
{
    (void)state;
    struct harness *h = opened();
    struct harness other = {.kube = second_kube(h)};
    struct candidate a = {.h = &other};
    struct candidate b = {.h = h};
    (void)deleted(h, lease("crash"));
    run_for(&a, "crash", "a");
    assert_true(harness_wait(h, one_is, &a.acquired, 5000));
    kube_free(other.kube); /* no release */
    int64_t crashed = dv_clock_now().mono_ms;
    run_for(&b, "crash", "b");
    assert_true(harness_wait(h, one_is, &b.acquired, 22000));
    assert_in_range(b.acquired_ms - crashed, 14900, 19000);
    assert_string_equal(b.holder, "a");
    free(b.holder);
    harness_free(h);
}

static void taken_by_force(void **state)
{
    (void)state;
    struct harness *h = opened();
    struct candidate a = {.h = h};
    (void)deleted(h, lease("force"));
    run_for(&a, "force", "a");
    assert_true(harness_wait(h, one_is, &a.acquired, 5000));
    struct heard *answer = with_body(h, PORT_MERGE_PATCH, lease("force"), json_pack("{s:{s:s}}", "spec", "holderIdentity", "thief"));
    assert_int_equal(answer->err.kind, DV_ERR_NONE);
    assert_true(harness_wait(h, one_is, &a.lost, 5000));
    assert_int_equal(a.err.kind, DV_ERR_CONFLICT);
    assert_non_null(strstr(a.err.text, "thief"));
    assert_int_equal(h->port->lease_left_ms(h->port->impl), 0);
    harness_free(h);
}

static void lab(const char *what, const char *part)
{
    char *command = dv_asprintf("test/lab/lab %s %s >/dev/null 2>&1", what, part);
    if (system(command) != 0)
        fail_msg("%s", command);
    free(command);
}

static void lost_when_the_server_hangs(void **state)
{
    (void)state;
    struct harness *h = opened();
    struct candidate a = {.h = h};
    (void)deleted(h, lease("hang"));
    run_for(&a, "hang", "a");
    assert_true(harness_wait(h, one_is, &a.acquired, 5000));
    harness_wait(h, NULL, NULL, 3000);
    lab("stop", "kube-apiserver");
    int64_t stopped = dv_clock_now().mono_ms;
    harness_wait(h, NULL, NULL, 500); /* a thread on a busy machine stops a moment after its signal: it would still answer */
    h->port->call(h->port->impl, 7, &(struct port_call){.verb = PORT_GET, .resource = lease("hang")});
    bool lost = harness_wait(h, one_is, &a.lost, 13000);
    bool answered = harness_expect(h, PORT_KUBE_ANSWER, 7, 1, NULL, 33000);
    lab("cont", "kube-apiserver");
    assert_true(lost);
    assert_int_equal(a.err.kind, DV_ERR_TIMEOUT);
    assert_in_range(a.lost_ms - stopped, 7500, 11000);
    assert_true(answered);
    assert_int_equal(harness_last(h, PORT_KUBE_ANSWER, 7)->err.kind, DV_ERR_TIMEOUT);
    harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handed_over),
        cmocka_unit_test(taken_after_a_crash),
        cmocka_unit_test(taken_by_force),
        cmocka_unit_test(lost_when_the_server_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support/controller_rig.h"

/* Logs of the Kafka Connect pods: what is read again when the spec allows other lines, and how long a warning may go on. */

#define ODD "2026-03-02 10:00:00,000 ERROR [dc1-md|task-0] Something odd happened (org.example.Thing) [worker]"
#define ALLOW_ODD "[\"Something odd\"]"

static void pod_told(struct rig *rig, enum port_kube_event_kind kind, const char *name, int restarts)
{
    json_t *pod =
        json_pack("{s:{s:s, s:s, s:{s:s, s:s}}, s:{s:s, s:[{s:s, s:s}], s:[{s:s, s:i}]}}", "metadata", "name", name, "uid", name, "labels",
                  "strimzi.io/kind", "KafkaConnect", "strimzi.io/cluster", "dc1-distributor", "status", "phase", "Running", "conditions",
                  "type", "Ready", "status", "True", "containerStatuses", "name", "dc1-distributor-connect", "restartCount", restarts);
    rig_tell(rig,
             (struct port_kube_event){.kind = kind, .id = rig->entry->side[MODEL_A].watch_pods, .json = pod, .ns = "kafka", .name = name});
    json_decref(pod);
    rig_settle(rig);
}

/* The i-th log that was followed has these lines, and then is quiet. */
static void logged(struct rig *rig, size_t i, const char *text)
{
    assert_false(rig->logs[i].stopped);
    rig_tell(rig, (struct port_kube_event){.kind = PORT_KUBE_LINES, .id = rig->logs[i].id, .text = text, .len = strlen(text)});
    rig->now_ms += 500;
    rig_settle(rig);
}

static size_t dirty(const struct rig *rig)
{
    const struct ctl_side *facts = &rig->entry->side[MODEL_A];
    size_t count = 0;
    for (size_t i = 0; i < facts->finding_count; i++)
        count += facts->scratch_dirty[i];
    return count;
}

/* ---------------------------------------------------------------- checks.logs.allow */

static void assert_read_again(const struct rig *rig, size_t old, size_t new)
{
    assert_true(rig->logs[old].stopped);
    assert_int_equal(rig->log_count, new + 1);
    assert_false(rig->logs[new].stopped || rig->logs[new].previous);
    assert_int_equal(rig->logs[new].since_ms, rig->logs[old].since_ms);
    assert_string_equal(rig->logs[new].pod, rig->logs[old].pod);
    assert_int_equal(rig->entry->side[MODEL_A].stamp[VF_LOGS].as_of_ms, 0);
}

static void another_allow_list_judges_what_was_read(void **state)
{
    struct rig *rig = *state;
    char run[16];
    rig_settle(rig);
    pod_told(rig, PORT_KUBE_ITEM, "pod-1", 0);
    assert_int_equal(rig->log_count, 1);
    logged(rig, 0, ODD);
    assert_int_equal(dirty(rig), 1);
    (void)dv_strlcpy(run, rig->entry->status.run.id, sizeof run);

    rig_edit(rig, "checks.logs.allow", ALLOW_ODD);
    assert_read_again(rig, 0, 1);
    logged(rig, 1, ODD);
    assert_int_equal(dirty(rig), 0);

    rig_edit(rig, "deadlines.stage", "\"20m\"");
    rig_settle(rig);
    assert_int_equal(rig->log_count, 2); /* another field: nothing is read again */

    rig_edit(rig, "checks.logs.allow", "[\"something else\"]");
    assert_read_again(rig, 1, 2);
    logged(rig, 2, ODD);
    assert_int_equal(dirty(rig), 1);
    assert_string_equal(rig->entry->status.run.id, run);
}

static size_t followed(const struct rig *rig, bool previous)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->log_count; i++)
        count += !rig->logs[i].stopped && rig->logs[i].previous == previous;
    return count;
}

static void a_life_before_is_read_again_and_a_pod_that_is_gone_is_not(void **state)
{
    struct rig *rig = *state;
    rig_settle(rig);
    pod_told(rig, PORT_KUBE_ITEM, "gone", 0);
    logged(rig, 0, ODD);
    pod_told(rig, PORT_KUBE_GONE, "gone", 0);
    pod_told(rig, PORT_KUBE_ITEM, "pod-1", 0);
    logged(rig, 1, ODD);
    pod_told(rig, PORT_KUBE_ITEM, "pod-1", 1);
    assert_int_equal(rig->log_count, 4);
    assert_true(rig->logs[2].previous && !rig->logs[3].previous);
    logged(rig, 2, ODD);
    logged(rig, 3, ODD);
    assert_int_equal(dirty(rig), 4);

    rig_edit(rig, "checks.logs.allow", ALLOW_ODD);
    assert_int_equal(rig->log_count, 6);
    assert_int_equal(followed(rig, true), 1);
    assert_int_equal(followed(rig, false), 2);
    assert_false(rig->logs[0].stopped);
    logged(rig, 4, ODD);
    logged(rig, 5, ODD);
    assert_int_equal(dirty(rig), 1);
    assert_string_equal(rig->entry->side[MODEL_A].scratch_findings[0].pod, "gone");
    pod_told(rig, PORT_KUBE_ITEM, "pod-1", 2); /* the next life is followed as ever */
    assert_int_equal(followed(rig, true), 2);
    assert_int_equal(followed(rig, false), 3);
}

/* ---------------------------------------------------------------- arrival */

static void connect_told(struct rig *rig, enum model_side side, int flush_ms)
{
    const char *name = side == MODEL_A ? "dc1-distributor" : "dc2-distributor";
    json_t *connect = json_pack("{s:{s:s, s:s}, s:{s:{s:i}}}", "metadata", "name", name, "uid", name, "spec", "config",
                                "offset.flush.interval.ms", flush_ms);
    if (flush_ms > 0)
        rig_tell(rig,
                 (struct port_kube_event){
                     .kind = PORT_KUBE_ITEM, .id = rig->entry->side[side].watch_connect, .json = connect, .ns = "kafka", .name = name});
    json_decref(connect);
}

static char *warned(int at_s)
{
    return dv_asprintf("2024-04-27 13:%02d:%02d,000 WARN [Producer clientId=p-1] Error while fetching metadata with correlation id 0 : "
                       "{stamps=UNKNOWN_TOPIC_OR_PARTITION} (org.apache.kafka.clients.NetworkClient) [n]",
                       at_s / 60, at_s % 60);
}

/* The commit interval of the spec, else the longer one of the KafkaConnects, else 60 s; that and 30 s. */
static void a_warning_may_go_on_for_arrival(void **state)
{
    static const struct {
        const char *at, *value; /* in the spec */
        int flush_ms[MODEL_SIDES];
        int seconds;
        bool dirty;
    } rows[] = {
        {NULL, NULL, {0, 0}, 60, false},
        {NULL, NULL, {0, 0}, 100, true},
        {NULL, NULL, {5000, 5000}, 30, false},
        {NULL, NULL, {5000, 5000}, 60, true},
        {NULL, NULL, {5000, 60000}, 60, false},
        {NULL, NULL, {5000, 120000}, 100, false},
        {"checks.commitInterval", "\"2m\"", {5000, 5000}, 100, false},
        {"checks.arrival", "\"40s\"", {0, 0}, 60, true},
        {"checks.arrival", "\"2m\"", {5000, 5000}, 100, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *own = NULL;
        (void)rig_begin(&own);
        struct rig *rig = own;
        DV_CLEANUP_FREE char *first = warned(10);
        DV_CLEANUP_FREE char *last = warned(10 + rows[i].seconds);
        if (rows[i].at != NULL)
            rig_edit(rig, rows[i].at, rows[i].value);
        rig_settle(rig);
        connect_told(rig, MODEL_A, rows[i].flush_ms[MODEL_A]);
        connect_told(rig, MODEL_B, rows[i].flush_ms[MODEL_B]);
        pod_told(rig, PORT_KUBE_ITEM, "pod-1", 0);
        logged(rig, 0, first);
        logged(rig, 0, last);
        assert_int_equal(rig->entry->side[MODEL_A].finding_count, 1);
        if (dirty(rig) != rows[i].dirty)
            fail_msg("row %zu is %s", i, rows[i].dirty ? "clean" : "dirty");
        (void)rig_end(&own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_allow_list_judges_what_was_read, rig_begin, rig_end),
        cmocka_unit_test_setup_teardown(a_life_before_is_read_again_and_a_pod_that_is_gone_is_not, rig_begin, rig_end),
        cmocka_unit_test(a_warning_may_go_on_for_arrival),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

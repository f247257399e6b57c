#include "../support/scene.h"

/* Rows that apply in every step: access, values, connectors, rights, logs, groups, deadlines. */

#define ARRIVAL 35000
#define RECONCILE 120000

static struct fact_connector *md(struct scene *scene)
{
    return &scene->side[MODEL_A].connector[MODEL_MD];
}

/* Old enough that findings about rights count. */
static void grown_old(struct scene *scene)
{
    scene->memory.progress_ms = scene->s.now.mono_ms + ARRIVAL;
    scene_later(scene, ARRIVAL);
}

/* ---------------------------------------------------------------- access */

static void secret(struct scene *scene)
{
    scene_fail(scene, MODEL_B, VF_TEST_LOG, DV_ERR_SECRET);
}

static void credentials(struct scene *scene)
{
    scene_fail(scene, MODEL_A, VF_MD_COMMITS, DV_ERR_AUTH);
}

static void certificate(struct scene *scene)
{
    scene_fail(scene, MODEL_A, VF_VALUES, DV_ERR_CERT);
}

static void denied(struct scene *scene)
{
    scene_fail(scene, MODEL_B, VF_GROUPS, DV_ERR_DENIED);
}

static void denied_and_healed(struct scene *scene)
{
    denied(scene);
    scene->s.side[MODEL_B].stamp[VF_GROUPS].as_of_ms = scene->s.now.mono_ms + 1;
}

/* As an API server does that was just started: what it allowed before it refuses until it knows its rules. */
static void watch_refused(struct scene *scene)
{
    struct verify_stamp *stamp = &scene->s.side[MODEL_B].stamp[VF_CONNECTORS];
    scene_fail(scene, MODEL_B, VF_CONNECTORS, DV_ERR_DENIED);
    stamp->as_of_ms = 1;
    stamp->failed_ms = scene->s.now.mono_ms - 29999;
}

static void watch_refused_for_good(struct scene *scene)
{
    watch_refused(scene);
    scene->s.side[MODEL_B].stamp[VF_CONNECTORS].failed_ms -= 1;
}

static void watch_refused_from_the_start(struct scene *scene)
{
    watch_refused(scene);
    scene->s.side[MODEL_B].stamp[VF_CONNECTORS].as_of_ms = 0;
}

static void watch_unauthorized(struct scene *scene)
{
    watch_refused(scene);
    scene->s.side[MODEL_B].stamp[VF_CONNECTORS].err.kind = DV_ERR_AUTH;
}

static void unreachable(struct scene *scene)
{
    scene_fail(scene, MODEL_B, VF_TEST_LOG, DV_ERR_UNREACHABLE);
}

static void no_progress(struct scene *scene)
{
    scene->memory.best_commit = 1000;
    scene->memory.progress_ms = scene->s.now.mono_ms - scene->spec->stage_deadline_ms;
}

static void unreachable_for_too_long(struct scene *scene)
{
    no_progress(scene);
    unreachable(scene);
}

static void silent_for_too_long(struct scene *scene)
{
    no_progress(scene);
    scene_fail(scene, MODEL_A, VF_TEST_LOG, DV_ERR_TIMEOUT);
}

static void pod_down_for_too_long(struct scene *scene)
{
    no_progress(scene);
    scene->side[MODEL_A].pod.ready = false;
    scene->side[MODEL_A].pod.waiting = (char *)(uintptr_t) "CrashLoopBackOff";
    scene->s.side[MODEL_A].stamp[VF_MD_COMMITS].as_of_ms = 1;
}

static void run_over(struct scene *scene)
{
    scene->status.run.started_ms = scene->s.now.wall_ms - scene->spec->run_deadline_ms;
    scene->side[MODEL_A].groups[MODEL_MD].state = FACT_GROUP_REBALANCING;
}

static void run_over_while_waiting(struct scene *scene)
{
    size_t batch = scene_batch(scene, MODEL_A, STAGE_MESSAGES_A_TO_B, 3);
    scene_see(scene, batch, MODEL_A, 100, NULL);
    run_over(scene);
}

/* Waiting for records: nothing moves, nothing is late. */
#define WAITS STAGE_MESSAGES_A_TO_B, "Arrive"
#define ON STAGE_MESSAGES_A_TO_B, "On"

static const struct scene_case access_rows[] = {
    {"nothing", WAITS, NULL, WANT_STEP, REASON_None, "Arrive"},
    {"secret", WAITS, secret, WANT_ERROR, REASON_SecretNotFound, "dc2: log end of the test topic went wrong"},
    {"credentials", WAITS, credentials, WANT_ERROR, REASON_AuthenticationFailed, "dc1: "},
    {"certificate", WAITS, certificate, WANT_ERROR, REASON_CertificateInvalid, "dc1: "},
    {"denied", WAITS, denied, WANT_ERROR, REASON_PermissionMissing, "dc2: description of the consumer groups"},
    {"denied, healed", WAITS, denied_and_healed, WANT_STEP, REASON_None, "Arrive"},
    {"watch refused", WAITS, watch_refused, WANT_STEP, REASON_None, "Arrive"},
    {"watch refused for good", WAITS, watch_refused_for_good, WANT_ERROR, REASON_PermissionMissing, "dc2: "},
    {"watch refused from the start", WAITS, watch_refused_from_the_start, WANT_ERROR, REASON_PermissionMissing, "dc2: "},
    {"watch unauthorized", WAITS, watch_unauthorized, WANT_STEP, REASON_None, "Arrive"},
    {"out of reach", WAITS, unreachable, WANT_STEP, REASON_None, "Arrive"},
    {"out of reach for too long", WAITS, unreachable_for_too_long, WANT_ERROR, REASON_ClusterUnreachable, "dc2"},
    {"no answer for too long", WAITS, silent_for_too_long, WANT_ERROR, REASON_ClusterUnreachable, "dc1"},
    {"pod down", STAGE_LAG_DRAINED, "Drain", pod_down_for_too_long, WANT_ERROR, REASON_ConnectNotReady,
     "pod-0 is not ready (CrashLoopBackOff)"},
    {"run over", ON, run_over, WANT_ERROR, REASON_RunDeadlineExceeded, "connect-md of KafkaConnector"},
    {"run over, in the middle", WAITS, run_over_while_waiting, WANT_ERROR, REASON_RunDeadlineExceeded,
     "a record produced on dc1 to arrive on dc2 (partition 0)"},
};

static void access_is_told_apart(void **state)
{
    (void)state;
    SCENE_RUN_CASES(access_rows);
}

/* ---------------------------------------------------------------- values */

static void values_gone_now(struct scene *scene)
{
    scene->side[MODEL_B].values.found = scene->side[MODEL_B].values.key_found = false;
}

static void values_gone_for_good(struct scene *scene)
{
    values_gone_now(scene);
    scene->memory.values_gone_ms[MODEL_B] = scene->s.now.mono_ms - 30000;
}

static void key_gone(struct scene *scene)
{
    scene->side[MODEL_A].values.key_found = false;
    scene->memory.values_gone_ms[MODEL_A] = scene->s.now.mono_ms - 30000;
}

/* What is at the end of a stage must not pass without values. */
static void values_gone_at_the_end(struct scene *scene)
{
    values_gone_now(scene);
    scene->memory.reread_ms = scene->s.now.mono_ms - 1000;
}

static void unreadable(struct scene *scene)
{
    scene->side[MODEL_A].values.readable = false;
    (void)dv_err_set(&scene->side[MODEL_A].values.why, DV_ERR_INVALID, "line 3: what is this");
}

static void immutable(struct scene *scene)
{
    scene->side[MODEL_B].values.immutable = true;
}

static void unsettable(struct scene *scene)
{
    scene->side[MODEL_B].values.settable = false;
    (void)dv_err_set(&scene->side[MODEL_B].values.why, DV_ERR_INVALID, "switch init: is a text");
}

static void changed(struct scene *scene)
{
    scene->side[MODEL_A].values.declared[MODEL_SW_OC] = VERIFY_ON;
    (void)dv_strlcpy(scene->side[MODEL_A].values.manager, "kubectl-edit", sizeof scene->side[MODEL_A].values.manager);
}

static void reverted(struct scene *scene)
{
    for (int i = 0; i < MODEL_SWITCHES; i++)
        scene->side[MODEL_A].values.declared[i] = VERIFY_OFF;
}

static void changed_by_our_open_patch(struct scene *scene)
{
    changed(scene);
    scene->status.run.intent = (struct model_intent){.kind = INTENT_VALUES, .side = MODEL_A, .id = "1"};
    (void)dv_strlcpy(scene->memory.effect_id, "1", sizeof scene->memory.effect_id);
    scene->memory.effect = EFFECT_ASKED;
}

static void absent_switch(struct scene *scene)
{
    scene->side[MODEL_A].values.declared[MODEL_SW_OD] = VERIFY_ABSENT;
}

static void principal_gone(struct scene *scene)
{
    scene->side[MODEL_A].values.principal_count = 1; /* its own alone */
    (void)dv_strlcpy(scene->side[MODEL_A].values.manager, "argocd", sizeof scene->side[MODEL_A].values.manager);
}

static void principals_unreadable_now(struct scene *scene)
{
    scene->side[MODEL_B].values.principals_readable = false;
    scene->side[MODEL_B].values.principal_count = 0;
}

static void own_principal_gone(struct scene *scene)
{
    scene->side[MODEL_A].principals[0] = scene->side[MODEL_A].principals[1];
}

/* Nothing has been written there yet: InitB judges it. */
static void principal_not_there_yet(struct scene *scene)
{
    scene->side[MODEL_B].principals[0] = scene->side[MODEL_B].principals[1];
}

static const struct scene_case values[] = {
    {"gone for a moment", WAITS, values_gone_now, WANT_STEP, REASON_None, "Arrive"},
    {"gone for a moment, at the end", STAGE_PERSISTED, "Done", values_gone_at_the_end, WANT_STEP, REASON_None, "Done"},
    {"gone, in Preflight", STAGE_PREFLIGHT, "Look", values_gone_now, WANT_ERROR, REASON_ValuesNotFound, NULL},
    {"gone", WAITS, values_gone_for_good, WANT_ERROR, REASON_ValuesNotFound,
     "dc2: ConfigMap kafka/dc2-values with the Distributor's values does not"},
    {"key gone", WAITS, key_gone, WANT_ERROR, REASON_ValuesNotFound, "has no key values.yaml"},
    {"unreadable", WAITS, unreadable, WANT_ERROR, REASON_ValuesInvalid, "line 3: what is this"},
    {"immutable", STAGE_PREFLIGHT, "Look", immutable, WANT_ERROR, REASON_ValuesInvalid,
     "dc2: ConfigMap kafka/dc2-values is immutable; make it anew"},
    {"unsettable", WAITS, unsettable, WANT_ERROR, REASON_ValuesInvalid, "switch init: is a text"},
    {"changed", WAITS, changed, WANT_FAILED, REASON_ValuesChanged, "switch offsetCommitter in ConfigMap kafka/dc1-values was changed"},
    {"changed by whom", WAITS, changed, WANT_FAILED, REASON_ValuesChanged, "\"kubectl-edit\""},
    {"reverted", WAITS, reverted, WANT_FAILED, REASON_ValuesReverted, "dc1: switch distribution"},
    {"our own patch is open", WAITS, changed_by_our_open_patch, WANT_STEP, REASON_None, "Arrive"},
    {"a principal went away", WAITS, principal_gone, WANT_FAILED, REASON_ValuesChanged,
     "dc1: init.principals no longer lists User:CN=dist-dc2,OU=x, changed by field manager \"argocd\" in ConfigMap kafka/dc1-values"},
    {"a principal went away, in the end", STAGE_PERSISTED, "Done", principal_gone, WANT_FAILED, REASON_ValuesChanged, "no longer lists"},
    {"the principals are no list", WAITS, principals_unreadable_now, WANT_FAILED, REASON_ValuesChanged, "dc2: init.principals"},
    {"its own principal went away", WAITS, own_principal_gone, WANT_STEP, REASON_None, "Arrive"},
    {"a principal is not there yet", STAGE_INIT_A, "Connect", principal_not_there_yet, WANT_STEP, REASON_None, "Quiet"},
    {"a switch went away", WAITS, absent_switch, WANT_FAILED, REASON_ValuesChanged, "switch offsetDistributor"},
};

static void values_are_held(void **state)
{
    (void)state;
    SCENE_RUN_CASES(values);
}

/* What others did between two runs is no matter of this one. */
static void changes_before_the_run_do_not_count(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_PREFLIGHT, "Look");
    scene_left(scene, MODEL_A, "11111");
    scene_declare(scene, MODEL_A, "00000");
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.stages[STAGE_PREFLIGHT].state, STATE_PASSED);
    scene_free(scene);
}

/* ---------------------------------------------------------------- connectors */

static void stranger(struct scene *scene)
{
    scene->side[MODEL_A].there[MODEL_CONNECTORS] = true;
}

static void stopped_stranger(struct scene *scene)
{
    stranger(scene);
    scene->side[MODEL_A].connector[MODEL_CONNECTORS].state = FACT_STATE_STOPPED;
}

static void leaving_stranger(struct scene *scene)
{
    stranger(scene);
    scene->side[MODEL_A].connector[MODEL_CONNECTORS].deleting = true;
}

static void connector_down(struct scene *scene)
{
    scene->side[MODEL_A].health[MODEL_MD] = VERIFY_FAILED;
    md(scene)->state = FACT_STATE_FAILED;
}

static void unwanted_connector_down(struct scene *scene)
{
    scene->side[MODEL_B].there[MODEL_OD] = true;
    scene->side[MODEL_B].health[MODEL_OD] = VERIFY_FAILED;
}

static void task_down(struct scene *scene)
{
    scene->side[MODEL_A].health[MODEL_MD] = VERIFY_FAILED;
    md(scene)->tasks_failed = 1;
    md(scene)->tasks_running = 0;
    md(scene)->first_failed_task = 0;
    (void)dv_strlcpy(md(scene)->cause, "java.lang.Oops", sizeof md(scene)->cause);
}

static void plugin_gone(struct scene *scene)
{
    connector_down(scene);
    md(scene)->plugin_missing = true;
}

static void restarted_automatically(struct scene *scene)
{
    grown_old(scene);
    scene->memory.restarts_known[MODEL_A][MODEL_MD] = true;
    md(scene)->auto_restarts = 1;
}

static void restarts_from_before(struct scene *scene)
{
    grown_old(scene);
    md(scene)->auto_restarts = 5;
}

static void task_refused_young(struct scene *scene)
{
    task_down(scene);
    md(scene)->authorization = true;
}

static void task_refused(struct scene *scene)
{
    task_refused_young(scene);
    grown_old(scene);
}

static void task_refused_other_path(struct scene *scene)
{
    struct model_path *path = &scene->spec->cluster[MODEL_B].distributor.principals_path;
    task_refused(scene);
    free(path->keys[0]);
    path->keys[0] = dv_strdup("grants");
}

static void task_refused_group(struct scene *scene)
{
    task_refused(scene);
    scene->s.side[MODEL_A].read_group[MODEL_MD] = (struct verify_right){.principal = "User:CN=dist-dc1,OU=x"};
}

static void task_refused_write(struct scene *scene)
{
    task_refused(scene);
    scene->s.side[MODEL_B].write_test = (struct verify_right){.principal = "User:CN=dist-dc1,OU=x"};
}

static void task_refused_by_a_rule(struct scene *scene)
{
    task_refused_write(scene);
    scene->s.side[MODEL_B].write_test.denied = true;
}

/* The values were written long ago, and took effect only now. */
static void task_refused_applied_late(struct scene *scene)
{
    task_refused(scene);
    md(scene)->created_ms = scene->s.now.wall_ms - 1000;
}

/* By a clock that is ahead: as if it came just now. */
static void task_refused_applied_in_the_future(struct scene *scene)
{
    task_refused(scene);
    md(scene)->created_ms = scene->s.now.wall_ms + 3600000;
}

static void task_refused_while_the_job_runs(struct scene *scene)
{
    task_refused(scene);
    scene->side[MODEL_A].job = (struct fact_job){.name = (char *)(uintptr_t) "init-2", .created_ms = scene->s.now.wall_ms, .matches = true};
    scene->s.side[MODEL_A].job_count = 1;
}

static void task_refused_restarting(struct scene *scene)
{
    task_refused(scene);
    md(scene)->auto_restart_on = true;
}

/* The operator's round began in time, its restart shows a moment later. */
static void task_refused_at_the_round(struct scene *scene)
{
    task_refused_restarting(scene);
    scene->memory.progress_ms += RECONCILE;
    scene_later(scene, RECONCILE);
}

static void task_refused_restarted(struct scene *scene)
{
    task_refused_restarting(scene);
    scene->memory.progress_ms += RECONCILE + 30000;
    scene_later(scene, RECONCILE + 30000);
}

static int64_t rights_given(const struct scene *scene)
{
    return scene->memory.stage_since_ms + verify_arrival_ms(&scene->s);
}

/* The last restart came before the rights; the next one is not due yet, or its round has not ended. */
static void restarted_in_vain(struct scene *scene)
{
    task_refused_restarted(scene);
    int64_t to_wall = scene->s.now.wall_ms - scene->s.now.mono_ms;
    md(scene)->restarted_ms = rights_given(scene) - 1000 + to_wall;
    md(scene)->restart_due_ms = scene->s.now.wall_ms - 1000;
}

/* And then it came: the count that rose is no failure. */
static void restarted_in_time(struct scene *scene)
{
    restarted_automatically(scene);
    scene->memory.progress_ms += RECONCILE + 30000;
    scene_later(scene, RECONCILE + 30000);
    md(scene)->auto_restart_on = true;
    md(scene)->restarted_ms = scene->s.now.wall_ms;
    md(scene)->restart_due_ms = scene->s.now.wall_ms + 360000;
    scene->memory.rights_given_ms[MODEL_A] = rights_given(scene);
    scene->memory.rights_due_ms[MODEL_A] = scene->s.now.mono_ms + 1;
}

/* The status says so an operator's round later. */
static void restarted_in_time_shown_late(struct scene *scene)
{
    restarted_in_time(scene);
    scene_later(scene, RECONCILE);
    scene->memory.progress_ms += RECONCILE;
}

static void restarted_too_late(struct scene *scene)
{
    restarted_in_time(scene);
    scene_later(scene, 2);
    md(scene)->restarted_ms = scene->s.now.wall_ms;
}

static const struct scene_case connectors[] = {
    {"stranger", WAITS, stranger, WANT_FAILED, REASON_UnexpectedConnectorRunning, "KafkaConnector kafka/stranger"},
    {"stopped stranger", WAITS, stopped_stranger, WANT_STEP, REASON_None, "Arrive"},
    {"leaving stranger", WAITS, leaving_stranger, WANT_STEP, REASON_None, "Arrive"},
    {"connector down", WAITS, connector_down, WANT_FAILED, REASON_ConnectorFailed, "Message Distributor of dc1 (KafkaConnector dc1-md)"},
    {"one that is not wanted", WAITS, unwanted_connector_down, WANT_STEP, REASON_None, "Arrive"},
    {"task down", WAITS, task_down, WANT_FAILED, REASON_TaskFailed,
     "task 0 of the Message Distributor of dc1 (KafkaConnector dc1-md) failed: java.lang.Oops"},
    {"plugin", WAITS, plugin_gone, WANT_FAILED, REASON_PluginMissing, "class io.example.Sink is not in"},
    {"restarted automatically", WAITS, restarted_automatically, WANT_FAILED, REASON_TaskFailed, "restarted automatically 1 times"},
    {"restarts from before", WAITS, restarts_from_before, WANT_STEP, REASON_None, "Arrive"},
    {"refused, too early", WAITS, task_refused_young, WANT_STEP, REASON_None, "Arrive"},
    {"refused, undecidable", WAITS, task_refused, WANT_FAILED, REASON_AclMissing, "init.principals of dc1 (its own group) and of dc2"},
    {"refused, a path for each", WAITS, task_refused_other_path, WANT_FAILED, REASON_AclMissing,
     "check init.principals of dc1 (its own group) and grants.principals of dc2 (what it writes)"},
    {"refused its group", WAITS, task_refused_group, WANT_FAILED, REASON_AclMissing,
     "User:CN=dist-dc1,OU=x lacks Read on group connect-md of Kafka cluster dc1"},
    {"refused to write", WAITS, task_refused_write, WANT_FAILED, REASON_AclMissing,
     "lacks Write on topic distribution-test of Kafka cluster dc2"},
    {"refused, applied late", WAITS, task_refused_applied_late, WANT_STEP, REASON_None, "Arrive"},
    {"refused, applied in the future", WAITS, task_refused_applied_in_the_future, WANT_STEP, REASON_None, "Arrive"},
    {"refused while the job runs", WAITS, task_refused_while_the_job_runs, WANT_STEP, REASON_None, "Arrive"},
    {"refused by a rule", WAITS, task_refused_by_a_rule, WANT_FAILED, REASON_AclMissing, "deny ACL"},
    {"refused, restart to come", WAITS, task_refused_restarting, WANT_STEP, REASON_None, "Arrive"},
    {"refused, restart under way", WAITS, task_refused_at_the_round, WANT_STEP, REASON_None, "Arrive"},
    {"refused, restarted in vain", WAITS, restarted_in_vain, WANT_STEP, REASON_None, "Arrive"},
    {"restarted in time", WAITS, restarted_in_time, WANT_STEP, REASON_None, "Arrive"},
    {"restarted in time, shown late", WAITS, restarted_in_time_shown_late, WANT_STEP, REASON_None, "Arrive"},
    {"restarted too late", WAITS, restarted_too_late, WANT_FAILED, REASON_TaskFailed, "restarted automatically 1 times"},
    {"refused, restarted", WAITS, task_refused_restarted, WANT_FAILED, REASON_AclMissing, NULL},
};

static void connectors_are_told_apart(void **state)
{
    (void)state;
    SCENE_RUN_CASES(connectors);
}

/* ---------------------------------------------------------------- logs */

static void dirty(struct scene *scene)
{
    scene_finding(scene, MODEL_A, FACT_LOG_ERROR, true);
}

static void tolerated(struct scene *scene)
{
    scene_finding(scene, MODEL_A, FACT_LOG_ERROR, false);
}

static void stopped_late(struct scene *scene, enum model_connector connector)
{
    dirty(scene);
    struct fact_log_finding *finding = &scene->side[MODEL_A].findings[0];
    (void)dv_strlcpy(finding->connector, scene->side[MODEL_A].connector[connector].name, sizeof finding->connector);
    (void)dv_format(finding->line, sizeof finding->line, "Graceful stop of task %s-0 failed.", finding->connector);
}

/* Switched off by the run itself. */
static void off_stopped_late(struct scene *scene)
{
    stopped_late(scene, MODEL_OC);
}

static void on_stopped_late(struct scene *scene)
{
    stopped_late(scene, MODEL_MD);
}

static void retrying(struct scene *scene)
{
    scene_finding(scene, MODEL_A, FACT_LOG_RETRYING, true);
}

static void dirty_after_a_restart(struct scene *scene)
{
    dirty(scene);
    scene->memory.disturbed_ms = scene->s.now.mono_ms - 1;
}

static void dirty_with_a_replaced_pod(struct scene *scene)
{
    dirty(scene);
    scene->memory.pod_lives[MODEL_A] = 1; /* another one than is there now */
}

static void refused_line_young(struct scene *scene)
{
    scene_finding(scene, MODEL_A, FACT_LOG_AUTHORIZATION, true);
}

static void refused_line_from_before(struct scene *scene)
{
    refused_line_young(scene);
    grown_old(scene);
}

static void refused_line(struct scene *scene)
{
    grown_old(scene);
    refused_line_young(scene);
}

static void refused_line_of_another(struct scene *scene)
{
    grown_old(scene);
    refused_line_young(scene);
    (void)dv_strlcpy(scene->side[MODEL_A].findings[0].connector, "another", sizeof scene->side[MODEL_A].findings[0].connector);
}

static void unknown_topic_from_before(struct scene *scene)
{
    scene_finding(scene, MODEL_A, FACT_LOG_UNKNOWN_TOPIC, true);
    grown_old(scene);
}

static void on_stopped_late_after_a_restart(struct scene *scene)
{
    on_stopped_late(scene);
    scene->memory.disturbed_ms = scene->s.now.mono_ms - 1;
}

static const struct scene_case logs[] = {
    {"dirty", WAITS, dirty, WANT_FAILED, REASON_LogsNotClean, "dc1: pod pod-0 logged an error (1 times): it broke"},
    {"tolerated", WAITS, tolerated, WANT_STEP, REASON_None, "Arrive"},
    {"retrying is a note", WAITS, retrying, WANT_STEP, REASON_None, "Arrive"},
    {"switched off, stopped late", WAITS, off_stopped_late, WANT_STEP, REASON_None, "Arrive"},
    {"not switched off, stopped late", WAITS, on_stopped_late, WANT_FAILED, REASON_LogsNotClean, NULL},
    {"moved, stopped late", WAITS, on_stopped_late_after_a_restart, WANT_STEP, REASON_None, "Arrive"},
    {"dirty after a restart", WAITS, dirty_after_a_restart, WANT_RETRY, REASON_None, "Produce"},
    {"dirty with a replaced pod", WAITS, dirty_with_a_replaced_pod, WANT_RETRY, REASON_None, "Produce"},
    {"refused, too early", WAITS, refused_line_young, WANT_STEP, REASON_None, "Arrive"},
    {"refused, before the grant", WAITS, refused_line_from_before, WANT_STEP, REASON_None, "Arrive"},
    {"refused", WAITS, refused_line, WANT_FAILED, REASON_AclMissing, NULL},
    {"refused, another's", WAITS, refused_line_of_another, WANT_FAILED, REASON_LogsNotClean, NULL},
    {"unknown topic, before the grant", WAITS, unknown_topic_from_before, WANT_STEP, REASON_None, "Arrive"},
};

static void logs_are_judged(void **state)
{
    (void)state;
    SCENE_RUN_CASES(logs);
}

/* A broker that goes down shows in the logs first: judged once both clusters have answered since the line was seen. */
static void a_log_line_waits_for_both_clusters(void **state)
{
    (void)state;
    for (int outage = 0; outage < 2; outage++) {
        struct scene *scene = scene_new();
        scene_at(scene, STAGE_MESSAGES_A_TO_B, "Arrive");
        dirty(scene);
        scene->s.side[MODEL_B].stamp[VF_GROUPS].as_of_ms -= 1;
        const struct verify_plan *plan = scene_decide(scene);
        assert_true(model_run_active(&plan->status));
        assert_true((plan->ask[MODEL_B] & (1u << VF_GROUPS)) != 0);
        scene_adopt(scene);
        scene_later(scene, 100);
        if (outage)
            scene_fail(scene, MODEL_B, VF_GROUPS, DV_ERR_UNREACHABLE);
        else
            scene_fresh(scene);
        plan = scene_decide(scene);
        assert_int_equal(plan->status.result, outage ? MODEL_NO_VERDICT : MODEL_FAILED);
        assert_int_equal(plan->status.stages[STAGE_MESSAGES_A_TO_B].attempts, outage ? 2 : 1);
        scene_free(scene);
    }
}

/* ---------------------------------------------------------------- groups, transactions */

static void member(struct scene *scene)
{
    scene->side[MODEL_B].groups[VERIFY_TEST_GROUP].members = 2;
}

static void member_of_the_new_protocol(struct scene *scene)
{
    scene->side[MODEL_B].groups[VERIFY_TEST_GROUP].state = FACT_GROUP_DEAD;
}

static void member_of_the_new_protocol_again(struct scene *scene)
{
    member_of_the_new_protocol(scene);
    scene->status.stages[STAGE_OFFSETS_A_TO_B].attempts = 1 + (int)scene->spec->retries;
}

static void group_not_there(struct scene *scene)
{
    member_of_the_new_protocol(scene);
    scene->side[MODEL_B].groups[VERIFY_TEST_GROUP].listed = false;
}

/* What was seen before this attempt began says nothing of it. */
static void member_before_the_attempt(struct scene *scene)
{
    member(scene);
    scene->memory.retry_ms = scene->s.now.mono_ms - 100;
    scene->s.side[MODEL_B].stamp[VF_GROUPS].as_of_ms = scene->memory.retry_ms - 1;
}

static void member_in_the_attempt(struct scene *scene)
{
    member_before_the_attempt(scene);
    scene->s.side[MODEL_B].stamp[VF_GROUPS].as_of_ms++;
}

static void stuck(struct scene *scene)
{
    scene->side[MODEL_B].stable[1] = 90;
    scene->memory.stuck_since_ms = scene->s.now.mono_ms - ARRIVAL;
    scene->memory.stuck_side = MODEL_B;
    scene->memory.stuck_partition = 1;
    scene->memory.stuck_offset = 90;
    scene->memory.partitions = SCENE_PARTITIONS;
}

static void stuck_not_for_long(struct scene *scene)
{
    stuck(scene);
    scene->memory.stuck_since_ms++;
}

static void stuck_elsewhere_since(struct scene *scene)
{
    stuck(scene);
    scene->memory.stuck_offset = 80;
}

static const struct scene_case others[] = {
    {"member", STAGE_OFFSETS_A_TO_B, "Before", member, WANT_RETRY, REASON_None, "Start"},
    {"member, before the attempt", STAGE_OFFSETS_A_TO_B, "Before", member_before_the_attempt, WANT_STEP, REASON_None, "Before"},
    {"member, in the attempt", STAGE_OFFSETS_A_TO_B, "Before", member_in_the_attempt, WANT_RETRY, REASON_None, "Start"},
    {"member, other stage", WAITS, member, WANT_STEP, REASON_None, "Arrive"},
    {"member of the new protocol", STAGE_OFFSETS_A_TO_B, "Moved", member_of_the_new_protocol, WANT_RETRY, REASON_None, "Start"},
    {"member of the new protocol, other stage", WAITS, member_of_the_new_protocol, WANT_STEP, REASON_None, "Arrive"},
    {"member of the new protocol, again", STAGE_OFFSETS_A_TO_B, "Moved", member_of_the_new_protocol_again, WANT_INCONCLUSIVE,
     REASON_GroupActive, "test-group on dc2 has come to use the new consumer protocol"},
    {"no such group", STAGE_OFFSETS_A_TO_B, "Before", group_not_there, WANT_STEP, REASON_None, "Before"},
    {"open transaction", WAITS, stuck, WANT_RETRY, REASON_None, "Produce"},
    {"not for long", WAITS, stuck_not_for_long, WANT_STEP, REASON_None, "Arrive"},
    {"it moves", WAITS, stuck_elsewhere_since, WANT_STEP, REASON_None, "Arrive"},
};

static void the_rest_is_told_apart(void **state)
{
    (void)state;
    SCENE_RUN_CASES(others);
}

/* Nobody looks at a group that nobody asks for. */
static void groups_are_asked_for_in_every_offset_step(void **state)
{
    (void)state;
    static const char *const steps[] = {"Before", "Reader", "Copied", "Moved"};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct scene *scene = scene_new();
        scene_at(scene, STAGE_OFFSETS_A_TO_B, steps[i]);
        for (int side = 0; side < MODEL_SIDES; side++)
            scene->s.side[side].stamp[VF_GROUPS].as_of_ms -= 4000;
        const struct verify_plan *plan = scene_decide(scene);
        assert_true((plan->ask[MODEL_A] & plan->ask[MODEL_B] & (1u << VF_GROUPS)) != 0);
        scene_free(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access_is_told_apart),
        cmocka_unit_test(values_are_held),
        cmocka_unit_test(changes_before_the_run_do_not_count),
        cmocka_unit_test(connectors_are_told_apart),
        cmocka_unit_test(logs_are_judged),
        cmocka_unit_test(a_log_line_waits_for_both_clusters),
        cmocka_unit_test(the_rest_is_told_apart),
        cmocka_unit_test(groups_are_asked_for_in_every_offset_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

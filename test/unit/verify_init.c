#include "../support/scene.h"

/* Preflight, Init, and what it takes for values to be applied and connectors to be on or off. */

#define ARRIVAL 35000
#define HELD 10000
#define RECONCILE 120000

/* ---------------------------------------------------------------- Preflight */

static void no_access(struct scene *scene)
{
    (void)dv_strlcpy(scene->s.side[MODEL_B].access_missing, "watch pods", sizeof scene->s.side[MODEL_B].access_missing);
}

static void no_connect(struct scene *scene)
{
    scene->s.side[MODEL_A].connect = NULL;
}

static void no_connector_resources(struct scene *scene)
{
    scene->side[MODEL_A].connect.connector_resources = false;
}

static void paused(struct scene *scene)
{
    scene->side[MODEL_B].connect.paused = true;
}

static void long_flush(struct scene *scene)
{
    scene->side[MODEL_B].connect.flush_ms = scene->spec->stage_deadline_ms;
}

static void same_cluster(struct scene *scene)
{
    (void)dv_strlcpy(scene->s.side[MODEL_B].cluster_id, "id-a", sizeof scene->s.side[MODEL_B].cluster_id);
}

static void no_topic(struct scene *scene)
{
    scene->s.side[MODEL_B].test_topic = (struct fact_topic){0};
}

static void settings_refused(struct scene *scene)
{
    scene->s.side[MODEL_B].test_topic = (struct fact_topic){.found = true, .partitions = SCENE_PARTITIONS, .retention_ms = -1};
}

/* What is known is of an earlier look that is no longer vouched for. */
static void settings_not_asked_yet(struct scene *scene)
{
    settings_refused(scene);
    scene->s.side[MODEL_B].stamp[VF_TEST_TOPIC] = (struct verify_stamp){0};
}

/* The README gives no such right on the timestamps topic. */
static void timestamps_settings_refused(struct scene *scene)
{
    EACH_SIDE (side)
        scene->s.side[side].ts_topic.configs_known = false;
}

static void append_time(struct scene *scene)
{
    scene->s.side[MODEL_A].test_topic.create_time = false;
}

static void compacted(struct scene *scene)
{
    scene->s.side[MODEL_A].test_topic.compacted = true;
}

static void short_retention(struct scene *scene)
{
    scene->s.side[MODEL_B].test_topic.retention_ms = scene->spec->run_deadline_ms;
}

/* A connector is there already, and its class is not in the image. */
static void class_not_listed(struct scene *scene)
{
    static char *plugins[] = {(char *)(uintptr_t) "io.example.Other"};
    scene->side[MODEL_B].connect.plugins = plugins;
    scene->side[MODEL_B].connect.plugin_count = 1;
    scene->side[MODEL_B].there[MODEL_MD] = true;
}

static void alias_not_listed(struct scene *scene)
{
    class_not_listed(scene);
    scene->side[MODEL_B].connector[MODEL_MD].class_name = (char *)(uintptr_t) "Sink";
}

static void other_partitions(struct scene *scene)
{
    scene->s.side[MODEL_B].test_topic.partitions = 3;
}

static void many_partitions(struct scene *scene)
{
    scene->s.side[MODEL_A].test_topic.partitions = scene->s.side[MODEL_B].test_topic.partitions = MODEL_PARTITIONS_MAX + 1;
}

static void group_with_members(struct scene *scene)
{
    scene->side[MODEL_B].groups[VERIFY_TEST_GROUP].members = 1;
}

static void group_of_the_new_protocol(struct scene *scene)
{
    scene->side[MODEL_B].groups[VERIFY_TEST_GROUP].state = FACT_GROUP_DEAD;
}

static void group_absent(struct scene *scene)
{
    scene->side[MODEL_B].groups[VERIFY_TEST_GROUP].state = FACT_GROUP_DEAD;
    scene->side[MODEL_B].groups[VERIFY_TEST_GROUP].listed = false;
}

static void distribution_is_on(struct scene *scene)
{
    scene_declare(scene, MODEL_B, "11111");
}

static void distribution_is_on_as_left(struct scene *scene)
{
    distribution_is_on(scene);
    scene_left(scene, MODEL_B, "11111");
}

static void distribution_is_on_otherwise(struct scene *scene)
{
    distribution_is_on(scene);
    scene_left(scene, MODEL_B, "11110");
}

static void taken_over(struct scene *scene)
{
    distribution_is_on(scene);
    scene->spec->take_over = true;
}

#define LOOK(name, change, want, reason, text)                             \
    {                                                                      \
        name, STAGE_PREFLIGHT, "Look", change, want, REASON_##reason, text \
    }

static const struct scene_case preflight[] = {
    LOOK("healthy", NULL, WANT_STAGE, None, NULL),
    LOOK("access", no_access, WANT_ERROR, PermissionMissing, "dc2: the controller may not watch pods in namespace kafka"),
    LOOK("no KafkaConnect", no_connect, WANT_ERROR, ConnectNotReady,
         "KafkaConnect kafka/dc1-distributor does not exist; create it or correct spec.clusters.a.distributor.kafkaConnectRef"),
    LOOK("no connector resources", no_connector_resources, WANT_ERROR, ConnectNotReady, "use-connector-resources"),
    LOOK("class not in the image", class_not_listed, WANT_FAILED, PluginMissing, "class io.example.Sink of KafkaConnector dc2-"),
    LOOK("an alias is not judged", alias_not_listed, WANT_STAGE, None, NULL),
    LOOK("paused", paused, WANT_ERROR, ConnectNotReady, "pause-reconciliation"),
    LOOK("long flush", long_flush, WANT_ERROR, InvalidSpec, "spec.deadlines.stage"),
    LOOK("same cluster", same_cluster, WANT_FAILED, SameKafkaCluster, "id id-a"),
    LOOK("no topic", no_topic, WANT_FAILED, TopicNotFound, "distribution-test does not exist on dc2"),
    LOOK("settings refused", settings_refused, WANT_ERROR, PermissionMissing,
         "Kafka cluster dc2 does not allow us DescribeConfigs on topic distribution-test"),
    LOOK("settings not asked yet", settings_not_asked_yet, WANT_STEP, None, "Look"),
    LOOK("settings of the timestamps topic refused", timestamps_settings_refused, WANT_STAGE, None, NULL),
    LOOK("append time", append_time, WANT_FAILED, TopicUnsuitable, "LogAppendTime"),
    LOOK("compacted", compacted, WANT_FAILED, TopicUnsuitable, "compacted"),
    LOOK("retention", short_retention, WANT_FAILED, TopicUnsuitable, "retention.ms"),
    LOOK("partitions differ", other_partitions, WANT_FAILED, TopicUnsuitable, "2 partitions on dc1 and 3 on dc2"),
    LOOK("many partitions", many_partitions, WANT_FAILED, TopicUnsuitable, "501 partitions"),
    LOOK("members", group_with_members, WANT_FAILED, GroupNotEmpty, "test-group on dc2 has 1 members"),
    LOOK("new protocol", group_of_the_new_protocol, WANT_FAILED, GroupNotEmpty, "new consumer protocol"),
    LOOK("group absent", group_absent, WANT_STAGE, None, NULL),
    LOOK("on", distribution_is_on, WANT_FAILED, DistributionAlreadyOn, "already on in the values of dc2"),
    LOOK("on as left", distribution_is_on_as_left, WANT_STAGE, None, NULL),
    LOOK("on otherwise than left", distribution_is_on_otherwise, WANT_FAILED, DistributionAlreadyOn, NULL),
    LOOK("taken over", taken_over, WANT_STAGE, None, NULL),
};

static void preflight_looks(void **state)
{
    (void)state;
    SCENE_RUN_CASES(preflight);
}

/* Keys that are not there are told, each side its own, before anything is written. */
static void missing_switches_are_told(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_PREFLIGHT, "Look");
    scene->side[MODEL_B].values.declared[MODEL_SW_MD] = VERIFY_ABSENT;
    scene->side[MODEL_B].values.declared[MODEL_SW_OC] = VERIFY_ABSENT;
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.stages[STAGE_PREFLIGHT].state, STATE_PASSED);
    const json_t *notes = json_object_get(plan->status.stages[STAGE_PREFLIGHT].evidence, "notes");
    assert_int_equal(json_array_size(notes), 1);
    assert_string_equal(json_string_value(json_array_get(notes, 0)),
                        "dc2: not in the values yet and added when first written: md.enabled, oc.enabled");
    const struct verify_event *event = scene_event(plan, "SwitchesMissing");
    assert_true(event->warning);
    assert_non_null(strstr(event->note, "ConfigMap kafka/dc2-values of dc2 has no md.enabled, oc.enabled yet"));
    scene_free(scene);
}

/* Nothing passes before everything is known. */
static void each_fact_is_needed(void **state)
{
    (void)state;
    static const enum verify_fact needed[] = {VF_ACCESS,     VF_VALUES,     VF_CONNECT,  VF_CONNECTORS, VF_PODS,   VF_CLUSTER_ID,
                                              VF_TEST_TOPIC, VF_READ_RIGHT, VF_TEST_LOG, VF_ACLS,       VF_GROUPS, VF_TEST_COMMITS};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        for (int side = 0; side < MODEL_SIDES; side++) {
            struct scene *scene = scene_new();
            scene_at(scene, STAGE_PREFLIGHT, "Look");
            scene->s.side[side].stamp[needed[i]].as_of_ms = 0;
            const struct verify_plan *plan = scene_decide(scene);
            if (plan->status.stage != STAGE_PREFLIGHT)
                fail_msg("passes without %s", verify_fact_text(needed[i]));
            if (needed[i] < VF_ASKED_COUNT)
                assert_true((plan->ask[side] & (1u << needed[i])) != 0);
            scene_free(scene);
        }
    }
}

/* ---------------------------------------------------------------- Init */

static void not_listed(struct scene *scene)
{
    scene->side[MODEL_A].values.principal_count = 1; /* its own alone */
}

static void list_unreadable(struct scene *scene)
{
    scene->side[MODEL_A].values.principals_readable = false;
    scene->side[MODEL_A].values.principal_count = 0;
    (void)dv_err_set(&scene->side[MODEL_A].values.principals_why, DV_ERR_INVALID, "init.principals (line 4) is a string, not a list");
}

static void list_absent(struct scene *scene)
{
    scene->side[MODEL_A].values.principals_absent = true;
    scene->side[MODEL_A].values.principal_count = 0;
}

static void not_listed_elsewhere(struct scene *scene)
{
    struct model_path *path = &scene->spec->cluster[MODEL_A].distributor.principals_path;
    not_listed(scene);
    free(path->keys[1]);
    path->keys[1] = dv_strdup("kafka.users");
}

static void near_unlisted(struct scene *scene)
{
    scene->side[MODEL_A].principals[0] = scene->side[MODEL_A].principals[1];
}

static void with_job(struct scene *scene, bool succeeded, bool failed)
{
    scene->spec->cluster[MODEL_A].distributor.init_job_selector = json_object();
    scene->side[MODEL_A].job = (struct fact_job){.name = (char *)(uintptr_t) "init-1",
                                                 .created_ms = scene->s.now.wall_ms,
                                                 .succeeded = succeeded,
                                                 .failed = failed,
                                                 .matches = true};
    scene->s.side[MODEL_A].job_count = 1;
}

static void job_failed(struct scene *scene)
{
    with_job(scene, false, true);
}

static void job_running(struct scene *scene)
{
    with_job(scene, false, false);
}

static void job_done(struct scene *scene)
{
    with_job(scene, true, false);
}

/* The last revision's job says nothing about this one's. */
static void job_of_before(struct scene *scene)
{
    with_job(scene, false, true);
    scene->side[MODEL_A].job.created_ms -= 60000;
    scene->status.run.written_ms[MODEL_A] = scene->s.now.wall_ms;
}

static void job_deleted_by_its_hook(struct scene *scene)
{
    job_of_before(scene);
    scene->s.side[MODEL_A].job_count = 0;
    scene->memory.step_since_ms -= ARRIVAL;
}

/* After a restart of the controller only the status says when the values were written. */
static void job_of_before_after_a_restart(struct scene *scene)
{
    job_of_before(scene);
    scene_restart(scene);
}

static void connect_behind(struct scene *scene)
{
    scene->side[MODEL_A].connect.generation++;
}

static void connect_unready(struct scene *scene)
{
    scene->side[MODEL_A].connect.ready = false;
}

static void pods_missing(struct scene *scene)
{
    scene->side[MODEL_A].connect.replicas = 2;
}

static void member_left(struct scene *scene)
{
    scene->side[MODEL_A].groups[MODEL_OC].members = 1;
}

static void group_unknown(struct scene *scene)
{
    scene->side[MODEL_A].groups[MODEL_OC].state = FACT_GROUP_UNKNOWN;
}

static void group_rebalancing(struct scene *scene)
{
    scene->side[MODEL_A].groups[MODEL_OC].state = FACT_GROUP_REBALANCING;
}

static void group_not_readable(struct scene *scene)
{
    (void)dv_err_set(&scene->side[MODEL_A].groups[MODEL_MD].err, DV_ERR_UNREACHABLE, "no coordinator");
}

static void object_left(struct scene *scene)
{
    scene->side[MODEL_A].there[MODEL_OD] = true;
}

static void object_stopped(struct scene *scene)
{
    object_left(scene);
    scene->side[MODEL_A].connector[MODEL_OD].state = FACT_STATE_STOPPED;
}

static void quiet_for_long(struct scene *scene)
{
    scene->memory.hold_since_ms = scene->s.now.mono_ms - HELD;
}

static void quiet_not_long_enough(struct scene *scene)
{
    scene->memory.hold_since_ms = scene->s.now.mono_ms - HELD + 1;
}

static void quiet_blind(struct scene *scene)
{
    quiet_for_long(scene);
    scene->side[MODEL_A].groups[MODEL_MD].state = FACT_GROUP_DEAD;
}

static void quiet_blind_for_long(struct scene *scene)
{
    quiet_blind(scene);
    scene->memory.hold_since_ms = scene->s.now.mono_ms - RECONCILE;
}

static void rights_missing(struct scene *scene)
{
    scene->s.side[MODEL_A].write_test = (struct verify_right){.principal = "User:CN=dist-dc2,OU=x"};
}

static void rights_missing_for_long(struct scene *scene)
{
    rights_missing(scene);
    scene->memory.step_since_ms -= ARRIVAL;
}

/* Written, and no job was seen since: a pipeline may still be on its way to apply them. */
static void rights_missing_and_not_applied(struct scene *scene)
{
    rights_missing_for_long(scene);
    scene->status.run.written_ms[MODEL_A] = scene->s.now.wall_ms - 3 * ARRIVAL;
}

static void rights_missing_and_never_applied(struct scene *scene)
{
    rights_missing_and_not_applied(scene);
    scene->memory.step_since_ms = scene->memory.progress_ms = scene->s.now.mono_ms - scene->spec->stage_deadline_ms;
}

static void rights_missing_while_the_job_runs(struct scene *scene)
{
    rights_missing_for_long(scene);
    job_running(scene);
}

static void rights_missing_after_the_job(struct scene *scene)
{
    rights_missing_for_long(scene);
    job_done(scene);
    scene->memory.job_done_ms[MODEL_A] = scene->s.now.mono_ms - 10000;
}

/* What is known of the ACLs is older than the job's end. */
static void rights_missing_as_known_before_the_job(struct scene *scene)
{
    rights_missing_after_the_job(scene);
    scene->s.side[MODEL_A].stamp[VF_ACLS].as_of_ms = scene->memory.job_done_ms[MODEL_A] - 1;
}

static void rights_denied_for_long(struct scene *scene)
{
    rights_missing_for_long(scene);
    scene->s.side[MODEL_A].write_test.denied = true;
}

#define INIT(name, step, change, want, reason, text)                  \
    {                                                                 \
        name, STAGE_INIT_A, step, change, want, REASON_##reason, text \
    }

static const struct scene_case init[] = {
    INIT("not listed", "Principals", not_listed, WANT_FAILED, PrincipalNotListed,
         "dc1: init.principals does not list User:CN=dist-dc2,OU=x"),
    INIT("not listed, its own path", "Principals", not_listed_elsewhere, WANT_FAILED, PrincipalNotListed,
         "dc1: init.\"kafka.users\" does not list User:CN=dist-dc2,OU=x"),
    INIT("list unreadable", "Principals", list_unreadable, WANT_ERROR, ValuesInvalid,
         "dc1: init.principals (line 4) is a string, not a list, in values.yaml of ConfigMap kafka/dc1-values; correct the values or "
         "spec.clusters.a.distributor.principalsPath"),
    INIT("list absent", "Principals", list_absent, WANT_FAILED, PrincipalNotListed,
         "dc1: init.principals is not in ConfigMap kafka/dc1-values and must list User:CN=dist-dc2,OU=x, the Distributor of dc2; add it or "
         "correct spec.clusters.a.distributor.principalsPath"),
    INIT("own one not listed", "Principals", near_unlisted, WANT_STEP, None, "Write"),
    INIT("job failed", "Job", job_failed, WANT_FAILED, InitJobFailed, "init job kafka/init-1 failed"),
    INIT("job running", "Job", job_running, WANT_STEP, None, "Job"),
    INIT("job done", "Job", job_done, WANT_STEP, None, "Quiet"),
    INIT("job of before", "Job", job_of_before, WANT_STEP, None, "Job"),
    INIT("job of before, after a restart", "Job", job_of_before_after_a_restart, WANT_STEP, None, "Job"),
    INIT("job deleted by its hook", "Job", job_deleted_by_its_hook, WANT_STEP, None, "Quiet"),
    INIT("no selector", "Job", NULL, WANT_STEP, None, "Quiet"),
    INIT("connect behind", "Connect", connect_behind, WANT_STEP, None, "Connect"),
    INIT("connect not ready", "Connect", connect_unready, WANT_STEP, None, "Connect"),
    INIT("pods missing", "Connect", pods_missing, WANT_STEP, None, "Connect"),
    INIT("member left", "Off", member_left, WANT_STEP, None, "Off"),
    INIT("group unknown", "Off", group_unknown, WANT_STEP, None, "Off"),
    INIT("group rebalancing", "Off", group_rebalancing, WANT_STEP, None, "Off"),
    INIT("group not readable", "Off", group_not_readable, WANT_STEP, None, "Off"),
    INIT("object left", "Off", object_left, WANT_STEP, None, "Off"),
    INIT("object stopped", "Off", object_stopped, WANT_STEP, None, "Quiet"),
    INIT("quiet", "Quiet", quiet_for_long, WANT_STAGE, None, NULL),
    INIT("not quiet for long", "Quiet", quiet_not_long_enough, WANT_STEP, None, "Quiet"),
    INIT("quiet no more", "Quiet", member_left, WANT_STEP, None, "Off"),
    INIT("blind", "Quiet", quiet_blind, WANT_STEP, None, "Quiet"),
    INIT("blind for a reconcile interval", "Quiet", quiet_blind_for_long, WANT_STAGE, None, NULL),
    INIT("rights", "Acls", NULL, WANT_STAGE, None, NULL),
    INIT("rights missing", "Acls", rights_missing, WANT_STEP, None, "Acls"),
    INIT("rights missing for long", "Acls", rights_missing_for_long, WANT_FAILED, AclMissing, "User:CN=dist-dc2,OU=x lacks Write"),
    INIT("rights missing, not applied yet", "Acls", rights_missing_and_not_applied, WANT_STEP, None, "Acls"),
    INIT("rights missing, never applied", "Acls", rights_missing_and_never_applied, WANT_FAILED, AclMissing,
         "and its init job (none was seen: were the values applied?)"),
    INIT("rights missing, job running", "Acls", rights_missing_while_the_job_runs, WANT_STEP, None, "Acls"),
    INIT("rights missing after the job", "Acls", rights_missing_after_the_job, WANT_FAILED, AclMissing, "lacks Write"),
    INIT("rights known from before the job's end", "Acls", rights_missing_as_known_before_the_job, WANT_STEP, None, "Acls"),
    INIT("rights denied", "Acls", rights_denied_for_long, WANT_FAILED, AclMissing, "by a deny ACL"),
};

static void init_is_judged(void **state)
{
    (void)state;
    SCENE_RUN_CASES(init);
}

/* ---------------------------------------------------------------- applied, on */

static struct fact_connector *md(struct scene *scene)
{
    return &scene->side[MODEL_A].connector[MODEL_MD];
}

static void md_missing(struct scene *scene)
{
    scene->side[MODEL_A].there[MODEL_MD] = false;
}

static void md_behind(struct scene *scene)
{
    md(scene)->generation++;
}

static void md_leaving(struct scene *scene)
{
    md(scene)->deleting = true;
}

static void od_still_there(struct scene *scene)
{
    scene->side[MODEL_A].there[MODEL_OD] = true;
}

static void applied_late(struct scene *scene)
{
    md_missing(scene);
    scene->memory.progress_ms = scene->s.now.mono_ms - scene->spec->stage_deadline_ms;
}

static void md_unhealthy(struct scene *scene)
{
    scene->side[MODEL_A].health[MODEL_MD] = VERIFY_WAIT;
}

static void md_group_rebalancing(struct scene *scene)
{
    scene->side[MODEL_A].groups[MODEL_MD].state = FACT_GROUP_REBALANCING;
}

static void md_group_empty(struct scene *scene)
{
    scene->side[MODEL_A].groups[MODEL_MD] =
        (struct fact_group){.name = scene->side[MODEL_A].groups[MODEL_MD].name, .state = FACT_GROUP_EMPTY};
}

static void md_unassigned(struct scene *scene)
{
    scene->side[MODEL_A].groups[MODEL_MD].assignment_count = 1;
}

static void md_groups_old(struct scene *scene)
{
    scene->memory.written_ms[MODEL_A] = scene->s.now.mono_ms + 1; /* older than the change */
}

static void md_source(struct scene *scene)
{
    md(scene)->source = true;
    md_group_empty(scene);
}

static void held_for_long(struct scene *scene)
{
    scene->memory.hold_since_ms = scene->s.now.mono_ms - HELD;
}

static void held_blind(struct scene *scene)
{
    held_for_long(scene);
    md_source(scene);
}

static void held_blind_for_long(struct scene *scene)
{
    md_source(scene);
    scene->memory.hold_since_ms = scene->s.now.mono_ms - RECONCILE;
}

static void held_and_fell(struct scene *scene)
{
    held_for_long(scene);
    md_unhealthy(scene);
}

static void held_and_unknown(struct scene *scene)
{
    held_for_long(scene);
    scene->s.side[MODEL_A].stamp[VF_GROUPS].as_of_ms = scene->memory.step_since_ms - 1;
}

#define A2B(name, step, change, want, reason, text)                            \
    {                                                                          \
        name, STAGE_MESSAGES_A_TO_B, step, change, want, REASON_##reason, text \
    }

static const struct scene_case on[] = {
    A2B("applied", "Applied", NULL, WANT_STEP, None, "Held"),
    A2B("missing", "Applied", md_missing, WANT_STEP, None, "Applied"),
    A2B("behind its generation", "Applied", md_behind, WANT_STEP, None, "Applied"),
    A2B("leaving", "Applied", md_leaving, WANT_STEP, None, "Applied"),
    A2B("another still there", "Applied", od_still_there, WANT_STEP, None, "Applied"),
    A2B("not in time", "Applied", applied_late, WANT_ERROR, ValuesNotApplied, NULL),
    A2B("on", "On", NULL, WANT_STEP, None, "Held"),
    A2B("not healthy", "On", md_unhealthy, WANT_STEP, None, "On"),
    A2B("rebalancing", "On", md_group_rebalancing, WANT_STEP, None, "On"),
    A2B("no members", "On", md_group_empty, WANT_STEP, None, "On"),
    A2B("unassigned", "On", md_unassigned, WANT_STEP, None, "On"),
    A2B("old look", "On", md_groups_old, WANT_STEP, None, "On"),
    A2B("source", "On", md_source, WANT_STEP, None, "Held"),
    A2B("held", "Held", held_for_long, WANT_STEP, None, "Produce"),
    A2B("blind", "Held", held_blind, WANT_STEP, None, "Held"),
    A2B("blind for long", "Held", held_blind_for_long, WANT_STEP, None, "Produce"),
    A2B("fell", "Held", held_and_fell, WANT_STEP, None, "On"),
    A2B("unknown is not fallen", "Held", held_and_unknown, WANT_STEP, None, "Held"),
};

static void connectors_come_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        struct scene_case item = on[i];
        struct scene *scene = scene_new();
        scene_at(scene, item.stage, item.step);
        scene->s.side[MODEL_A].reader_at_ms = scene->s.side[MODEL_B].reader_at_ms = 0; /* Produce waits for them */
        if (item.change != NULL)
            item.change(scene);
        scene_check(&item, scene_decide(scene));
        scene_free(scene);
    }
}

/* A webhook that is down, an API server that restarts: tried again after a pause, and told all the while. */
static void a_write_that_fails_is_told(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_MESSAGES_A_TO_B, "Write");
    scene_declare(scene, MODEL_A, "11000");
    scene_left(scene, MODEL_A, "11000");
    (void)scene_decide(scene);
    scene_adopt(scene);
    assert_true(scene_decide(scene)->act);
    scene_adopt(scene);
    scene_effect(scene, DV_ERR_UNREACHABLE);
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.run.intent.kind, INTENT_NONE);
    scene_adopt(scene);
    scene_later(scene, 4999);
    plan = scene_decide(scene);
    assert_int_equal(plan->status.run.intent.kind, INTENT_NONE);
    assert_non_null(strstr(plan->status.message, "the effect failed"));
    scene_adopt(scene);
    scene_later(scene, 1);
    plan = scene_decide(scene);
    assert_int_equal(plan->status.run.intent.kind, INTENT_VALUES);
    assert_non_null(strstr(plan->status.message, "the effect failed"));
    scene_later(scene, scene->spec->stage_deadline_ms);
    plan = scene_decide(scene);
    assert_int_equal(plan->status.result, MODEL_ERROR);
    assert_non_null(strstr(plan->status.message, "the effect failed"));
    scene_free(scene);
}

/* Its answer was lost: the write may have been done, and its own init job is waited for. */
static void a_write_that_may_have_been_done_has_its_own_job(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene_at(scene, STAGE_INIT_A, "Write");
    scene_declare(scene, MODEL_A, "00000");
    job_done(scene);
    (void)scene_decide(scene);
    scene_adopt(scene);
    int64_t at = scene->status.run.intent.at_ms;
    assert_true(scene_decide(scene)->act);
    scene_adopt(scene);
    scene_effect(scene, DV_ERR_TIMEOUT);
    const struct verify_plan *plan = scene_decide(scene);
    assert_int_equal(plan->status.run.written_ms[MODEL_A], at);
    assert_int_equal(plan->memory.job_done_ms[MODEL_A], 0);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preflight_looks),
        cmocka_unit_test(missing_switches_are_told),
        cmocka_unit_test(each_fact_is_needed),
        cmocka_unit_test(init_is_judged),
        cmocka_unit_test(connectors_come_on),
        cmocka_unit_test(a_write_that_fails_is_told),
        cmocka_unit_test(a_write_that_may_have_been_done_has_its_own_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

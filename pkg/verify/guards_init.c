#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "verify/guards.h"

/* The settings decide whether the test topic is suitable; without the right to read them nothing could be said of it. */
static bool init_configs_refused(struct turn *t)
{
    EACH_SIDE (side) {
        const struct verify_side *facts = &t->s->side[side];
        if (facts->stamp[VF_TEST_TOPIC].as_of_ms == 0 || !facts->test_topic.found || facts->test_topic.configs_known)
            continue;
        turn_say(t, "Kafka cluster %s does not allow us DescribeConfigs on topic %s", turn_name(t, (enum model_side)side),
                 turn_cluster(t, (enum model_side)side)->topic);
        return true;
    }
    return false;
}

bool access_missing(struct turn *t)
{
    EACH_SIDE (side) {
        const char *missing = t->s->side[side].access_missing;
        if (missing[0] == '\0')
            continue;
        turn_say(t, "%s: the controller may not %s in namespace %s", turn_name(t, (enum model_side)side), missing,
                 turn_cluster(t, (enum model_side)side)->ns);
        return true;
    }
    return init_configs_refused(t);
}

static bool init_connect_bad(struct turn *t, enum model_side side)
{
    const struct verify_side *facts = turn_side(t, side);
    const struct model_cluster *cluster = turn_cluster(t, side);
    const char *what = NULL;
    if (facts->stamp[VF_CONNECT].as_of_ms == 0)
        return false;
    if (facts->connect == NULL)
        what = "does not exist";
    else if (!facts->connect->connector_resources)
        what = "does not have the annotation strimzi.io/use-connector-resources: \"true\"";
    else if (facts->connect->paused)
        what = "is paused by the annotation strimzi.io/pause-reconciliation";
    if (what == NULL)
        return false;
    turn_say(t, "%s: KafkaConnect %s/%s %s; %s spec.clusters.%s.distributor.kafkaConnectRef", cluster->name, cluster->ns,
             cluster->distributor.connect, what, facts->connect == NULL ? "create it or correct" : "correct it or", model_side_name(side));
    return true;
}

bool connect_unusable(struct turn *t)
{
    return init_connect_bad(t, MODEL_A) || init_connect_bad(t, MODEL_B);
}

static bool init_plugin_listed(const struct fact_connect *connect, const char *class_name)
{
    for (size_t i = 0; i < connect->plugin_count; i++)
        if (dv_streq(connect->plugins[i], class_name))
            return true;
    return false;
}

/* Known only of connectors that are there already, where KafkaConnect lists its plugins and the class is no alias ("FileStreamSink"). */
bool plugin_not_listed(struct turn *t)
{
    EACH_SIDE (side) {
        const struct fact_connect *connect = t->s->side[side].connect;
        EACH_CONNECTOR (c) {
            const struct verify_connector *connector = turn_connector(t, (enum model_side)side, (enum model_connector)c);
            const char *class_name = connector != NULL ? connector->fact->class_name : NULL;
            if (connect == NULL || connect->plugin_count == 0 || class_name == NULL || strchr(class_name, '.') == NULL ||
                init_plugin_listed(connect, class_name))
                continue;
            turn_say(t, "%s: class %s of KafkaConnector %s is not among the plugins of KafkaConnect %s/%s; add it to the image",
                     turn_name(t, (enum model_side)side), class_name, connector->fact->name, turn_cluster(t, (enum model_side)side)->ns,
                     connect->name);
            return true;
        }
    }
    return false;
}

/* The schema could only compare with the default; now the flush interval is known. */
bool flush_too_long(struct turn *t)
{
    int64_t commit = verify_commit_interval_ms(t->s);
    int64_t need = 2 * t->spec->window_ms + commit + 30000;
    if (t->s->side[MODEL_A].connect == NULL || t->s->side[MODEL_B].connect == NULL || t->spec->stage_deadline_ms > need)
        return false;
    turn_say(t, "spec.deadlines.stage: must exceed two windows + commit interval (%lld s) + 30 s = %lld s", (long long)(commit / 1000),
             (long long)(need / 1000));
    return true;
}

bool cluster_same(struct turn *t)
{
    const char *a = t->s->side[MODEL_A].cluster_id;
    if (a[0] == '\0' || !dv_streq(a, t->s->side[MODEL_B].cluster_id))
        return false;
    turn_say(t, "%s and %s are the same Kafka cluster (id %s); correct spec.clusters.*.kafka.bootstrapServers", turn_name(t, MODEL_A),
             turn_name(t, MODEL_B), a);
    return true;
}

bool topic_not_found(struct turn *t)
{
    EACH_SIDE (side) {
        const struct verify_side *facts = &t->s->side[side];
        if (facts->stamp[VF_TEST_TOPIC].as_of_ms == 0 || facts->test_topic.found)
            continue;
        turn_say(t, "topic %s does not exist on %s; create it on both clusters with the same number of partitions",
                 turn_cluster(t, (enum model_side)side)->topic, turn_name(t, (enum model_side)side));
        return true;
    }
    return false;
}

static const char *init_topic_flaw(const struct turn *t, const struct fact_topic *topic)
{
    if (topic->configs_known && !topic->create_time)
        return "uses LogAppendTime; set message.timestamp.type=CreateTime";
    if (topic->configs_known && topic->compacted)
        return "is compacted; set cleanup.policy=delete";
    if (topic->configs_known && topic->retention_ms >= 0 && topic->retention_ms <= t->spec->run_deadline_ms)
        return "keeps records for less time than spec.deadlines.run; raise retention.ms";
    return NULL;
}

bool partitions_differ(struct turn *t, int32_t a, int32_t b)
{
    if (a != b)
        turn_say(t, "the test topic has %d partitions on %s and %d on %s; they must be equal", a, turn_name(t, MODEL_A), b,
                 turn_name(t, MODEL_B));
    return a != b;
}

bool topic_unsuitable(struct turn *t)
{
    const struct fact_topic *topic[MODEL_SIDES] = {&t->s->side[MODEL_A].test_topic, &t->s->side[MODEL_B].test_topic};
    EACH_SIDE (side) {
        const char *flaw = topic[side]->found ? init_topic_flaw(t, topic[side]) : NULL;
        if (flaw == NULL)
            continue;
        turn_say(t, "topic %s on %s %s", turn_cluster(t, (enum model_side)side)->topic, turn_name(t, (enum model_side)side), flaw);
        return true;
    }
    return topic[0]->found && topic[1]->found && partitions_differ(t, topic[0]->partitions, topic[1]->partitions);
}

bool partitions_too_many(struct turn *t)
{
    if (t->s->side[MODEL_A].test_topic.partitions <= MODEL_PARTITIONS_MAX)
        return false;
    turn_say(t, "the test topic has %d partitions, more than the %d that can be verified", t->s->side[MODEL_A].test_topic.partitions,
             MODEL_PARTITIONS_MAX);
    return true;
}

bool group_not_empty(struct turn *t)
{
    EACH_SIDE (side) {
        const struct fact_group *group = turn_group(t, (enum model_side)side, VERIFY_TEST_GROUP);
        if (group == NULL)
            continue;
        if (group->members == 0 && !turn_group_hidden(group))
            continue;
        if (turn_group_hidden(group))
            turn_say(t, "group %s on %s uses the new consumer protocol and cannot be described; use another test group", group->name,
                     turn_name(t, (enum model_side)side));
        else
            turn_say(t, "group %s on %s has %d members; use a test group that nobody uses", group->name,
                     turn_name(t, (enum model_side)side), group->members);
        return true;
    }
    return false;
}

static bool init_as_left(struct turn *t, enum model_side side)
{
    const struct model_run *run = &t->st->run;
    return run->have_left[side] && turn_undeclared(turn_side(t, side)->values, &run->left[side]) < 0;
}

bool distribution_on(struct turn *t)
{
    if (t->s->side[MODEL_A].values == NULL || t->s->side[MODEL_B].values == NULL)
        return false; /* the same side is named whichever came first */
    EACH_SIDE (side) {
        const struct verify_values *values = t->s->side[side].values;
        if (t->spec->take_over || values == NULL || values->declared[MODEL_SW_DISTRIBUTION] != VERIFY_ON ||
            init_as_left(t, (enum model_side)side))
            continue;
        turn_say(t,
                 "distribution is already on in the values of %s; a run would switch it off first: switch it off yourself or set "
                 "spec.takeOver",
                 turn_name(t, (enum model_side)side));
        return true;
    }
    return false;
}

bool preflight_unknown(struct turn *t)
{
    static const enum verify_fact needed[] = {VF_ACCESS,     VF_VALUES,     VF_CONNECT,  VF_CONNECTORS, VF_PODS,   VF_CLUSTER_ID,
                                              VF_TEST_TOPIC, VF_READ_RIGHT, VF_TEST_LOG, VF_ACLS,       VF_GROUPS, VF_TEST_COMMITS};
    bool unknown = false;
    EACH_SIDE (side) {
        for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
            bool after = needed[i] == VF_READ_RIGHT || needed[i] == VF_TEST_LOG || needed[i] == VF_TEST_COMMITS;
            if (after && !t->s->side[side].test_topic.found)
                continue;
            if (turn_fresh(t, (enum model_side)side, needed[i], needed[i] < VF_ASKED_COUNT ? t->m->step_since_ms : 0))
                continue;
            unknown = true;
            (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "%s of %s", verify_fact_text(needed[i]),
                            turn_name(t, (enum model_side)side));
        }
    }
    return unknown;
}

void remember_before(struct turn *t)
{
    struct model_run *run = &t->st->run;
    EACH_SIDE (side) {
        const struct verify_values *values = t->s->side[side].values;
        bool interrupts = values->declared[MODEL_SW_DISTRIBUTION] == VERIFY_ON;
        for (int i = 0; i < MODEL_SWITCHES; i++)
            run->before[side].on[i] = values->declared[i] == VERIFY_ON;
        run->have_before[side] = true;
        run->have_left[side] = init_as_left(t, (enum model_side)side); /* until this run writes them itself */
        if (interrupts)
            turn_event(t, true, "DistributionInterrupted", "run %s: distribution of %s is on and is switched off now", run->id,
                       turn_name(t, (enum model_side)side));
        tell_missing_switches(t, (enum model_side)side);
    }
}

/* ---------------------------------------------------------------- InitA, InitB */

bool values_unknown(struct turn *t)
{
    return t->s->side[t->near].values == NULL;
}

/* This revision's init job: the newest matching Job created after our write; after a skipped write the newest. NULL: cannot be named. */
static const struct fact_job *init_job(const struct turn *t, enum model_side side)
{
    const struct verify_side *facts = turn_side(t, side);
    const struct fact_job *newest = NULL;
    for (size_t i = 0; i < facts->job_count; i++)
        if (newest == NULL || facts->jobs[i]->created_ms > newest->created_ms)
            newest = facts->jobs[i];
    /* creationTimestamp has whole seconds */
    if (newest != NULL && newest->created_ms + 1000 < t->st->run.written_ms[side])
        return NULL;
    return newest;
}

bool init_job_runs(const struct turn *t, enum model_side side)
{
    const struct fact_job *job = init_job(t, side);
    return job != NULL && !job->succeeded && !job->failed;
}

bool init_job_failed(struct turn *t)
{
    const struct fact_job *job = init_job(t, t->near);
    if (job == NULL || !job->failed)
        return false;
    turn_say(t, "%s: init job %s/%s failed: %s", turn_name(t, t->near), turn_cluster(t, t->near)->ns, job->name,
             job->message != NULL ? job->message : "see its log");
    return true;
}

/* Without a selector, or when its hook deleted the job, the ACLs stand for it. */
bool init_job_open(struct turn *t)
{
    if (turn_cluster(t, t->near)->distributor.init_job_selector == NULL)
        return false;
    const struct fact_job *job = init_job(t, t->near);
    if (job != NULL)
        return !job->succeeded;
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "an init job of %s created after the values were written",
                    turn_name(t, t->near));
    turn_wake(t, t->m->step_since_ms + verify_arrival_ms(t->s));
    return turn_step_age(t) < verify_arrival_ms(t->s);
}

/* In every stage: a write of the values starts a job, and what its rights are for counts from its end on. */
void init_jobs_look(struct turn *t)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct fact_job *job = init_job(t, (enum model_side)side);
        if (t->m->job_done_ms[side] == 0 && job != NULL && job->succeeded)
            t->m->job_done_ms[side] = t->now;
    }
}

void job_seen(struct turn *t)
{
    if (t->m->job_done_ms[t->near] == 0)
        turn_note(t, "%s: no init job can be named; it is judged by the ACLs", turn_name(t, t->near));
}

bool connect_not_ready(struct turn *t)
{
    const struct verify_side *facts = turn_side(t, t->near);
    const struct fact_connect *connect = facts->connect;
    int64_t ready = 0;
    if (connect == NULL || !connect->ready || connect->observed_generation != connect->generation) {
        (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "KafkaConnect %s of %s to be Ready at its generation",
                        turn_cluster(t, t->near)->distributor.connect, turn_name(t, t->near));
        return true;
    }
    for (size_t i = 0; i < facts->pod_count; i++)
        ready += facts->pods[i]->ready && !facts->pods[i]->deleting;
    if (ready >= connect->replicas)
        return false;
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "%lld of %lld Kafka Connect pods of %s ready", (long long)ready,
                    (long long)connect->replicas, turn_name(t, t->near));
    return true;
}

static bool init_quiet(struct turn *t)
{
    t->unknown = false;
    bool quiet = turn_fresh(t, t->near, VF_GROUPS, t->m->step_since_ms) && turn_side(t, t->near)->stamp[VF_CONNECTORS].as_of_ms != 0;
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        quiet = quiet && connector_off(t, t->near, (enum model_connector)c);
    return quiet;
}

bool not_quiet(struct turn *t)
{
    bool quiet = init_quiet(t);
    if (!quiet)
        (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "all connectors of %s to be gone and their groups without members",
                        turn_name(t, t->near));
    return !quiet;
}

bool quiet_ended(struct turn *t)
{
    return !init_quiet(t) && !t->unknown;
}

bool quiet_held(struct turn *t)
{
    bool blind = false;
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        blind = blind || connector_blind(t, t->near, (enum model_connector)c);
    int64_t hold = blind && t->spec->reconcile_ms > t->spec->held_ms ? t->spec->reconcile_ms : t->spec->held_ms;
    return turn_held(t, init_quiet(t), hold);
}

/* ACLs are looked at in this step, and once this revision's job is done. */
static int64_t init_acls_since(const struct turn *t)
{
    int64_t done = t->m->job_done_ms[t->near];
    return done > t->m->step_since_ms ? done : t->m->step_since_ms;
}

static bool init_acls_known(struct turn *t)
{
    return turn_fresh(t, t->near, VF_ACLS, init_acls_since(t));
}

/* How long ACLs may be missing. When values were written and no job of theirs was seen, they may not be applied yet: whoever does that
 * (a pipeline, an operator's round) takes as long as a stage may. */
static int64_t init_acls_due(const struct turn *t)
{
    if (t->m->job_done_ms[t->near] != 0)
        return init_acls_since(t) + turn_poll_ms(t);
    bool unseen = t->st->run.written_ms[t->near] != 0 && init_job(t, t->near) == NULL;
    return unseen || init_job_runs(t, t->near) ? turn_stage_due(t) : t->m->step_since_ms + verify_arrival_ms(t->s);
}

bool acls_effective(struct turn *t)
{
    if (!init_acls_known(t))
        return false;
    return turn_side(t, t->near)->write_test.allowed;
}

bool acls_late(struct turn *t)
{
    char path[PRINCIPALS_PATH_TEXT];
    const struct verify_right *right = &turn_side(t, t->near)->write_test;
    if (!init_acls_known(t) || right->allowed)
        return false;
    int64_t due = init_acls_due(t);
    turn_wake(t, due);
    if (t->now < due)
        return false;
    if (right->denied)
        turn_say(t, "%s is denied Write on topic %s of Kafka cluster %s by a deny ACL; remove the rule", right->principal,
                 turn_cluster(t, t->near)->topic, turn_name(t, t->near));
    else
        turn_say(t, "%s lacks Write on topic %s of Kafka cluster %s; check %s of %s and its init job%s", right->principal,
                 turn_cluster(t, t->near)->topic, turn_name(t, t->near), principals_path(t, t->near, path), turn_name(t, t->near),
                 init_job(t, t->near) == NULL ? " (none was seen: were the values applied?)" : "");
    return true;
}

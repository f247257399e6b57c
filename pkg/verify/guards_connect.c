#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "verify/guards.h"

/* What Kafka Connect shows in every step: connectors and tasks, rights that they lack, logs, members of the test group. */

/* ---------------------------------------------------------------- connectors */

static bool connect_known_name(struct turn *t, enum model_side side, const char *name)
{
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        if (dv_streq(turn_cluster(t, side)->distributor.switches[model_connector_switch((enum model_connector)c)].connector, name))
            return true;
    return false;
}

/* Names outside the three count always; of the three, one that is not wanted has until its values are applied. */
static bool connect_stray(struct turn *t, enum model_side side, const char *name)
{
    struct model_switches want;
    if (t->m->applied_row != (int)t->step->row || !turn_want(t, side, &want))
        return false;
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        if (dv_streq(turn_cluster(t, side)->distributor.switches[model_connector_switch((enum model_connector)c)].connector, name))
            return !turn_wants_connector(t, side, (enum model_connector)c);
    return false;
}

bool connector_unexpected(struct turn *t)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_side *facts = &t->s->side[side];
        for (size_t i = 0; i < facts->connector_count; i++) {
            const struct fact_connector *fact = facts->connectors[i].fact;
            if (fact->deleting || fact->state == FACT_STATE_STOPPED)
                continue;
            if (connect_stray(t, (enum model_side)side, fact->name)) {
                turn_say(t, "%s: KafkaConnector %s/%s came back although it is off in the values; find out what started it",
                         turn_name(t, (enum model_side)side), turn_cluster(t, (enum model_side)side)->ns, fact->name);
                return true;
            }
            if (connect_known_name(t, (enum model_side)side, fact->name))
                continue;
            turn_say(
                t,
                "%s: KafkaConnector %s/%s runs on KafkaConnect %s and belongs to no switch of this verification; switch it off or correct "
                "spec.clusters.%s.distributor.switches.*.connector",
                turn_name(t, (enum model_side)side), turn_cluster(t, (enum model_side)side)->ns, fact->name,
                turn_cluster(t, (enum model_side)side)->distributor.connect, model_side_name((enum model_side)side));
            return true;
        }
    }
    return false;
}

/* Calls each wanted connector that has a fact. */
static bool connect_each_wanted(struct turn *t, bool (*bad)(struct turn *t, enum model_side side, enum model_connector connector,
                                                            const struct verify_connector *fact))
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        for (int c = 0; c < MODEL_CONNECTORS; c++) {
            if (!turn_wants_connector(t, (enum model_side)side, (enum model_connector)c))
                continue;
            const struct verify_connector *connector = turn_connector(t, (enum model_side)side, (enum model_connector)c);
            if (connector != NULL && bad(t, (enum model_side)side, (enum model_connector)c, connector))
                return true;
        }
    }
    return false;
}

/* When this revision's init job has had its chance: findings about rights count from then on. */
#define RESTART_MARGIN_MS 30000 /* an operator's round takes its time, and so does the restart before it shows */

/* Values are applied some time after they were written: not later than the youngest connector appeared. */
static int64_t connect_applied_ms(const struct turn *t, enum model_side side)
{
    int64_t since = t->m->written_ms[side] != 0 ? t->m->written_ms[side] : t->m->stage_since_ms;
    for (size_t i = 0; i < t->s->side[side].connector_count; i++) {
        int64_t created = t->s->side[side].connectors[i].fact->created_ms + t->now - t->s->now.wall_ms;
        if (created > since)
            since = created < t->now ? created : t->now;
    }
    return since;
}

static int64_t connect_rights_due(struct turn *t, enum model_side side)
{
    struct verify_memory *m = t->m;
    int64_t since = init_job_runs(t, side) ? t->now : connect_applied_ms(t, side);
    int64_t given = m->job_done_ms[side] != 0 ? m->job_done_ms[side] : since + verify_arrival_ms(t->s);
    int64_t due = given;
    for (size_t i = 0; i < t->s->side[side].connector_count; i++) {
        const struct fact_connector *fact = t->s->side[side].connectors[i].fact;
        int64_t from_wall = t->now - t->s->now.wall_ms;
        bool in_vain = fact->restart_due_ms != 0 && fact->restarted_ms + from_wall < given; /* the next one is waited for */
        int64_t restart = in_vain && fact->restart_due_ms + from_wall > given ? fact->restart_due_ms + from_wall : given;
        if (fact->auto_restart_on && restart + t->spec->reconcile_ms + RESTART_MARGIN_MS > due)
            due = restart + t->spec->reconcile_ms + RESTART_MARGIN_MS;
    }
    if (m->rights_given_ms[side] == given && m->rights_due_ms[side] > due)
        due = m->rights_due_ms[side]; /* the restart that was waited for came: it is pardoned, not held against the connector */
    m->rights_given_ms[side] = given;
    m->rights_due_ms[side] = due;
    return due;
}

static bool connect_rights_count(struct turn *t, enum model_side side)
{
    int64_t due = connect_rights_due(t, side);
    if (t->now >= due)
        return true;
    turn_wake(t, due);
    return false;
}

/* A line from before says nothing: the right may have come since. */
static bool connect_line_counts(struct turn *t, enum model_side side, const struct fact_log_finding *finding)
{
    int64_t due_wall_ms = t->s->now.wall_ms - (t->now - connect_rights_due(t, side));
    return connect_rights_count(t, side) && (finding->last_ms == 0 || finding->last_ms >= due_wall_ms);
}

static const char *connect_principal(struct turn *t, enum model_side side)
{
    const struct model_distributor *distributor = &turn_cluster(t, side)->distributor;
    return distributor->principal_count > 0 ? distributor->principals[0] : "the Distributor's principal";
}

static void connect_say_right(struct turn *t, enum model_side side, const char *who, const char *operation, const char *what,
                              const char *name, bool denied)
{
    char path[PRINCIPALS_PATH_TEXT];
    if (denied)
        turn_say(t, "%s on Kafka cluster %s is denied %s on %s %s by a deny ACL; remove the rule", who, turn_name(t, side), operation, what,
                 name);
    else
        turn_say(t, "%s lacks %s on %s %s of Kafka cluster %s; add it to %s of %s and let its init job run", who, operation, what, name,
                 turn_name(t, side), principals_path(t, side, path), turn_name(t, side));
}

static bool connect_lacks(struct turn *t, enum model_side side, const struct verify_right *right, const char *operation, const char *what,
                          const char *name)
{
    if (right->allowed)
        return false;
    connect_say_right(t, side, right->principal, operation, what, name, right->denied);
    return true;
}

static bool connect_acls_known(struct turn *t)
{
    bool a = turn_fresh(t, MODEL_A, VF_ACLS, t->m->step_since_ms);
    return turn_fresh(t, MODEL_B, VF_ACLS, t->m->step_since_ms) && a;
}

/* Which right is it? The connector's own cluster for its group, the far one for what it writes. */
static void connect_name_acl(struct turn *t, enum model_side side, enum model_connector connector)
{
    enum model_side far = model_far(side);
    const struct verify_side *here = turn_side(t, side);
    const struct verify_side *there = turn_side(t, far);
    bool known = connect_acls_known(t);
    const struct fact_group *group = turn_group(t, side, (int)connector);
    if (known && connect_lacks(t, side, &here->read_group[connector], "Read", "group", group != NULL ? group->name : "of the connector"))
        return;
    if (known && connector == MODEL_MD && connect_lacks(t, far, &there->write_test, "Write", "topic", turn_cluster(t, far)->topic))
        return;
    if (known && connector == MODEL_OD && connect_lacks(t, far, &there->write_ts, "Write", "topic", turn_cluster(t, far)->timestamps_topic))
        return;
    char own[PRINCIPALS_PATH_TEXT];
    char other[PRINCIPALS_PATH_TEXT];
    bool same = dv_streq(principals_path(t, side, own), principals_path(t, far, other));
    turn_say(t, "%s of %s is refused by an ACL; check %s of %s (its own group) and %s%sof %s (what it writes) for %s",
             model_connector_text(connector), turn_name(t, side), own, turn_name(t, side), same ? "" : other, same ? "" : " ",
             turn_name(t, far), connect_principal(t, side));
}

static bool connect_refused(struct turn *t, enum model_side side, enum model_connector connector, const struct verify_connector *fact)
{
    const struct verify_side *facts = turn_side(t, side);
    bool refused = fact->fact->authorization && (fact->fact->tasks_failed > 0 || fact->fact->state == FACT_STATE_FAILED) &&
                   connect_rights_count(t, side);
    (void)connector;
    for (size_t i = 0; i < facts->finding_count && !refused; i++)
        refused = facts->findings[i].kind == FACT_LOG_AUTHORIZATION &&
                  (facts->findings[i].connector[0] == '\0' || dv_streq(facts->findings[i].connector, fact->fact->name)) &&
                  connect_line_counts(t, side, &facts->findings[i]);
    return refused;
}

static bool connect_acl_of(struct turn *t, enum model_side side, enum model_connector connector, const struct verify_connector *fact)
{
    if (!connect_refused(t, side, connector, fact))
        return false;
    connect_name_acl(t, side, connector);
    return true;
}

/* Something was refused: before it is said what, both clusters' ACLs are looked at. */
bool acls_open(struct turn *t)
{
    return connect_each_wanted(t, connect_refused) && !connect_acls_known(t);
}

bool acl_missing(struct turn *t)
{
    return connect_each_wanted(t, connect_acl_of);
}

static bool connect_pardoned(struct turn *t, enum model_side side, const struct verify_connector *fact)
{
    return fact->fact->authorization && !connect_rights_count(t, side);
}

static bool connect_plugin_of(struct turn *t, enum model_side side, enum model_connector connector, const struct verify_connector *fact)
{
    if (!fact->fact->plugin_missing)
        return false;
    turn_say(t, "%s of %s: class %s is not in the Kafka Connect image", model_connector_text(connector), turn_name(t, side),
             fact->fact->class_name);
    return true;
}

bool plugin_missing(struct turn *t)
{
    return connect_each_wanted(t, connect_plugin_of);
}

static bool connect_connector_bad(struct turn *t, enum model_side side, enum model_connector connector, const struct verify_connector *fact)
{
    if (fact->health != VERIFY_FAILED || fact->fact->tasks_failed > 0 || connect_pardoned(t, side, fact))
        return false;
    turn_say(t, "%s of %s (KafkaConnector %s) failed: %s", model_connector_text(connector), turn_name(t, side), fact->fact->name,
             fact->why);
    return true;
}

bool connector_failed(struct turn *t)
{
    return connect_each_wanted(t, connect_connector_bad);
}

/* The count at the start of the watch is the base; a count that rises was a failure, whatever the tasks say now. */
static bool connect_restarts_rise(struct turn *t, enum model_side side, enum model_connector connector, const struct verify_connector *fact)
{
    struct verify_memory *m = t->m;
    int64_t count = fact->fact->auto_restarts;
    if (!m->restarts_known[side][connector] || count < m->restarts[side][connector]) {
        m->restarts_known[side][connector] = true;
        m->restarts[side][connector] = count;
    }
    if (count == m->restarts[side][connector])
        return false;
    bool pardoned = fact->fact->restarted_ms != 0 && fact->fact->restarted_ms + t->now - t->s->now.wall_ms <= connect_rights_due(t, side);
    if (pardoned || !connect_rights_count(t, side)) {
        m->restarts[side][connector] = count; /* the status may show it a reconcile interval later */
        return false;
    }
    turn_say(t, "%s of %s (KafkaConnector %s) was restarted automatically %lld times since this stage began%s%s",
             model_connector_text(connector), turn_name(t, side), fact->fact->name, (long long)(count - m->restarts[side][connector]),
             fact->fact->cause[0] != '\0' ? ": " : "", fact->fact->cause);
    return true;
}

/* The log says that a task ended before Strimzi's status does, which may be a reconcile interval old. */
static const struct fact_log_finding *connect_task_death(struct turn *t, enum model_side side, const struct verify_connector *fact)
{
    const struct verify_side *facts = turn_side(t, side);
    for (size_t i = 0; i < facts->finding_count; i++) {
        const struct fact_log_finding *finding = &facts->findings[i];
        bool about_rights = finding->kind == FACT_LOG_AUTHORIZATION || finding->kind == FACT_LOG_UNKNOWN_TOPIC;
        if (facts->finding_dirty[i] && finding->ended && dv_streq(finding->connector, fact->fact->name) &&
            (!about_rights || connect_line_counts(t, side, finding)))
            return finding;
    }
    return NULL;
}

static bool connect_task_bad(struct turn *t, enum model_side side, enum model_connector connector, const struct verify_connector *fact)
{
    if (fact->fact->tasks_failed > 0 && !connect_pardoned(t, side, fact)) {
        turn_say(t, "task %d of the %s of %s (KafkaConnector %s) failed: %s", fact->fact->first_failed_task,
                 model_connector_text(connector), turn_name(t, side), fact->fact->name,
                 fact->fact->cause[0] != '\0' ? fact->fact->cause : fact->why);
        return true;
    }
    const struct fact_log_finding *death = t->m->disturbed_ms == 0 ? connect_task_death(t, side, fact) : NULL;
    if (death != NULL) {
        turn_say(t, "task %d of the %s of %s (KafkaConnector %s) failed: %s", death->task, model_connector_text(connector),
                 turn_name(t, side), fact->fact->name, death->cause);
        return true;
    }
    return connect_restarts_rise(t, side, connector, fact);
}

bool task_failed(struct turn *t)
{
    return connect_each_wanted(t, connect_task_bad);
}

/* ---------------------------------------------------------------- logs */

/* A task that was switched off, or moved when a pod or broker was restarted, and did not end within its time: what it had not committed
 * comes again, and the counts and offsets tell whether anything is wrong. */
static bool connect_stopped_late(struct turn *t, enum model_side side, const struct fact_log_finding *finding)
{
    if (strstr(finding->line, "Graceful stop of task") == NULL)
        return false;
    if (t->m->disturbed_ms != 0)
        return true;
    for (int c = 0; c < MODEL_CONNECTORS; c++) {
        const char *name = turn_cluster(t, side)->distributor.switches[model_connector_switch((enum model_connector)c)].connector;
        if (dv_streq(name, finding->connector))
            return !turn_wants_connector(t, side, (enum model_connector)c);
    }
    return false;
}

static const struct fact_log_finding *connect_dirty(struct turn *t, enum model_side *where)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_side *facts = &t->s->side[side];
        for (size_t i = 0; i < facts->finding_count; i++) {
            const struct fact_log_finding *finding = &facts->findings[i];
            if (!facts->finding_dirty[i])
                continue;
            bool about_rights = finding->kind == FACT_LOG_AUTHORIZATION || finding->kind == FACT_LOG_UNKNOWN_TOPIC;
            if (about_rights && !connect_line_counts(t, (enum model_side)side, finding))
                continue;
            bool stopped_late = connect_stopped_late(t, (enum model_side)side, finding);
            if (stopped_late || finding->kind == FACT_LOG_RETRYING) {
                turn_note(t, "%s: pod %s line %lld%s: %s", turn_name(t, (enum model_side)side), finding->pod,
                          (long long)finding->first_line, stopped_late ? "" : " retried", stopped_late ? finding->line : finding->cause);
                continue;
            }
            *where = (enum model_side)side;
            return finding;
        }
    }
    return NULL;
}

static bool connect_say_dirty(struct turn *t)
{
    enum model_side side = MODEL_A;
    const struct fact_log_finding *finding = connect_dirty(t, &side);
    if (finding == NULL)
        return false;
    turn_say(t, "%s: pod %s logged%s (%lld times): %s", turn_name(t, side), finding->pod, finding->warning ? " a warning" : " an error",
             (long long)finding->count, finding->cause[0] != '\0' ? finding->cause : finding->line);
    return true;
}

/* A broker that goes down shows in the logs before it shows to us: what was logged is judged once both clusters have answered since. */
static bool connect_answered(struct turn *t)
{
    enum model_side side = MODEL_A;
    if (connect_dirty(t, &side) == NULL) {
        t->m->dirty_ms = 0;
        return true;
    }
    if (t->m->dirty_ms == 0)
        t->m->dirty_ms = t->now;
    bool a = turn_fresh(t, MODEL_A, VF_GROUPS, t->m->dirty_ms);
    return turn_fresh(t, MODEL_B, VF_GROUPS, t->m->dirty_ms) && a;
}

bool logs_open(struct turn *t)
{
    return t->m->disturbed_ms == 0 && !connect_answered(t);
}

bool logs_disturbed(struct turn *t)
{
    return t->m->disturbed_ms != 0 && connect_say_dirty(t);
}

bool logs_dirty(struct turn *t)
{
    return t->m->disturbed_ms == 0 && connect_answered(t) && connect_say_dirty(t);
}

bool group_active(struct turn *t)
{
    if (t->stage < STAGE_OFFSETS_A_TO_B)
        return false;
    for (int side = 0; side < MODEL_SIDES; side++) {
        bool known = turn_fresh(t, (enum model_side)side, VF_GROUPS, t->m->retry_ms); /* each attempt looks anew */
        const struct fact_group *group = turn_group(t, (enum model_side)side, VERIFY_TEST_GROUP);
        if (!known || group == NULL || (group->members == 0 && !turn_group_hidden(group)))
            continue;
        if (group->members == 0)
            turn_say(t,
                     "group %s on %s has come to use the new consumer protocol, so somebody joined it; the offset proof needs it without "
                     "members",
                     group->name, turn_name(t, (enum model_side)side));
        else
            turn_say(t, "group %s on %s has %d members; the offset proof needs it without any", group->name,
                     turn_name(t, (enum model_side)side), group->members);
        return true;
    }
    return false;
}

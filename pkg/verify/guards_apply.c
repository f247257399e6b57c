#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "verify/guards.h"

static void apply_waits(struct turn *t, enum model_side side, enum model_connector connector, const char *what)
{
    const char *name = turn_cluster(t, side)->distributor.switches[model_connector_switch(connector)].connector;
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "KafkaConnector %s of %s %s", name, turn_name(t, side), what);
}

static void apply_waits_group(struct turn *t, enum model_side side, enum model_connector connector, const char *what)
{
    const struct fact_group *group = turn_group(t, side, (int)connector);
    const char *name = turn_cluster(t, side)->distributor.switches[model_connector_switch(connector)].connector;
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "group %s of KafkaConnector %s on Kafka cluster %s %s",
                    group != NULL ? group->name : "", name, turn_name(t, side), what);
}

/* ---------------------------------------------------------------- declared */

bool declared_all(struct turn *t)
{
    struct model_switches want;
    EACH_SIDE (side)
        if (turn_want(t, (enum model_side)side, &want) && !turn_declared(t, (enum model_side)side, &want))
            return false;
    /* An equal text is not written; from here on the run answers for it. */
    EACH_SIDE (side) {
        struct model_run *run = &t->st->run;
        if (!turn_want(t, (enum model_side)side, &want))
            continue;
        if (!run->have_left[side] || memcmp(&run->left[side], &want, sizeof want) != 0)
            evidence_values(t, (enum model_side)side, false);
        run->left[side] = want;
        run->have_left[side] = true;
    }
    return true;
}

void write_values(struct turn *t)
{
    struct model_switches want;
    EACH_SIDE (side) {
        if (!turn_want(t, (enum model_side)side, &want) || turn_declared(t, (enum model_side)side, &want))
            continue;
        intent_values(t, (enum model_side)side);
        return;
    }
}

/* ---------------------------------------------------------------- applied, on, off */

static bool apply_object_there(struct turn *t, enum model_side side, enum model_connector connector)
{
    const struct verify_connector *fact = turn_connector(t, side, connector);
    if (fact == NULL || fact->fact->deleting) {
        apply_waits(t, side, connector, "to appear");
        return false;
    }
    if (fact->fact->observed_generation != fact->fact->generation) {
        apply_waits(t, side, connector, "to be reconciled at its generation");
        return false;
    }
    return true;
}

static bool apply_object_gone(struct turn *t, enum model_side side, enum model_connector connector)
{
    const struct verify_connector *fact = turn_connector(t, side, connector);
    if (fact == NULL || (fact->fact->state == FACT_STATE_STOPPED && fact->fact->observed_generation == fact->fact->generation))
        return true;
    apply_waits(t, side, connector, "to go away");
    return false;
}

/* The wanted set of KafkaConnectors, each at its generation, and none of the others. */
bool applied(struct turn *t)
{
    struct model_switches want;
    EACH_SIDE (side) {
        if (!turn_want(t, (enum model_side)side, &want))
            continue;
        if (t->s->side[side].stamp[VF_CONNECTORS].as_of_ms == 0)
            return false;
        EACH_CONNECTOR (c) {
            enum model_connector connector = (enum model_connector)c;
            bool on = turn_wants_connector(t, (enum model_side)side, connector);
            if (on ? !apply_object_there(t, (enum model_side)side, connector) : !apply_object_gone(t, (enum model_side)side, connector))
                return false;
        }
    }
    t->m->applied_row = (int)t->step->row;
    return true;
}

bool connector_blind(const struct turn *t, enum model_side side, enum model_connector connector)
{
    const struct fact_group *group = turn_group(t, side, (int)connector);
    return group != NULL && turn_group_hidden(group);
}

bool connector_off(struct turn *t, enum model_side side, enum model_connector connector)
{
    const struct fact_group *group = turn_group(t, side, (int)connector);
    if (!apply_object_gone(t, side, connector) || group == NULL)
        return false;
    /* a state that is not known is no proof that nobody is there */
    return group->err.kind == DV_ERR_NONE && group->members == 0 && (group->state == FACT_GROUP_EMPTY || group->state == FACT_GROUP_DEAD);
}

static bool apply_assigned(const struct fact_group *group, const char *topic, int32_t partition)
{
    for (size_t i = 0; i < group->assignment_count; i++)
        if (group->assignments[i].partition == partition && dv_streq(group->assignments[i].topic, topic))
            return true;
    return false;
}

/* First partition that the connector must read and nobody is assigned; -1: none. */
static int32_t apply_unassigned(struct turn *t, enum model_side side, enum model_connector connector, const struct fact_group *group)
{
    const struct verify_side *facts = turn_side(t, side);
    const char *topic = connector == MODEL_MD ? turn_cluster(t, side)->topic : turn_cluster(t, side)->timestamps_topic;
    int32_t n = connector == MODEL_MD ? t->st->run.partitions : facts->ts_topic.partitions;
    if (connector == MODEL_OD)
        return group->assignment_count > 0 ? -1 : 0;
    for (int32_t p = 0; p < n; p++)
        if (!apply_assigned(group, topic, p))
            return p;
    return -1;
}

static bool apply_group_live(struct turn *t, enum model_side side, enum model_connector connector)
{
    const struct fact_group *group = turn_group(t, side, (int)connector);
    if (connector == MODEL_OC && !turn_fresh(t, side, VF_TS_TOPIC, t->m->step_since_ms))
        return false;
    if (group == NULL || group->state != FACT_GROUP_STABLE || group->members == 0) {
        apply_waits_group(t, side, connector, "to be Stable with members");
        return false;
    }
    if (connector == MODEL_OC && !turn_side(t, side)->ts_topic.found) {
        apply_waits(t, side, connector, "to find its timestamps topic");
        return false;
    }
    if (apply_unassigned(t, side, connector, group) >= 0) {
        apply_waits_group(t, side, connector, "to be assigned every wanted partition");
        return false;
    }
    return true;
}

static bool apply_on(struct turn *t, enum model_side side, enum model_connector connector, bool *blind)
{
    if (!apply_object_there(t, side, connector))
        return false;
    const struct verify_connector *fact = turn_connector(t, side, connector);
    if (fact->health != VERIFY_HEALTHY) {
        char what[300];
        (void)dv_format(what, sizeof what, "to be RUNNING with all its tasks%s%s", fact->why[0] != '\0' ? ": " : "", fact->why);
        apply_waits(t, side, connector, what);
        return false;
    }
    const struct fact_group *group = turn_group(t, side, (int)connector);
    if (group != NULL && (fact->fact->source || turn_group_hidden(group))) { /* the object is the evidence */
        *blind = true;
        return true;
    }
    return apply_group_live(t, side, connector);
}

static bool apply_side(struct turn *t, enum model_side side, bool *blind)
{
    int64_t since = t->m->written_ms[side] > t->m->step_since_ms ? t->m->written_ms[side] : t->m->step_since_ms;
    struct model_switches want;
    if (!turn_want(t, side, &want))
        return true;
    if (!turn_fresh(t, side, VF_GROUPS, since)) {
        (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "%s of %s", verify_fact_text(VF_GROUPS), turn_name(t, side));
        return false;
    }
    EACH_CONNECTOR (c) {
        enum model_connector connector = (enum model_connector)c;
        bool ok = turn_wants_connector(t, side, connector) ? apply_on(t, side, connector, blind) : connector_off(t, side, connector);
        *blind = *blind || connector_blind(t, side, connector);
        if (!ok)
            return false;
    }
    return true;
}

/* Pods, connectors and tasks nearer to what is wanted are progress; the same way again is not. */
static void apply_score(struct turn *t)
{
    int64_t score = 0;
    EACH_SIDE (side) {
        const struct verify_side *facts = &t->s->side[side];
        for (size_t i = 0; i < facts->pod_count; i++)
            score += facts->pods[i]->ready;
        EACH_CONNECTOR (c) {
            const struct verify_connector *fact = turn_connector(t, (enum model_side)side, (enum model_connector)c);
            bool on = turn_wants_connector(t, (enum model_side)side, (enum model_connector)c);
            score += on ? (fact != NULL ? 1 + fact->fact->tasks_running : 0) : (fact == NULL);
        }
    }
    if (score > t->m->best_score) {
        t->m->best_score = score;
        turn_progress(t);
    }
}

bool connectors_on(struct turn *t)
{
    bool blind = false;
    t->unknown = false;
    apply_score(t);
    bool a = apply_side(t, MODEL_A, &blind);
    bool on = apply_side(t, MODEL_B, &blind) && a;
    if (on)
        t->m->applied_row = (int)t->step->row;
    return on;
}

/* A wanted connector whose group has no member: Kafka Connect holds a lost task back (scheduled.rebalance.max.delay.ms, 5 min unless set),
 * also after its worker is back. Nothing can arrive for so long, and what others had to do in the meantime counts from its end on. */
bool connectors_away(struct turn *t, int64_t since_ms)
{
    bool away = false;
    EACH_SIDE (side) {
        if (!turn_fresh(t, (enum model_side)side, VF_GROUPS, since_ms))
            return true; /* being asked */
        EACH_CONNECTOR (c) {
            const struct verify_connector *fact = turn_connector(t, (enum model_side)side, (enum model_connector)c);
            const struct fact_group *group = turn_group(t, (enum model_side)side, (int)c);
            bool blind =
                group == NULL || group->err.kind != DV_ERR_NONE || turn_group_hidden(group) || (fact != NULL && fact->fact->source);
            if (blind || group->members > 0 || !turn_wants_connector(t, (enum model_side)side, (enum model_connector)c))
                continue;
            apply_waits_group(t, (enum model_side)side, (enum model_connector)c, "to be Stable with members");
            away = true;
        }
    }
    if (away)
        t->m->disturbed_ms = t->now;
    return away;
}

bool connectors_fell(struct turn *t)
{
    return !connectors_on(t) && !t->unknown;
}

bool connectors_held(struct turn *t)
{
    bool blind = false;
    t->unknown = false;
    bool on = apply_side(t, MODEL_A, &blind);
    on = apply_side(t, MODEL_B, &blind) && on;
    int64_t hold = blind && t->spec->reconcile_ms > t->spec->held_ms ? t->spec->reconcile_ms : t->spec->held_ms;
    return turn_held(t, on, hold);
}

int64_t unsubscribed_partition(struct turn *t, enum model_side side)
{
    const struct fact_group *group = turn_group(t, side, MODEL_MD);
    if (group == NULL || group->state != FACT_GROUP_STABLE || group->members == 0 || !turn_wants_connector(t, side, MODEL_MD))
        return -1;
    return apply_unassigned(t, side, MODEL_MD, group);
}

/* Stable, and still nobody reads the partition after arrival: the pattern does not match. */
bool partition_unassigned(struct turn *t)
{
    EACH_SIDE (side) {
        int64_t partition = unsubscribed_partition(t, (enum model_side)side);
        if (partition < 0)
            continue;
        int64_t due = turn_arrival_due(t);
        turn_wake(t, due);
        if (t->now < due)
            return false;
        const struct verify_connector *fact = turn_connector(t, (enum model_side)side, MODEL_MD);
        turn_say(t, "the Message Distributor of %s reads no partition %lld of topic %s: its topics are \"%s\"",
                 turn_name(t, (enum model_side)side), (long long)partition, turn_cluster(t, (enum model_side)side)->topic,
                 fact != NULL && fact->fact->topics != NULL ? fact->fact->topics : "not shown");
        return true;
    }
    return false;
}

bool values_not_persisted(struct turn *t)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        struct model_switches want;
        if (!table_switches(t->spec, ROW_FINALLY, (enum model_side)side, &want) || turn_declared(t, (enum model_side)side, &want))
            continue;
        turn_say(t, "the values of %s do not hold what is live at the end of the run", turn_name(t, (enum model_side)side));
        return true;
    }
    return false;
}

/* ---------------------------------------------------------------- timestamps topic */

bool ts_topic_missing(struct turn *t)
{
    enum model_side far = t->far;
    int64_t patience = verify_arrival_ms(t->s);
    if (!turn_fresh(t, far, VF_TS_TOPIC, t->m->step_since_ms) || t->s->side[far].ts_topic.found)
        return false;
    turn_wake(t, t->m->progress_ms + patience);
    if (t->now < t->m->progress_ms + patience || init_job_runs(t, far))
        return false;
    turn_say(t, "timestamps topic %s does not exist on %s although its Offset Committer is on; check spec.timestampsTopic and the init job",
             turn_cluster(t, far)->timestamps_topic, turn_name(t, far));
    return true;
}

bool ts_topic_ready(struct turn *t)
{
    enum model_side far = t->far;
    bool known = turn_fresh(t, far, VF_TS_TOPIC, t->m->step_since_ms);
    known = turn_fresh(t, far, VF_ACLS, t->m->step_since_ms) && known;
    if (!known || !t->s->side[far].ts_topic.found)
        return false;
    if (!turn_fresh(t, far, VF_TS_READ_RIGHT, t->m->step_since_ms))
        return false;
    if (t->s->side[far].write_ts.allowed)
        return true;
    (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "Write on topic %s of %s for %.60s", turn_cluster(t, far)->timestamps_topic,
                    turn_name(t, far), t->s->side[far].write_ts.principal);
    return false;
}

/* The timestamps topic that the spec names is there, but the Offset Committer reads another one. */
bool committer_elsewhere(struct turn *t)
{
    const struct fact_group *group = turn_group(t, t->far, MODEL_OC);
    if (group == NULL || group->state != FACT_GROUP_STABLE || group->assignment_count == 0 || !turn_side(t, t->far)->ts_topic.found ||
        apply_unassigned(t, t->far, MODEL_OC, group) < 0)
        return false;
    int64_t due = turn_undisturbed(t, t->m->progress_ms) + verify_arrival_ms(t->s);
    turn_wake(t, due);
    if (t->now < due)
        return false;
    turn_say(t, "the Offset Committer of %s reads topic %s and not all of %s; check spec.timestampsTopic", turn_name(t, t->far),
             group->assignments[0].topic, turn_cluster(t, t->far)->timestamps_topic);
    return true;
}

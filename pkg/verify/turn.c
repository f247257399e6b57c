#include "verify/turn.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define FAILED_ASK_AGAIN_MS 1000

bool always(struct turn *t)
{
    (void)t;
    return true;
}

void nothing(struct turn *t)
{
    (void)t;
}

const char *verify_fact_text(enum verify_fact fact)
{
    static const char *const texts[VF_COUNT] = {
        [VF_CLUSTER_ID] = "cluster id",
        [VF_TEST_TOPIC] = "description of the test topic",
        [VF_TS_TOPIC] = "description of the timestamps topic",
        [VF_TEST_LOG] = "log end of the test topic",
        [VF_TS_LOG] = "log end of the timestamps topic",
        [VF_READ_RIGHT] = "read of the test topic",
        [VF_TS_READ_RIGHT] = "read of the timestamps topic",
        [VF_ACLS] = "list of ACLs",
        [VF_GROUPS] = "description of the consumer groups",
        [VF_MD_COMMITS] = "Message Distributor's committed offsets",
        [VF_TEST_COMMITS] = "test group's committed offsets",
        [VF_GROUP_LAG] = "lag of the Message Distributor's whole group",
        [VF_DISTANCE] = "records between two offsets",
        [VF_ACCESS] = "own rights on the API server",
        [VF_VALUES] = "values object",
        [VF_CONNECT] = "KafkaConnect",
        [VF_CONNECTORS] = "KafkaConnectors",
        [VF_PODS] = "Kafka Connect pods",
        [VF_JOBS] = "Jobs",
        [VF_LOGS] = "Kafka Connect pods' logs",
    };
    return texts[fact];
}

void turn_say(struct turn *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(t->said, sizeof t->said, fmt, ap);
    va_end(ap);
}

void turn_wake(struct turn *t, int64_t at_ms)
{
    if (at_ms < t->now)
        return; /* a wait that is over wakes nobody */
    if (at_ms == t->now)
        at_ms = t->now + 1;
    if (at_ms < t->p->wake_ms)
        t->p->wake_ms = at_ms;
}

void turn_event(struct turn *t, bool warning, const char *reason, const char *fmt, ...)
{
    struct verify_plan *p = t->p;
    if (p->event_count == VERIFY_EVENTS_MAX)
        return;
    struct verify_event *event = &p->events[p->event_count++];
    event->warning = warning;
    (void)dv_strlcpy(event->run, t->st->run.id, sizeof event->run);
    (void)dv_strlcpy(event->reason, reason, sizeof event->reason);
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(event->note, sizeof event->note, fmt, ap);
    va_end(ap);
    (void)dv_utf8_clean(event->note); /* a character that was cut would be no JSON */
}

void turn_note(struct turn *t, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)dv_utf8_clean(text);
    json_t *evidence = model_evidence(t->st, t->stage);
    json_t *notes = json_object_get(evidence, "notes");
    if (notes == NULL) {
        notes = json_array();
        json_object_set_new(evidence, "notes", notes);
    }
    for (size_t i = 0; i < json_array_size(notes); i++)
        if (dv_streq(json_string_value(json_array_get(notes, i)), text))
            return;
    if (json_array_size(notes) < 16)
        json_array_append_new(notes, json_string(text));
}

void turn_progress(struct turn *t)
{
    t->m->progress_ms = t->now;
    t->m->idle_before_ms = 0;
}

const struct verify_side *turn_side(const struct turn *t, enum model_side side)
{
    return &t->s->side[side];
}

const struct model_cluster *turn_cluster(const struct turn *t, enum model_side side)
{
    return &t->spec->cluster[side];
}

const char *turn_name(const struct turn *t, enum model_side side)
{
    return t->spec != NULL ? t->spec->cluster[side].name : model_side_name(side);
}

int64_t verify_commit_interval_ms(const struct verify_snapshot *snapshot)
{
    if (snapshot->spec->commit_interval_ms >= 0)
        return snapshot->spec->commit_interval_ms;
    int64_t longest = -1;
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct fact_connect *connect = snapshot->side[side].connect;
        int64_t flush = connect != NULL && connect->flush_ms >= 0 ? connect->flush_ms : 60000;
        if (flush > longest)
            longest = flush;
    }
    return longest;
}

int64_t verify_arrival_ms(const struct verify_snapshot *snapshot)
{
    if (snapshot->spec->arrival_ms >= 0)
        return snapshot->spec->arrival_ms;
    return verify_commit_interval_ms(snapshot) + 30000;
}

const char *turn_what(const struct turn *t)
{
    return t->step->what != NULL ? t->step->what : "the next step";
}

const char *turn_open_wait(struct turn *t)
{
    if (t->p->waits_for[0] == '\0' && t->m->effect_err.kind != DV_ERR_NONE)
        (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "%s: %s", turn_what(t), t->m->effect_err.text);
    return t->p->waits_for[0] != '\0' ? t->p->waits_for : turn_what(t);
}

int64_t turn_poll_ms(const struct turn *t)
{
    int64_t poll = verify_commit_interval_ms(t->s) / 5;
    return poll < 200 ? 200 : poll > 2000 ? 2000 : poll;
}

bool turn_fresh(struct turn *t, enum model_side side, enum verify_fact fact, int64_t since_ms)
{
    const struct verify_stamp *stamp = &t->s->side[side].stamp[fact];
    bool known = stamp->as_of_ms != 0 && stamp->as_of_ms >= since_ms;
    if (fact >= VF_ASKED_COUNT) {
        t->unknown = t->unknown || stamp->as_of_ms == 0;
        return stamp->as_of_ms != 0;
    }
    int64_t again = known ? stamp->as_of_ms + turn_poll_ms(t) : t->now;
    if (stamp->failed_ms > stamp->as_of_ms && again < stamp->failed_ms + FAILED_ASK_AGAIN_MS)
        again = stamp->failed_ms + FAILED_ASK_AGAIN_MS;
    t->unknown = t->unknown || !known;
    if (again <= t->now)
        t->p->ask[side] |= 1u << fact;
    else
        turn_wake(t, again);
    return known;
}

static bool turn_same_range(const struct verify_distance *a, const struct verify_distance *b)
{
    return a->partition == b->partition && a->from == b->from && a->to == b->to && a->before_ms == b->before_ms;
}

bool verify_distance_same(const struct verify_distance *a, const struct verify_distance *b)
{
    return turn_same_range(a, b) && a->limit == b->limit;
}

/* A count that did not come to its own limit answers for every other one. */
static bool turn_answers(const struct verify_distance *d, const struct verify_distance *question)
{
    bool exact = d->limit == 0 || d->records < d->limit;
    return turn_same_range(d, question) && (exact || (question->limit > 0 && question->limit <= d->limit));
}

static void turn_ask_distance(struct turn *t, enum model_side side, const struct verify_distance *question)
{
    const struct verify_stamp *stamp = &t->s->side[side].stamp[VF_DISTANCE];
    size_t *count = &t->p->distance_count[side];
    if (stamp->failed_ms > stamp->as_of_ms && t->now < stamp->failed_ms + FAILED_ASK_AGAIN_MS) {
        turn_wake(t, stamp->failed_ms + FAILED_ASK_AGAIN_MS);
        return;
    }
    for (size_t i = 0; i < *count; i++)
        if (verify_distance_same(&t->p->distances[side][i], question))
            return;
    if (*count == VERIFY_QUESTIONS)
        return;
    t->p->distances[side][(*count)++] = *question;
    t->p->ask[side] |= 1u << VF_DISTANCE;
}

int64_t turn_distance(struct turn *t, enum model_side side, const struct verify_distance *question)
{
    const struct verify_side *facts = turn_side(t, side);
    for (size_t i = 0; i < facts->distance_count; i++)
        if (turn_answers(&facts->distances[i], question))
            return facts->distances[i].records;
    turn_ask_distance(t, side, question);
    return -1;
}

bool turn_held(struct turn *t, bool ok, int64_t for_ms)
{
    if (!ok) {
        if (!t->unknown)
            t->m->hold_since_ms = 0;
        return false;
    }
    if (t->m->hold_since_ms == 0)
        t->m->hold_since_ms = t->now;
    if (t->now - t->m->hold_since_ms >= for_ms)
        return true;
    turn_wake(t, t->m->hold_since_ms + for_ms);
    return false;
}

int64_t turn_step_age(const struct turn *t)
{
    return t->now - t->m->step_since_ms;
}

int64_t turn_undisturbed(const struct turn *t, int64_t since_ms)
{
    return t->m->disturbed_ms > since_ms ? t->m->disturbed_ms : since_ms;
}

int64_t turn_arrival_due(const struct turn *t)
{
    int64_t since = t->m->progress_ms > t->m->step_since_ms ? t->m->progress_ms : t->m->step_since_ms; /* a step back waits anew */
    return turn_undisturbed(t, since) + verify_arrival_ms(t->s);
}

int64_t turn_stage_due(const struct turn *t)
{
    return t->m->progress_ms + t->spec->stage_deadline_ms - t->m->idle_before_ms;
}

/* A step further on is progress; a step back is not. */
void turn_go(struct turn *t, const char *step)
{
    struct verify_memory *m = t->m;
    const struct verify_step *next = table_step(t->stage, step);
    evidence_wait(t, t->step->what, t->step->demanded, turn_step_age(t));
    if (next > t->step) {
        turn_progress(t);
        t->st->run.last_progress_ms = t->s->now.wall_ms;
    }
    (void)dv_strlcpy(m->step, step, sizeof m->step);
    (void)dv_strlcpy(t->st->stages[t->stage].step, step, sizeof m->step);
    m->step_since_ms = t->now;
    m->hold_since_ms = 0;
    m->look_ms = 0;
    m->best_score = 0;
    m->best_commit = 0;
    if (m->effect == EFFECT_NONE)
        m->effect_err = DV_ERR_INIT;
    t->step = next;
}

bool turn_want(const struct turn *t, enum model_side side, struct model_switches *out)
{
    if (t->step->row != ROW_LOOP_OFF)
        return table_switches(t->spec, t->step->row, side, out);
    *out = t->st->run.left[side];
    if (side == MODEL_B)
        out->on[MODEL_SW_MD] = false;
    return t->st->run.have_left[side];
}

bool turn_wants_connector(const struct turn *t, enum model_side side, enum model_connector connector)
{
    struct model_switches want;
    return turn_want(t, side, &want) && want.on[MODEL_SW_DISTRIBUTION] && want.on[model_connector_switch(connector)];
}

int turn_undeclared(const struct verify_values *values, const struct model_switches *want)
{
    for (int i = 0; i < MODEL_SWITCHES; i++)
        if (values->declared[i] != (want->on[i] ? VERIFY_ON : VERIFY_OFF))
            return i;
    return -1;
}

bool turn_declared(const struct turn *t, enum model_side side, const struct model_switches *want)
{
    const struct verify_values *values = turn_side(t, side)->values;
    return values != NULL && values->readable && turn_undeclared(values, want) < 0;
}

const struct verify_connector *turn_connector_named(const struct verify_side *facts, const char *name)
{
    for (size_t i = 0; i < facts->connector_count; i++)
        if (dv_streq(facts->connectors[i].fact->name, name))
            return &facts->connectors[i];
    return NULL;
}

const struct verify_connector *turn_connector(const struct turn *t, enum model_side side, enum model_connector connector)
{
    return turn_connector_named(turn_side(t, side),
                                turn_cluster(t, side)->distributor.switches[model_connector_switch(connector)].connector);
}

const struct fact_group *turn_group(const struct turn *t, enum model_side side, int which)
{
    const struct fact_group *groups = turn_side(t, side)->groups;
    return groups != NULL ? &groups[which] : NULL;
}

bool turn_group_hidden(const struct fact_group *group)
{
    return group->listed && group->state == FACT_GROUP_DEAD;
}

size_t turn_batch(const struct turn *t, enum model_side side)
{
    const struct model_run *run = &t->st->run;
    for (size_t i = run->batch_count; i > 0; i--)
        if (run->batches[i - 1].stage == t->stage && run->batches[i - 1].side == side && !run->batches[i - 1].maybe)
            return i - 1;
    return run->batch_count;
}

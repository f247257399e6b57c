#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "controller/internal.h"

/* ---------------------------------------------------------------- copies of what the port lends */

static int64_t *ask_copy_numbers(const int64_t *from, int32_t n)
{
    if (from == NULL || n <= 0)
        return NULL;
    int64_t *to = dv_calloc((size_t)n, sizeof *to);
    memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

static struct fact_offsets *ask_copy_offsets(const struct fact_offsets *from)
{
    struct fact_offsets *to = dv_alloc(sizeof *to);
    to->partitions = from->partitions;
    to->low = ask_copy_numbers(from->low, from->partitions);
    to->high = ask_copy_numbers(from->high, from->partitions);
    to->stable = ask_copy_numbers(from->stable, from->partitions);
    return to;
}

static struct fact_group *ask_copy_groups(const struct fact_group *from, size_t count)
{
    struct fact_group *to = dv_calloc(count, sizeof *to);
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].name = dv_strdup(from[i].name);
        to[i].assignments = from[i].assignment_count > 0 ? dv_calloc(from[i].assignment_count, sizeof *to[i].assignments) : NULL;
        for (size_t k = 0; k < from[i].assignment_count; k++)
            to[i].assignments[k] = (struct fact_assignment){dv_strdup(from[i].assignments[k].topic), from[i].assignments[k].partition};
    }
    return to;
}

/* ---------------------------------------------------------------- questions */

const char *entry_group(struct entry *entry, enum model_side side, int which, char *scratch, size_t size)
{
    const struct model_cluster *cluster = &entry->spec->cluster[side];
    if (which == VERIFY_TEST_GROUP)
        return cluster->group;
    const struct model_switch_spec *sw = &cluster->distributor.switches[model_connector_switch((enum model_connector)which)];
    if (sw->group != NULL)
        return sw->group;
    for (size_t i = 0; i < entry->side[side].connector_count; i++) {
        const struct fact_connector *fact = entry->side[side].connectors[i];
        if (dv_streq(fact->name, sw->connector) && fact->group_override != NULL)
            return fact->group_override;
    }
    return dv_format(scratch, size, "connect-%s", sw->connector);
}

static void ask_send(struct entry *entry, enum model_side side, enum verify_fact fact, const struct port_question *question,
                     const struct verify_distance *distance)
{
    struct controller *ctl = entry->ctl;
    struct ctl_side *facts = &entry->side[side];
    struct ticket *ticket = ticket_new(ctl, TICKET_ASK, entry, side);
    ticket->fact = fact;
    if (distance != NULL)
        ticket->distance = *distance;
    facts->asked[fact] = true;
    ctl->kafka.ask(ctl->kafka.impl, facts->client, ticket->id, question);
}

static void ask_groups(struct entry *entry, enum model_side side)
{
    char scratch[VERIFY_GROUPS][300];
    const char *names[VERIFY_GROUPS];
    for (int i = 0; i < VERIFY_GROUPS; i++)
        names[i] = entry_group(entry, side, i, scratch[i], sizeof scratch[i]);
    struct port_question question = {.ask = PORT_ASK_GROUPS, .groups = names, .group_count = VERIFY_GROUPS};
    ask_send(entry, side, VF_GROUPS, &question, NULL);
}

static void ask_fact(struct entry *entry, enum model_side side, enum verify_fact fact, const struct verify_distance *distance)
{
    static const struct {
        enum port_ask ask;
        bool timestamps;
    } asks[VF_ACCESS] = {
        [VF_CLUSTER_ID] = {PORT_ASK_CLUSTER, false},
        [VF_TEST_TOPIC] = {PORT_ASK_TOPIC, false},
        [VF_TS_TOPIC] = {PORT_ASK_TOPIC, true},
        [VF_TEST_LOG] = {PORT_ASK_LOG, false},
        [VF_TS_LOG] = {PORT_ASK_LOG, true},
        [VF_READ_RIGHT] = {PORT_ASK_READ_RIGHT, false},
        [VF_TS_READ_RIGHT] = {PORT_ASK_READ_RIGHT, true},
        [VF_ACLS] = {PORT_ASK_ACLS, false},
        [VF_GROUPS] = {PORT_ASK_GROUPS, false},
        [VF_MD_COMMITS] = {PORT_ASK_COMMITS, false},
        [VF_TEST_COMMITS] = {PORT_ASK_COMMITS, false},
        [VF_GROUP_LAG] = {PORT_ASK_GROUP_LAG, false},
        [VF_DISTANCE] = {PORT_ASK_DISTANCE, false},
    };
    const struct model_cluster *cluster = &entry->spec->cluster[side];
    char scratch[300];
    struct port_question question = {.ask = asks[fact].ask, .topic = asks[fact].timestamps ? cluster->timestamps_topic : cluster->topic};
    if (fact == VF_GROUPS) {
        ask_groups(entry, side);
        return;
    }
    if (fact == VF_MD_COMMITS || fact == VF_TEST_COMMITS || fact == VF_GROUP_LAG)
        question.group = entry_group(entry, side, fact == VF_TEST_COMMITS ? VERIFY_TEST_GROUP : (int)MODEL_MD, scratch, sizeof scratch);
    if (fact == VF_DISTANCE) {
        question.partition = distance->partition;
        question.from = distance->from;
        question.to = distance->to;
        question.before_ms = distance->before_ms;
        question.limit = distance->limit;
    }
    ask_send(entry, side, fact, &question, distance);
}

/* How many distances are being asked for, and whether this one is among them. */
static size_t ask_open(const struct entry *entry, enum model_side side, const struct verify_distance *distance, bool *among)
{
    size_t open = 0;
    struct ticket *ticket = NULL;
    struct ticket *next = NULL;
    HASH_ITER (hh, entry->ctl->tickets, ticket, next) {
        if (ticket->kind != TICKET_ASK || ticket->entry != entry || ticket->side != side || ticket->fact != VF_DISTANCE)
            continue;
        open++;
        *among = *among || verify_distance_same(&ticket->distance, distance);
    }
    return open;
}

/* Each is a look into a partition of its own: one after the other would take minutes with hundreds of them. */
static void ask_distances(struct entry *entry, enum model_side side, const struct verify_plan *plan)
{
    for (size_t i = 0; i < plan->distance_count[side]; i++) {
        bool among = false;
        if (ask_open(entry, side, &plan->distances[side][i], &among) < VERIFY_QUESTIONS && !among)
            ask_fact(entry, side, VF_DISTANCE, &plan->distances[side][i]);
    }
}

void ask_all(struct entry *entry, const struct verify_plan *plan)
{
    for (int s = 0; s < MODEL_SIDES; s++) {
        struct ctl_side *facts = &entry->side[s];
        uint32_t wanted = plan->ask[s];
        if (plan->observe.ts_reader[s] && facts->ts_reader.id == 0 && facts->ts_asked_ms != 0)
            wanted |= 1u << VF_TS_LOG;
        for (int fact = 0; fact < VF_ASKED_COUNT; fact++) {
            if ((wanted & (1u << fact)) == 0 || (facts->asked[fact] && fact != VF_DISTANCE))
                continue;
            if (fact == VF_ACCESS) {
                facts->asked[fact] = true;
                observe_access(entry, (enum model_side)s);
            } else if (facts->client != 0 && fact == VF_DISTANCE) {
                ask_distances(entry, (enum model_side)s, plan);
            } else if (facts->client != 0) {
                ask_fact(entry, (enum model_side)s, (enum verify_fact)fact, NULL);
            }
        }
    }
}

/* ---------------------------------------------------------------- answers */

static void ask_right(struct verify_right *right, char *const *principals, size_t count, enum fact_acl_resource resource, const char *name,
                      enum fact_acl_operation operation, const struct port_kafka_event *event)
{
    *right = (struct verify_right){.allowed = true};
    for (size_t i = 0; i < count && right->allowed; i++) {
        enum distributor_acl_verdict verdict =
            distributor_acl_check(event->acls, event->acl_count, principals[i], resource, name, operation, NULL);
        if (verdict == DISTRIBUTOR_ACL_ALLOWED)
            continue;
        right->allowed = false;
        right->denied = verdict == DISTRIBUTOR_ACL_DENIED || verdict == DISTRIBUTOR_ACL_HOST_DENIED;
        (void)dv_strlcpy(right->principal, principals[i], sizeof right->principal);
    }
}

static void ask_acls(struct ticket *ticket, const struct port_kafka_event *event)
{
    struct entry *entry = ticket->entry;
    struct ctl_side *facts = &entry->side[ticket->side];
    const struct model_cluster *here = &entry->spec->cluster[ticket->side];
    const struct model_distributor *far = &entry->spec->cluster[model_far(ticket->side)].distributor;
    char scratch[300];
    ask_right(&facts->write_test, far->principals, far->principal_count, FACT_ACL_TOPIC, here->topic, FACT_ACL_WRITE, event);
    ask_right(&facts->write_ts, far->principals, far->principal_count, FACT_ACL_TOPIC, here->timestamps_topic, FACT_ACL_WRITE, event);
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        ask_right(&facts->read_group[c], here->distributor.principals, here->distributor.principal_count, FACT_ACL_GROUP,
                  entry_group(entry, ticket->side, c, scratch, sizeof scratch), FACT_ACL_READ, event);
}

static void ask_put_offsets(struct fact_offsets **field, const struct fact_offsets *offsets)
{
    fact_offsets_free(*field);
    *field = offsets != NULL ? ask_copy_offsets(offsets) : NULL;
}

/* Two of a partition are of use at a time: with a third its own oldest goes, never one that another partition needs. */
static void ask_distance(struct ticket *ticket, int64_t records)
{
    struct ctl_side *facts = &ticket->entry->side[ticket->side];
    size_t own = 0;
    size_t oldest = 0;
    if (facts->distances == NULL)
        facts->distances = dv_calloc(VERIFY_DISTANCES, sizeof *facts->distances);
    for (size_t i = facts->distance_count; i > 0; i--) {
        if (facts->distances[i - 1].partition != ticket->distance.partition)
            continue;
        own++;
        oldest = i - 1;
    }
    if (own >= 2 || facts->distance_count == VERIFY_DISTANCES) {
        facts->distance_count--;
        memmove(&facts->distances[oldest], &facts->distances[oldest + 1], (facts->distance_count - oldest) * sizeof facts->distances[0]);
    }
    ticket->distance.records = records;
    facts->distances[facts->distance_count++] = ticket->distance;
}

static void ask_take(struct ticket *ticket, const struct port_kafka_event *event)
{
    struct ctl_side *facts = &ticket->entry->side[ticket->side];
    switch (ticket->fact) {
    case VF_CLUSTER_ID: (void)dv_strlcpy(facts->cluster_id, event->text, sizeof facts->cluster_id); break;
    case VF_TEST_TOPIC: facts->test_topic = *event->topic; break;
    case VF_TS_TOPIC: facts->ts_topic = *event->topic; break;
    case VF_TEST_LOG: ask_put_offsets(&facts->test_log, event->offsets); break;
    case VF_TS_LOG: ask_put_offsets(&facts->ts_log, event->offsets); break;
    case VF_MD_COMMITS: ask_put_offsets(&facts->md_commits, event->offsets); break;
    case VF_TEST_COMMITS: ask_put_offsets(&facts->test_commits, event->offsets); break;
    case VF_GROUP_LAG: facts->group_lag = *event->lag; break;
    case VF_ACLS: ask_acls(ticket, event); break;
    case VF_GROUPS:
        fact_groups_free(facts->groups, facts->groups != NULL ? VERIFY_GROUPS : 0);
        facts->groups = event->group_count == VERIFY_GROUPS ? ask_copy_groups(event->groups, VERIFY_GROUPS) : NULL;
        break;
    case VF_DISTANCE: ask_distance(ticket, event->number); break;
    case VF_READ_RIGHT:
    case VF_TS_READ_RIGHT:
    case VF_ACCESS:
    case VF_VALUES:
    case VF_CONNECT:
    case VF_CONNECTORS:
    case VF_PODS:
    case VF_JOBS:
    case VF_LOGS:
    case VF_COUNT: break;
    }
}

/* An error of one group (authorization) fails the question: a group that cannot be seen is not an empty one. */
static const struct dv_err *ask_error(const struct ticket *ticket, const struct port_kafka_event *event)
{
    if (event->err.kind != DV_ERR_NONE)
        return &event->err;
    for (size_t i = 0; ticket->fact == VF_GROUPS && i < event->group_count; i++)
        if (event->groups[i].err.kind != DV_ERR_NONE)
            return &event->groups[i].err;
    return NULL;
}

static void ask_answered(struct ticket *ticket, const struct port_kafka_event *event)
{
    struct ctl_side *facts = &ticket->entry->side[ticket->side];
    struct verify_stamp *stamp = &facts->stamp[ticket->fact];
    const struct dv_err *err = ask_error(ticket, event);
    facts->asked[ticket->fact] = false;
    if (err != NULL) {
        dv_log(DV_LOG_DEBUG, "no answer", "resource", ticket->entry->key, "question", verify_fact_text(ticket->fact), "error", err->text,
               NULL);
        stamp->failed_ms = ctl_now(ticket->entry->ctl).mono_ms;
        stamp->err = *err;
    } else {
        dv_log(DV_LOG_DEBUG, "answer", "resource", ticket->entry->key, "question", verify_fact_text(ticket->fact), NULL);
        ask_take(ticket, event);
        stamp->as_of_ms = ticket->asked_ms;
        stamp->failed_ms = 0;
        dv_err_clear(&stamp->err);
    }
    ticket_drop(ticket->entry->ctl, ticket);
}

/* ---------------------------------------------------------------- readers */

static void ask_position(struct ctl_reader *reader, const struct port_kafka_event *event, int64_t now)
{
    free(reader->next);
    free(reader->high);
    free(reader->stable);
    reader->next = ask_copy_numbers(event->offsets->high, event->offsets->partitions);
    reader->high = ask_copy_numbers(event->offsets->low, event->offsets->partitions);
    reader->stable = ask_copy_numbers(event->offsets->stable, event->offsets->partitions);
    reader->at_ms = now;
}

void ask_answer(struct ticket *ticket, const struct port_kafka_event *event)
{
    struct entry *entry = ticket->entry;
    struct ctl_side *facts = &entry->side[ticket->side];
    int64_t now = ctl_now(entry->ctl).mono_ms;
    bool probes = ticket->kind == TICKET_READER;
    switch (event->kind) {
    case PORT_KAFKA_ANSWER: ask_answered(ticket, event); break;
    case PORT_KAFKA_RECORD:
        if (probes) {
            probes_see(&entry->probes, ticket->side, event->record, now);
        } else {
            facts->ts_seen++;
            facts->ts_last_ms = now;
        }
        break;
    case PORT_KAFKA_POSITION:
        ask_position(probes ? &facts->reader : &facts->ts_reader, event, now);
        facts->stamp[probes ? VF_READ_RIGHT : VF_TS_READ_RIGHT].failed_ms = 0; /* it reads again */
        break;
    case PORT_KAFKA_TROUBLE: {
        enum verify_fact fact = probes ? VF_READ_RIGHT : VF_TS_READ_RIGHT;
        facts->stamp[fact].failed_ms = now;
        facts->stamp[fact].err = event->err;
        break;
    }
    case PORT_KAFKA_PRODUCED:
    case PORT_KAFKA_COMMITTED: break;
    }
}

/* ---------------------------------------------------------------- free */

void side_free_facts(struct ctl_side *facts)
{
    for (size_t i = 0; i < facts->connector_count; i++)
        fact_connector_free(facts->connectors[i]);
    for (size_t i = 0; i < facts->pod_count; i++)
        fact_pod_free(facts->pods[i]);
    for (size_t i = 0; i < facts->job_count; i++)
        fact_job_free(facts->jobs[i]);
    free(facts->connectors);
    free(facts->pods);
    free(facts->jobs);
    fact_connect_free(facts->connect);
    fact_offsets_free(facts->test_log);
    fact_offsets_free(facts->ts_log);
    fact_offsets_free(facts->md_commits);
    fact_offsets_free(facts->test_commits);
    fact_groups_free(facts->groups, facts->groups != NULL ? VERIFY_GROUPS : 0);
    target_clear(facts);
    free(facts->distances);
    free(facts->scratch_connectors);
    free(facts->scratch_findings);
    free(facts->scratch_dirty);
    memset(facts, 0, sizeof *facts);
}

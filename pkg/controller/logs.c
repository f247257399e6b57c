/* Logs of the Kafka Connect pods: each life of a container is followed, and read once more when it ended. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/internal.h"

#define LOG_QUIET_MS 400 /* after so long without a line the last record is taken as whole */

static struct ctl_log *logs_find(struct ctl_side *facts, const char *uid, int64_t restarts, bool previous)
{
    for (struct ctl_log *log = facts->logs; log != NULL; log = log->next)
        if (dv_streq(log->pod_uid, uid) && log->restarts == restarts && log->previous == previous)
            return log;
    return NULL;
}

static void logs_free(struct entry *entry, struct ctl_log *log)
{
    struct controller *ctl = entry->ctl;
    if (log->id != 0) {
        ctl->kube.log_stop(ctl->kube.impl, log->id);
        ticket_drop(ctl, ticket_find(ctl, log->id));
    }
    distributor_log_free(log->log);
    free(log->pod_uid);
    free(log);
}

static bool logs_readable(const struct fact_pod *pod)
{
    return pod->container != NULL && pod->container[0] != '\0' && dv_streq(pod->phase, "Running");
}

static void logs_drop(struct entry *entry, enum model_side side)
{
    struct ctl_side *facts = &entry->side[side];
    facts->stamp[VF_LOGS] = (struct verify_stamp){0};
    while (facts->logs != NULL) {
        struct ctl_log *next = facts->logs->next;
        logs_free(entry, facts->logs);
        facts->logs = next;
    }
}

static void logs_follow(struct entry *entry, enum model_side side, const struct fact_pod *pod, int64_t restarts, bool previous,
                        int64_t since_ms)
{
    struct controller *ctl = entry->ctl;
    struct ctl_side *facts = &entry->side[side];
    struct ctl_log *log = dv_alloc(sizeof *log);
    struct ticket *ticket = ticket_new(ctl, TICKET_LOG, entry, side);
    ticket->fact = VF_LOGS;
    log->id = ticket->id;
    log->pod_uid = dv_strdup(pod->uid);
    log->restarts = restarts;
    log->previous = previous;
    log->since_ms = since_ms;
    log->log = distributor_log_new(pod->name, entry->spec->log_allow, entry->spec->log_allow_count);
    log->next = facts->logs;
    facts->logs = log;
    struct port_log follow = {.server = entry_server(entry, side),
                              .ns = entry->spec->cluster[side].ns,
                              .pod = pod->name,
                              .container = pod->container,
                              .since_ms = since_ms,
                              .previous = previous};
    ctl->kube.log(ctl->kube.impl, log->id, &follow);
}

/* A stage judges the log from its own beginning on. */
void logs_converge(struct entry *entry, enum model_side side, bool wanted, int64_t since_ms)
{
    struct ctl_side *facts = &entry->side[side];
    if (!wanted || (facts->logs != NULL && facts->logs->since_ms != since_ms))
        logs_drop(entry, side);
    for (size_t i = 0; wanted && i < facts->pod_count; i++) {
        const struct fact_pod *pod = facts->pods[i];
        if (!logs_readable(pod) || logs_find(facts, pod->uid, pod->restarts, false) != NULL)
            continue;
        /* A life that ended during the stage is read to its end: the stream may have broken before its last words. */
        if (logs_find(facts, pod->uid, pod->restarts - 1, false) != NULL)
            logs_follow(entry, side, pod, pod->restarts - 1, true, since_ms);
        logs_follow(entry, side, pod, pod->restarts, false, since_ms);
    }
}

static void logs_drop_life(struct entry *entry, struct ctl_side *facts, const char *uid, int64_t restarts)
{
    for (struct ctl_log **at = &facts->logs; *at != NULL;) {
        struct ctl_log *log = *at;
        if (!dv_streq(log->pod_uid, uid) || log->restarts != restarts) {
            at = &log->next;
            continue;
        }
        *at = log->next;
        logs_free(entry, log);
    }
}

/* What can still be read is judged anew, from the same time on. That is a pod's life and the one before it: of earlier ones, and of pods
 * that are gone, what was found stays. */
void logs_again(struct entry *entry, enum model_side side)
{
    struct ctl_side *facts = &entry->side[side];
    for (size_t i = 0; i < facts->pod_count; i++) {
        const struct fact_pod *pod = facts->pods[i];
        const struct ctl_log *log = logs_find(facts, pod->uid, pod->restarts, false);
        if (!logs_readable(pod) || log == NULL)
            continue;
        int64_t since_ms = log->since_ms;
        bool previous = logs_find(facts, pod->uid, pod->restarts - 1, true) != NULL;
        logs_drop_life(entry, facts, pod->uid, pod->restarts);
        if (previous) {
            logs_drop_life(entry, facts, pod->uid, pod->restarts - 1);
            logs_follow(entry, side, pod, pod->restarts - 1, true, since_ms);
        }
        logs_follow(entry, side, pod, pod->restarts, false, since_ms);
    }
    facts->stamp[VF_LOGS] = (struct verify_stamp){0};
}

/* The logs of a side are known when each of them can be read. */
static void logs_stamp(struct ctl_side *facts, int64_t now)
{
    for (const struct ctl_log *log = facts->logs; log != NULL; log = log->next) {
        if (log->trouble.kind == DV_ERR_NONE)
            continue;
        observe_failed(facts, VF_LOGS, now, &log->trouble);
        return;
    }
    observe_known(facts, VF_LOGS, now);
}

void logs_event(struct ticket *ticket, const struct port_kube_event *event)
{
    struct entry *entry = ticket->entry;
    struct ctl_side *facts = &entry->side[ticket->side];
    int64_t now = ctl_now(entry->ctl).mono_ms;
    struct ctl_log *log = facts->logs;
    while (log != NULL && log->id != ticket->id)
        log = log->next;
    if (log == NULL)
        return;
    dv_err_clear(&log->trouble);
    if (event->kind == PORT_KUBE_TROUBLE)
        log->trouble = event->err;
    if (event->kind == PORT_KUBE_LINES) {
        distributor_log_lines(log->log, event->text, event->len);
        log->fed_ms = now;
    } else if (event->kind == PORT_KUBE_LOG_END) {
        distributor_log_flush(log->log);
        log->fed_ms = 0;
    }
    logs_stamp(facts, now);
}

/* Findings of all pods of a side, for one turn. */
void logs_findings(struct entry *entry, enum model_side side, int64_t arrival_ms)
{
    struct ctl_side *facts = &entry->side[side];
    int64_t now = ctl_now(entry->ctl).mono_ms;
    size_t count = 0;
    free(facts->scratch_findings);
    free(facts->scratch_dirty);
    facts->scratch_findings = NULL;
    facts->scratch_dirty = NULL;
    for (struct ctl_log *log = facts->logs; log != NULL; log = log->next) {
        const struct fact_log_finding *findings = NULL;
        if (log->fed_ms != 0 && now - log->fed_ms >= LOG_QUIET_MS) {
            distributor_log_flush(log->log);
            log->fed_ms = 0;
        } else if (log->fed_ms != 0) {
            entry_due(entry, log->fed_ms + LOG_QUIET_MS);
        }
        size_t n = distributor_log_findings(log->log, &findings);
        if (n == 0)
            continue;
        facts->scratch_findings = dv_reallocarray(facts->scratch_findings, count + n, sizeof *findings);
        facts->scratch_dirty = dv_reallocarray(facts->scratch_dirty, count + n, sizeof(bool));
        memcpy(facts->scratch_findings + count, findings, n * sizeof *findings);
        for (size_t i = 0; i < n; i++)
            facts->scratch_dirty[count + i] = findings[i].kind == FACT_LOG_RETRYING || distributor_log_is_dirty(&findings[i], arrival_ms);
        count += n;
    }
    facts->finding_count = count;
}

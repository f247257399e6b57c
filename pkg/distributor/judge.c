#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "distributor/distributor.h"
#include "distributor/text.h"

static void judge(struct distributor_judgement *out, enum distributor_health health, enum distributor_fault fault, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void judge(struct distributor_judgement *out, enum distributor_health health, enum distributor_fault fault, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char text[1024];
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    out->health = health;
    out->fault = fault;
    distributor_text_copy(out->why, sizeof out->why, text, strlen(text));
}

/* A table row: fills out and returns true when it applies. First match wins. */
typedef bool judge_row(const struct fact_connector *connector, int64_t restarts_at_start, struct distributor_judgement *out);

/* ---------------------------------------------------------------- wanted on */

/* Strimzi's sentences when a person has to change something outside the connector (AbstractConnectOperator, KafkaConnectAssemblyOperator).
 */
static bool judge_needs_person(const struct fact_connector *connector)
{
    static const char *const sentences[] = {"use-connector-resources", "has 0 replicas", "Resource lacks label", NULL};
    static const char *const reasons[] = {"NoSuchResourceException", "InvalidResourceException", NULL};
    return connector->not_ready &&
           (distributor_text_has(connector->cause, sentences) || distributor_text_has(connector->not_ready_reason, reasons));
}

/* Connect's REST API out of reach, busy with a rebalance, or without a leader of its own topic for the moment: clears by itself. Another
 * answer of Connect does not, whatever it tells of connections: it is about the connector. */
static bool judge_is_passing(const struct fact_connector *connector)
{
    static const char *const reasons[] = {"TimeoutException",
                                          "ConnectException",
                                          "UnknownHostException",
                                          "NoRouteToHostException",
                                          "HttpClosedException",
                                          "ClosedChannelException",
                                          NULL};
    static const char *const answers[] = {
        "returned 404", "returned 502", "returned 503", "returned 504", "Request timed out", "trying to forward REST request",
        /* KafkaConfigBackingStore, DistributedHerder of Kafka 3 and 4 */
        "Error writing connector configuration to Kafka", "Error writing target state to Kafka", "Failed to write to config topic", NULL};
    static const char *const sentences[] = {"Connection refused", "Connection reset", "onnection was closed", NULL};
    if (connector->conflict)
        return true;
    if (strstr(connector->cause, " returned ") != NULL)
        return distributor_text_has(connector->cause, answers);
    return distributor_text_has(connector->cause, sentences) || distributor_text_has(connector->not_ready_reason, reasons);
}

static bool judge_on_gone(const struct fact_connector *connector, int64_t restarts_at_start, struct distributor_judgement *out)
{
    (void)restarts_at_start;
    if (connector == NULL)
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "the KafkaConnector is not there yet");
    else if (connector->deleting)
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "KafkaConnector %s is being deleted", connector->name);
    else
        return false;
    return true;
}

static bool judge_on_stopped(const struct fact_connector *connector, int64_t restarts_at_start, struct distributor_judgement *out)
{
    (void)restarts_at_start;
    if (strcmp(connector->not_ready_reason, DISTRIBUTOR_PAUSED) == 0)
        judge(out, DISTRIBUTOR_BLOCKED, DISTRIBUTOR_FINE, "reconciliation of KafkaConnector %s is paused by annotation", connector->name);
    else if (connector->want_stopped)
        judge(out, DISTRIBUTOR_BLOCKED, DISTRIBUTOR_FINE, "KafkaConnector %s is stopped or paused in its spec", connector->name);
    else
        return false;
    return true;
}

static bool judge_on_stale(const struct fact_connector *connector, int64_t restarts_at_start, struct distributor_judgement *out)
{
    (void)restarts_at_start;
    if (connector->observed_generation > 0 && connector->observed_generation >= connector->generation)
        return false;
    judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "Strimzi has not reconciled generation %lld of KafkaConnector %s yet",
          (long long)connector->generation, connector->name);
    return true;
}

static bool judge_on_failed(const struct fact_connector *connector, int64_t restarts_at_start, struct distributor_judgement *out)
{
    (void)restarts_at_start;
    enum distributor_fault fault = DISTRIBUTOR_FINE;
    if (connector->state == FACT_STATE_FAILED)
        fault = DISTRIBUTOR_CONNECTOR_FAILED;
    else if (connector->tasks_failed > 0)
        fault = DISTRIBUTOR_TASK_FAILED;
    if (connector->plugin_missing && (fault != DISTRIBUTOR_FINE || connector->not_ready))
        fault = DISTRIBUTOR_PLUGIN_MISSING;
    if (fault == DISTRIBUTOR_FINE)
        return false;
    if (connector->tasks_failed > 0 && connector->state != FACT_STATE_FAILED) {
        out->task = connector->first_failed_task;
        judge(out, DISTRIBUTOR_FAILED, fault, "task %d is FAILED%s%s", (int)out->task, connector->cause[0] != '\0' ? ": " : "",
              connector->cause);
    } else {
        judge(out, DISTRIBUTOR_FAILED, fault, "%s", connector->cause[0] != '\0' ? connector->cause : "the connector is FAILED");
    }
    return true;
}

static bool judge_on_not_ready(const struct fact_connector *connector, int64_t restarts_at_start, struct distributor_judgement *out)
{
    (void)restarts_at_start;
    const char *cause = connector->cause[0] != '\0' ? connector->cause : connector->not_ready_reason;
    if (!connector->not_ready)
        return false;
    if (cause[0] == '\0')
        cause = "NotReady, and Strimzi gives no reason";
    if (judge_needs_person(connector))
        judge(out, DISTRIBUTOR_BLOCKED, DISTRIBUTOR_FINE, "%s", cause);
    else if (judge_is_passing(connector))
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "NotReady, clears by itself: %s", cause);
    else
        judge(out, DISTRIBUTOR_FAILED, DISTRIBUTOR_CONNECTOR_FAILED, "%s", cause);
    return true;
}

static bool judge_on_restarted(const struct fact_connector *connector, int64_t restarts_at_start, struct distributor_judgement *out)
{
    if (connector->auto_restarts <= restarts_at_start)
        return false;
    judge(out, DISTRIBUTOR_FAILED, DISTRIBUTOR_AUTO_RESTARTED, "restarted %lld times by Strimzi in this stage",
          (long long)(connector->auto_restarts - restarts_at_start));
    return true;
}

static bool judge_on_running(const struct fact_connector *connector, int64_t restarts_at_start, struct distributor_judgement *out)
{
    (void)restarts_at_start;
    if (connector->state != FACT_STATE_RUNNING)
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "connector %s is not RUNNING yet", connector->name);
    else if (connector->tasks == 0)
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "connector %s has no task yet", connector->name);
    else if (connector->tasks_running < connector->tasks)
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "%d of %d tasks of connector %s are RUNNING", (int)connector->tasks_running,
              (int)connector->tasks, connector->name);
    else if (!connector->ready)
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "KafkaConnector %s is not Ready yet", connector->name);
    else
        judge(out, DISTRIBUTOR_HEALTHY, DISTRIBUTOR_FINE, "%s", "");
    return true;
}

/* ---------------------------------------------------------------- wanted off */

static void judge_off(const struct fact_connector *connector, struct distributor_judgement *out)
{
    bool stopped = connector != NULL && connector->want_stopped && connector->observed_generation >= connector->generation &&
                   (connector->state == FACT_STATE_STOPPED || connector->state == FACT_STATE_PAUSED);
    if (connector == NULL || (stopped && !connector->deleting))
        judge(out, DISTRIBUTOR_OFF, DISTRIBUTOR_FINE, "%s", connector == NULL ? "not there" : "stopped");
    else if (!connector->deleting && strcmp(connector->not_ready_reason, DISTRIBUTOR_PAUSED) == 0)
        judge(out, DISTRIBUTOR_BLOCKED, DISTRIBUTOR_FINE, "reconciliation of KafkaConnector %s is paused by annotation", connector->name);
    else
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "KafkaConnector %s is still %s", connector->name,
              connector->deleting ? "being deleted" : "there");
}

void distributor_judge_connector(const struct fact_connector *connector, bool wanted_on, int64_t auto_restarts_at_start,
                                 struct distributor_judgement *out)
{
    static judge_row *const rows[] = {judge_on_gone,      judge_on_stopped,   judge_on_stale,  judge_on_failed,
                                      judge_on_not_ready, judge_on_restarted, judge_on_running};
    *out = (struct distributor_judgement){.task = -1};
    if (!wanted_on) {
        judge_off(connector, out);
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i](connector, auto_restarts_at_start, out))
            return;
}

/* ---------------------------------------------------------------- KafkaConnect */

static bool judge_connect_blocked(const struct fact_connect *connect, struct distributor_judgement *out)
{
    const char *why = NULL;
    if (!connect->connector_resources)
        why = "has no annotation strimzi.io/use-connector-resources: \"true\"";
    else if (connect->paused)
        why = "is paused by the annotation strimzi.io/pause-reconciliation";
    else if (connect->replicas < 1)
        why = "has 0 replicas";
    if (why != NULL)
        judge(out, DISTRIBUTOR_BLOCKED, DISTRIBUTOR_FINE, "KafkaConnect %s %s", connect->name, why);
    return why != NULL;
}

void distributor_judge_connect(const struct fact_connect *connect, struct distributor_judgement *out)
{
    static const char *const final[] = {"InvalidResourceException", "InvalidConfigurationException", "NoSuchResourceException", NULL};
    *out = (struct distributor_judgement){.task = -1};
    if (connect == NULL)
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "the KafkaConnect is not there");
    else if (judge_connect_blocked(connect, out))
        return;
    else if (connect->observed_generation < 1 || connect->observed_generation < connect->generation)
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "Strimzi has not reconciled generation %lld of KafkaConnect %s yet",
              (long long)connect->generation, connect->name);
    else if (connect->not_ready && distributor_text_has(connect->not_ready_reason, final))
        judge(out, DISTRIBUTOR_FAILED, DISTRIBUTOR_CONNECT_NOT_READY, "KafkaConnect %s is NotReady: %s: %s", connect->name,
              connect->not_ready_reason, connect->cause);
    else if (connect->not_ready || !connect->ready)
        judge(out, DISTRIBUTOR_WAIT, DISTRIBUTOR_FINE, "KafkaConnect %s is not Ready: %s %s", connect->name, connect->not_ready_reason,
              connect->cause);
    else
        judge(out, DISTRIBUTOR_HEALTHY, DISTRIBUTOR_FINE, "%s", "");
}

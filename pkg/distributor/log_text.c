#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "distributor/distributor.h"
#include "distributor/text.h"

/* Kafka's clients wait retry.backoff.ms, 100 ms, between two such lines: so long did lines without a time take at least. */
#define LOG_RETRY_MS 100

bool distributor_log_is_dirty(const struct fact_log_finding *finding, int64_t arrival_ms)
{
    switch (finding->kind) {
    case FACT_LOG_RETRYING: return false;
    case FACT_LOG_AUTHENTICATION_SUSPECTED: /* the client's guess: a broker that goes down looks the same */
    case FACT_LOG_UNKNOWN_TOPIC:
        if (!finding->warning)
            return true;
        if (finding->first_ms == 0)
            return (finding->count - 1) * LOG_RETRY_MS > arrival_ms;
        return finding->last_ms - finding->first_ms > arrival_ms;
    case FACT_LOG_ERROR:
    case FACT_LOG_OUT_OF_MEMORY:
    case FACT_LOG_AUTHORIZATION:
    case FACT_LOG_AUTHENTICATION:
    case FACT_LOG_CONFIG: break;
    }
    return true;
}

static const char *log_phrase(const struct fact_log_finding *finding)
{
    switch (finding->kind) {
    case FACT_LOG_ERROR: return "an error";
    case FACT_LOG_OUT_OF_MEMORY: return "out of memory";
    case FACT_LOG_AUTHORIZATION: return "authorization failed";
    case FACT_LOG_AUTHENTICATION: return "authentication failed";
    case FACT_LOG_AUTHENTICATION_SUSPECTED: return "a connection ended during authentication";
    case FACT_LOG_UNKNOWN_TOPIC: return "unknown topic";
    case FACT_LOG_RETRYING: return "an exception that is tried again";
    case FACT_LOG_CONFIG: return "a configuration error";
    }
    return "";
}

static const char *log_subject_intro(const struct fact_log_finding *finding)
{
    switch (finding->kind) {
    case FACT_LOG_AUTHORIZATION: return " for ";
    case FACT_LOG_AUTHENTICATION:
    case FACT_LOG_AUTHENTICATION_SUSPECTED: return " with ";
    case FACT_LOG_UNKNOWN_TOPIC: return " ";
    case FACT_LOG_ERROR:
    case FACT_LOG_OUT_OF_MEMORY:
    case FACT_LOG_RETRYING:
    case FACT_LOG_CONFIG: break;
    }
    return " ";
}

char *distributor_log_text(const struct fact_log_finding *finding, char *out, size_t size)
{
    struct dv_buf text = DV_BUF_INIT(2048);
    (void)dv_buf_adds(&text, log_phrase(finding));
    if (finding->subject[0] != '\0')
        (void)dv_buf_addf(&text, "%s%s", log_subject_intro(finding), finding->subject);
    (void)dv_buf_addf(&text, " in the log of pod %s", finding->pod);
    if (finding->connector[0] != '\0')
        (void)dv_buf_addf(&text, ", connector %s", finding->connector);
    if (finding->task >= 0)
        (void)dv_buf_addf(&text, " task %d", (int)finding->task);
    if (finding->count > 1)
        (void)dv_buf_addf(&text, ", %lld times", (long long)finding->count);
    (void)dv_buf_addf(&text, ": %s", finding->cause);
    distributor_text_copy(out, size, dv_buf_text(&text), text.len);
    dv_buf_free(&text);
    return out;
}

/* The scanner: bytes to lines, lines to records, records to folded findings. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "distributor/distributor.h"
#include "distributor/record.h"
#include "distributor/subject.h"
#include "distributor/text.h"

#define LOG_LINE_MAX 65536
#define LOG_LINE_KEPT 8192 /* memory of a longer line is given back */
/* One of each kind and severity always finds a place beyond the general share. */
#define LOG_GENERAL (DISTRIBUTOR_LOG_FINDINGS - 16)

struct log_record {
    bool open;
    bool blank_seen;
    bool allowed;
    bool retried; /* its message says that the task goes on */
    bool lethal;  /* its message says that it does not */
    bool ended;   /* its message says that a task ended */
    enum distributor_level level;
    int64_t first_line, last_line;
    int64_t ms;
    uint64_t shape;
    unsigned marks;
    char connector[128];
    int32_t task;
    char denied[160];
    char unknown[160];
    char peer[160];
    char mechanism[32];
    char message[FACT_CAUSE_MAX];
    char line[FACT_CAUSE_MAX];
    struct distributor_trace trace;
};

struct distributor_log {
    char pod[64];
    char **allow;
    size_t allow_count;
    struct dv_buf line;
    bool overlong;   /* the rest of the line is dropped */
    bool seen_timed; /* records have a time here: a line that begins with a level word is text */
    int64_t line_number;
    struct log_record record;
    struct fact_log_finding findings[DISTRIBUTOR_LOG_FINDINGS];
    uint64_t keys[DISTRIBUTOR_LOG_FINDINGS];
    size_t count;
    /* A flush counts the open record, and its trace may still go on: then it is taken back out. */
    bool counted;
    size_t counted_at;
    size_t counted_before; /* count before it */
    struct fact_log_finding before;
};

/* Strimzi leaves the pattern of its own layout in the configuration of a JSON one; log4j says so at ERROR when it starts, and works
 * (strimzi-kafka-operator issues 11472 and 12597). */
static const char *const log_built_in[] = {"contains an invalid element or attribute \"pattern\"", NULL};

struct distributor_log *distributor_log_new(const char *pod, char *const *allow, size_t allow_count)
{
    struct distributor_log *log = dv_alloc(sizeof *log);
    distributor_text_copy(log->pod, sizeof log->pod, pod != NULL ? pod : "", pod != NULL ? strlen(pod) : 0);
    log->allow = dv_calloc(allow_count, sizeof *log->allow);
    for (size_t i = 0; i < allow_count; i++)
        if (allow[i] != NULL && allow[i][0] != '\0') /* an empty text would allow everything */
            log->allow[log->allow_count++] = dv_strdup(allow[i]);
    log->line = DV_BUF_INIT(LOG_LINE_MAX);
    return log;
}

void distributor_log_free(struct distributor_log *log)
{
    if (log == NULL)
        return;
    for (size_t i = 0; i < log->allow_count; i++)
        free(log->allow[i]);
    free(log->allow);
    dv_buf_free(&log->line);
    free(log);
}

static bool log_allowed(const struct distributor_log *log, const char *text)
{
    if (distributor_text_has(text, log_built_in))
        return true;
    for (size_t i = 0; i < log->allow_count; i++)
        if (strstr(text, log->allow[i]) != NULL)
            return true;
    return false;
}

/* ---------------------------------------------------------------- verdict on a record */

static bool log_kind_of_error(const struct log_record *record, enum fact_log_kind *kind)
{
    unsigned marks = record->marks | record->trace.marks;
    bool retriable = (record->trace.marks & DISTRIBUTOR_MARK_RETRIABLE) != 0;
    if (marks & DISTRIBUTOR_MARK_MEMORY)
        *kind = FACT_LOG_OUT_OF_MEMORY;
    else if (marks & DISTRIBUTOR_MARK_AUTHORIZATION)
        *kind = FACT_LOG_AUTHORIZATION;
    else if (record->retried && !record->lethal)
        *kind = FACT_LOG_RETRYING;
    else if (marks & DISTRIBUTOR_MARK_AUTHENTICATION)
        *kind = FACT_LOG_AUTHENTICATION;
    else if (marks & DISTRIBUTOR_MARK_SUSPECTED)
        *kind = FACT_LOG_AUTHENTICATION_SUSPECTED;
    else if (marks & DISTRIBUTOR_MARK_UNKNOWN_TOPIC)
        *kind = FACT_LOG_UNKNOWN_TOPIC;
    else if (retriable && !record->lethal)
        *kind = FACT_LOG_RETRYING;
    else if (marks & DISTRIBUTOR_MARK_CONFIG)
        *kind = FACT_LOG_CONFIG;
    else
        *kind = FACT_LOG_ERROR;
    return true;
}

static bool log_kind_of_warning(const struct log_record *record, enum fact_log_kind *kind)
{
    unsigned marks = record->marks | record->trace.marks;
    if (marks & DISTRIBUTOR_MARK_AUTHORIZATION)
        *kind = FACT_LOG_AUTHORIZATION;
    else if (marks & DISTRIBUTOR_MARK_AUTHENTICATION)
        *kind = FACT_LOG_AUTHENTICATION;
    else if (marks & DISTRIBUTOR_MARK_SUSPECTED)
        *kind = FACT_LOG_AUTHENTICATION_SUSPECTED;
    else if (marks & DISTRIBUTOR_MARK_UNKNOWN_TOPIC)
        *kind = FACT_LOG_UNKNOWN_TOPIC;
    else
        return false;
    return true;
}

/* False when the record is clean. */
static bool log_kind(const struct log_record *record, enum fact_log_kind *kind)
{
    if (record->allowed)
        return false;
    switch (record->level) {
    case DISTRIBUTOR_LEVEL_NONE:
        *kind = FACT_LOG_OUT_OF_MEMORY;
        return ((record->marks | record->trace.marks) & DISTRIBUTOR_MARK_MEMORY) != 0;
    case DISTRIBUTOR_LEVEL_CLEAN: return false;
    case DISTRIBUTOR_LEVEL_WARN: return log_kind_of_warning(record, kind);
    case DISTRIBUTOR_LEVEL_ERROR: return log_kind_of_error(record, kind);
    }
    return false;
}

static const char *log_subject(const struct log_record *record, enum fact_log_kind kind)
{
    switch (kind) {
    case FACT_LOG_AUTHORIZATION: return record->denied;
    case FACT_LOG_UNKNOWN_TOPIC: return record->unknown;
    case FACT_LOG_AUTHENTICATION:
    case FACT_LOG_AUTHENTICATION_SUSPECTED: return record->peer;
    case FACT_LOG_ERROR:
    case FACT_LOG_OUT_OF_MEMORY:
    case FACT_LOG_RETRYING:
    case FACT_LOG_CONFIG: break;
    }
    return "";
}

/* ---------------------------------------------------------------- folding */

/* Numbers differ between equal records (correlation ids, offsets, times). */
static uint64_t log_shape(uint64_t hash, const char *text, size_t len)
{
    bool in_digits = false;
    for (size_t i = 0; i < len; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (!digit || !in_digits)
            hash = dv_hash64(hash, digit ? "#" : text + i, 1);
        in_digits = digit;
    }
    return dv_hash64(hash, "\n", 1);
}

static uint64_t log_key(const struct fact_log_finding *finding, uint64_t shape)
{
    uint64_t hash = log_shape(shape, finding->cause, strlen(finding->cause));
    int64_t numbers[] = {(int64_t)finding->kind, finding->warning ? 1 : 0, finding->task};
    hash = dv_hash64(hash, numbers, sizeof numbers);
    hash = dv_hash64(hash, finding->connector, strlen(finding->connector) + 1);
    return dv_hash64(hash, finding->subject, strlen(finding->subject) + 1);
}

static void log_fill(const struct distributor_log *log, enum fact_log_kind kind, struct fact_log_finding *out)
{
    const struct log_record *record = &log->record;
    const char *cause = distributor_trace_cause(&record->trace);
    *out = (struct fact_log_finding){.kind = kind, .warning = record->level == DISTRIBUTOR_LEVEL_WARN, .count = 1, .task = record->task};
    out->ended = record->ended && record->task >= 0;
    out->first_line = record->first_line;
    out->last_line = record->last_line;
    out->first_ms = out->last_ms = record->ms;
    (void)dv_strlcpy(out->pod, log->pod, sizeof out->pod);
    (void)dv_strlcpy(out->connector, record->connector, sizeof out->connector);
    (void)dv_strlcpy(out->subject, log_subject(record, kind), sizeof out->subject);
    (void)dv_strlcpy(out->mechanism, record->mechanism, sizeof out->mechanism);
    (void)dv_strlcpy(out->cause, cause[0] != '\0' ? cause : record->message, sizeof out->cause);
    (void)dv_strlcpy(out->line, record->line, sizeof out->line);
}

/* Where the finding goes; log->count when it is a new one. */
static size_t log_place(const struct distributor_log *log, const struct fact_log_finding *finding, uint64_t key)
{
    size_t same_kind = log->count;
    for (size_t i = 0; i < log->count; i++) {
        if (log->keys[i] == key)
            return i;
        if (log->findings[i].kind == finding->kind && log->findings[i].warning == finding->warning)
            same_kind = i;
    }
    return log->count < LOG_GENERAL ? log->count : same_kind;
}

static void log_count(struct distributor_log *log)
{
    enum fact_log_kind kind = FACT_LOG_ERROR;
    log->counted = true;
    log->counted_before = log->count;
    log->counted_at = DISTRIBUTOR_LOG_FINDINGS;
    if (!log_kind(&log->record, &kind))
        return;
    struct fact_log_finding finding;
    log_fill(log, kind, &finding);
    uint64_t key = log_key(&finding, log->record.shape);
    size_t at = log_place(log, &finding, key);
    log->counted_at = at;
    if (at == log->count) {
        log->findings[at] = finding;
        log->keys[at] = key;
        log->count++;
        return;
    }
    struct fact_log_finding *known = &log->findings[at];
    log->before = *known;
    known->count++;
    if (finding.last_ms != 0)
        known->last_ms = finding.last_ms;
    if (known->first_ms == 0)
        known->first_ms = finding.first_ms;
    if (finding.first_line == known->last_line + 1 && log->keys[at] == key)
        known->last_line = finding.last_line;
}

static void log_uncount(struct distributor_log *log)
{
    if (log->counted_at < DISTRIBUTOR_LOG_FINDINGS && log->count == log->counted_before)
        log->findings[log->counted_at] = log->before;
    log->count = log->counted_before;
    log->counted = false;
}

static void log_close(struct distributor_log *log)
{
    if (log->record.open && !log->counted)
        log_count(log);
    log->record.open = false;
    log->counted = false;
}

/* ---------------------------------------------------------------- records */

static void log_note_names(struct log_record *record, const char *text)
{
    struct distributor_denial denial;
    if (record->denied[0] == '\0' && distributor_denial_of(text, &denial))
        (void)dv_strlcpy(record->denied, denial.name, sizeof record->denied);
    if (record->unknown[0] == '\0')
        distributor_subject_unknown_topic(text, record->unknown, sizeof record->unknown);
    if (record->peer[0] == '\0')
        distributor_subject_peer(text, record->peer, sizeof record->peer);
    if (record->mechanism[0] == '\0')
        distributor_subject_mechanism(text, record->mechanism, sizeof record->mechanism);
}

static void log_open(struct distributor_log *log, const struct distributor_record *head, const char *line)
{
    static const char *const retried[] = {"RetriableException", "RetriableCommitFailedException", NULL};
    static const char *const lethal[] = {"unrecoverable", "being killed",       "will not recover", "Stopping due to", "Stopping after",
                                         "exiting",       "Uncaught exception", "Graceful stop",    "Failed to start", NULL};
    static const char *const ended[] = {"unrecoverable exception", "being killed", "will not recover", NULL};
    struct log_record *record = &log->record;
    *record = (struct log_record){.open = true, .level = head->level, .task = head->task, .ms = head->ms};
    record->first_line = record->last_line = log->line_number;
    if (head->level == DISTRIBUTOR_LEVEL_CLEAN)
        return;
    char *message DV_CLEANUP_FREE = dv_strndup(head->message, head->message_len);
    record->shape = log_shape(DV_HASH_INIT, message, strlen(message));
    record->marks = distributor_text_marks(message);
    record->retried = distributor_text_has(message, retried);
    record->lethal = distributor_text_has(message, lethal);
    record->ended = distributor_text_has(message, ended);
    record->allowed = log_allowed(log, line) || log_allowed(log, message);
    (void)dv_strlcpy(record->connector, head->connector, sizeof record->connector);
    size_t first = strcspn(message, "\r\n");
    distributor_text_copy(record->message, sizeof record->message, message, first);
    if (head->json != NULL)
        distributor_text_copy(record->line, sizeof record->line, message, first);
    else
        distributor_text_copy(record->line, sizeof record->line, line, strlen(line));
    log_note_names(record, message);
}

static void log_trace(void *arg, const char *line)
{
    struct distributor_log *log = arg;
    struct log_record *record = &log->record;
    if (record->level == DISTRIBUTOR_LEVEL_CLEAN || !distributor_trace_line(&record->trace, line))
        return;
    record->allowed = record->allowed || log_allowed(log, line);
    log_note_names(record, line);
}

/* The JVM's own line: without time and level, belonging to no record's trace. */
static bool log_is_memory_line(const struct log_record *record, const char *line)
{
    static const char *const own[] = {"thrown from the UncaughtExceptionHandler", "due to java.lang.OutOfMemoryError", NULL};
    if (strstr(line, "OutOfMemoryError") == NULL || line[0] == ' ' || line[0] == '\t' || dv_starts_with(line, "Caused by: ") ||
        dv_starts_with(line, "Suppressed: "))
        return false;
    bool in_trace = record->open && record->level == DISTRIBUTOR_LEVEL_ERROR && !record->blank_seen && !distributor_text_has(line, own);
    return !in_trace;
}

static void log_continue(struct distributor_log *log, const char *line)
{
    struct log_record *record = &log->record;
    if (log_is_memory_line(record, line)) {
        struct distributor_record head = {.level = DISTRIBUTOR_LEVEL_NONE, .message = line, .message_len = strlen(line), .task = -1};
        log_close(log);
        log_open(log, &head, line);
        return;
    }
    if (!record->open)
        return; /* the rest of a record from before the window */
    if (line[0] == '\0') {
        record->blank_seen = true;
        return;
    }
    if (log->counted)
        log_uncount(log);
    record->last_line = log->line_number;
    log_trace(log, line);
}

/* ---------------------------------------------------------------- lines */

/* Colours go, NULs become '?', the line's end is trimmed. Returns the new length. */
static size_t log_clean_line(char *line, size_t len)
{
    size_t out = 0;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '\033' && i + 1 < len && line[i + 1] == '[') {
            i += 2;
            while (i < len && (line[i] == ';' || (line[i] >= '0' && line[i] <= '9')))
                i++;
            continue;
        }
        line[out++] = line[i] != '\0' ? line[i] : '?';
    }
    while (out > 0 && (line[out - 1] == '\r' || line[out - 1] == ' ' || line[out - 1] == '\t'))
        out--;
    line[out] = '\0';
    return out;
}

/* A time with nanoseconds and Z was put in front by the kubelet, or by log4j before its thread. A blank line behind it is trimmed. */
static size_t log_prefix(const char *line, int64_t *ms)
{
    size_t len = distributor_record_time(line, ms);
    bool kubelet = len >= sizeof "2006-01-02T15:04:05.0000000Z" - 1 && line[len - 1] == 'Z';
    if (!kubelet || (line[len] != ' ' && line[len] != '\0'))
        return 0;
    return len + (line[len] == ' ' ? 1 : 0);
}

static void log_line(struct distributor_log *log, char *line, size_t len)
{
    int64_t prefix_ms = 0;
    struct distributor_record head;
    log->line_number++;
    len = log_clean_line(line, len);
    size_t prefix = log_prefix(line, &prefix_ms);
    struct distributor_record unprefixed;
    if (prefix > 0 && !distributor_record_parse_text(line, false, &unprefixed)) {
        line += prefix;
        len -= prefix;
    }
    bool begins = distributor_record_parse_json(line, len, &head) || distributor_record_parse_text(line, !log->seen_timed, &head);
    if (!begins) {
        log_continue(log, line);
        return;
    }
    if (head.ms == 0)
        head.ms = prefix > 0 ? prefix_ms : 0;
    log->seen_timed = log->seen_timed || head.timed;
    log_close(log);
    log_open(log, &head, line);
    if (head.json != NULL)
        distributor_record_json_trace(head.json, log_trace, log);
    distributor_record_clear(&head);
}

static void log_end_line(struct distributor_log *log)
{
    char empty[1] = "";
    log_line(log, log->line.data != NULL ? log->line.data : empty, log->line.len);
    if (log->line.cap > LOG_LINE_KEPT)
        dv_buf_free(&log->line);
    dv_buf_reset(&log->line);
    log->overlong = false;
}

/* What does not fit any more is dropped: the same bytes are kept wherever the chunks are cut. */
static void log_keep(struct distributor_log *log, const char *bytes, size_t len)
{
    size_t room = LOG_LINE_MAX - log->line.len;
    if (len > room) {
        len = room;
        log->overlong = true;
    }
    (void)dv_buf_add(&log->line, bytes, len);
}

void distributor_log_feed(struct distributor_log *log, const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len) {
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t part = end != NULL ? (size_t)(end - bytes) - at : len - at;
        if (part > 0)
            log_keep(log, bytes + at, part);
        at += part;
        if (end != NULL) {
            log_end_line(log);
            at++;
        }
    }
}

void distributor_log_lines(struct distributor_log *log, const char *text, size_t len)
{
    distributor_log_feed(log, text, len);
    distributor_log_feed(log, "\n", 1);
}

void distributor_log_flush(struct distributor_log *log)
{
    if (log->line.len > 0)
        log_end_line(log);
    if (log->record.open && !log->counted)
        log_count(log);
}

size_t distributor_log_findings(const struct distributor_log *log, const struct fact_log_finding **out)
{
    *out = log->findings;
    return log->count;
}

/* JSON layouts: log4j2's JsonLayout and JsonTemplateLayout (ECS, Logstash V1, GELF-like), log4j 1's JSONEventLayout, logback's encoder. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "distributor/json.h"
#include "distributor/record.h"

#define RECORD_JSON_CAUSES 32

/* The first of the keys that is there; a key with dots may be nested instead. */
static const json_t *record_json_get(const json_t *json, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        const json_t *value = json_object_get(json, *keys);
        const char *dot = strchr(*keys, '.');
        if (value == NULL && dot != NULL) {
            char outer[32];
            (void)dv_format(outer, sizeof outer, "%.*s", (int)(dot - *keys), *keys);
            value = distributor_json_at(json, outer, dot + 1, NULL);
        }
        if (value != NULL && !json_is_null(value))
            return value;
    }
    return NULL;
}

static enum distributor_level record_json_level(const json_t *value)
{
    enum distributor_level level = DISTRIBUTOR_LEVEL_NONE;
    const char *text = distributor_json_text(value);
    char upper[16] = "";
    if (text == NULL)
        return DISTRIBUTOR_LEVEL_NONE;
    for (size_t i = 0; i < sizeof upper - 1 && text[i] != '\0'; i++)
        upper[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
    return distributor_record_level_word(upper, &level) > 0 ? level : DISTRIBUTOR_LEVEL_NONE;
}

static int64_t record_json_number_time(const json_t *value)
{
    double number = json_number_value(value);
    if (number < 1e8 || number > 1e14)
        return 0;
    return (int64_t)(number < 1e11 ? number * 1000 : number); /* seconds or milliseconds */
}

static void record_json_time(const json_t *json, struct distributor_record *out)
{
    static const char *const keys[] = {"@timestamp", "timestamp", "timeMillis", "time", "ts", "date", NULL};
    const json_t *value = record_json_get(json, keys);
    const json_t *seconds = distributor_json_at(json, "instant", "epochSecond", NULL);
    if (json_is_string(value))
        (void)distributor_record_time(json_string_value(value), &out->ms);
    else if (json_is_number(value))
        out->ms = record_json_number_time(value);
    else if (json_is_integer(seconds) && json_integer_value(seconds) > 0 && json_integer_value(seconds) < INT64_C(100000000000))
        out->ms = json_integer_value(seconds) * 1000 +
                  distributor_json_int(distributor_json_at(json, "instant", "nanoOfSecond", NULL), 0) / 1000000;
    out->timed = out->ms != 0;
}

static void record_json_names(const json_t *json, struct distributor_record *out)
{
    static const char *const threads[] = {"thread", "thread_name", "threadName", "process.thread.name", NULL};
    static const char *const holders[] = {"contextMap", "mdc", "labels", "context", NULL};
    const char *context = distributor_json_text(json_object_get(json, "connector.context"));
    for (size_t i = 0; context == NULL && holders[i] != NULL; i++)
        context = distributor_json_text(distributor_json_at(json, holders[i], "connector.context", NULL));
    if (context != NULL) {
        struct distributor_record head;
        char *line DV_CLEANUP_FREE = dv_asprintf("00:00:00 INFO %s", context);
        if (distributor_record_parse_text(line, false, &head) && head.connector[0] != '\0') {
            (void)dv_strlcpy(out->connector, head.connector, sizeof out->connector);
            out->task = head.task;
        }
    }
    distributor_record_connector(out->message, out->message_len, out->connector, sizeof out->connector, &out->task);
    const char *thread = distributor_json_text(record_json_get(json, threads));
    if (thread != NULL)
        distributor_record_connector(thread, strlen(thread), out->connector, sizeof out->connector, &out->task);
}

/* Unescapes "key": "text" as found in an object that is cut or that jansson refuses (a number past 64 bits). NULL when it is not there;
 * the caller frees. */
static char *record_json_salvage(const char *line, const char *key)
{
    char quoted[32];
    (void)dv_format(quoted, sizeof quoted, "\"%s\"", key);
    const char *at = strstr(line, quoted);
    at = at != NULL ? at + strlen(quoted) : NULL;
    at = at != NULL ? at + strspn(at, " ") : NULL;
    if (at == NULL || *at != ':' || at[1 + strspn(at + 1, " ")] != '"')
        return NULL;
    at += 2 + strspn(at + 1, " ");
    char *text = dv_alloc(strlen(at) + 1);
    size_t len = 0;
    for (; *at != '\0' && *at != '"'; at++) {
        char next = *at;
        if (*at == '\\' && at[1] != '\0') {
            at++;
            next = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at == 'r' ? '\r' : *at;
        }
        text[len++] = next;
    }
    return text;
}

static json_t *record_json_rescue(const char *line)
{
    static const char *const keys[] = {"level",       "log.level",           "severity",    "message",
                                       "msg",         "@timestamp",          "timestamp",   "thread",
                                       "thread_name", "process.thread.name", "stack_trace", "error.stack_trace"};
    json_t *json = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char *text DV_CLEANUP_FREE = record_json_salvage(line, keys[i]);
        json_t *value = text != NULL ? json_string(text) : NULL;
        if (value != NULL)
            (void)json_object_set_new(json, keys[i], value);
    }
    return json;
}

bool distributor_record_parse_json(const char *line, size_t len, struct distributor_record *out)
{
    static const char *const levels[] = {"level", "log.level", "severity", "levelname", "@level", NULL};
    static const char *const messages[] = {"message", "msg", "@message", "short_message", NULL};
    *out = (struct distributor_record){.task = -1};
    if (line[0] != '{' || len < 2)
        return false;
    json_t *json = json_loadb(line, len, 0, NULL);
    bool whole = json != NULL;
    if (!whole)
        json = record_json_rescue(line);
    const json_t *message = record_json_get(json, messages);
    out->level = record_json_level(record_json_get(json, levels));
    if (!json_is_object(json) || (out->level == DISTRIBUTOR_LEVEL_NONE && (!whole || message == NULL))) {
        json_decref(json);
        return false;
    }
    if (json_is_object(message))
        message = json_object_get(message, "message");
    out->json = json;
    out->message = json_is_string(message) ? json_string_value(message) : "";
    out->message_len = strlen(out->message);
    record_json_time(json, out);
    record_json_names(json, out);
    return true;
}

void distributor_record_clear(struct distributor_record *head)
{
    json_decref(head->json);
    head->json = NULL;
}

/* ---------------------------------------------------------------- traces */

struct record_json_each {
    void (*each)(void *arg, const char *line);
    void *arg;
};

static void record_json_lines(const char *text, const struct record_json_each *to)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        char *line DV_CLEANUP_FREE = dv_strndup(text, len);
        to->each(to->arg, line);
        text += text[len] == '\n' ? len + 1 : len;
    }
}

/* {"name", "message", "cause": {...}}, as JsonLayout writes "thrown" */
static void record_json_thrown(const json_t *thrown, const struct record_json_each *to)
{
    static const char *const names[] = {"name", "exception_class", "class", "type", NULL};
    static const char *const messages[] = {"message", "exception_message", "localizedMessage", NULL};
    for (int i = 0; json_is_object(thrown) && i < RECORD_JSON_CAUSES; i++) {
        const char *name = distributor_json_text(record_json_get(thrown, names));
        const char *message = distributor_json_text(record_json_get(thrown, messages));
        if (name != NULL) {
            char *text DV_CLEANUP_FREE =
                dv_asprintf("%s%s%s%s", i > 0 ? "Caused by: " : "", name, message != NULL ? ": " : "", message != NULL ? message : "");
            record_json_lines(text, to);
        }
        thrown = json_object_get(thrown, "cause");
    }
}

static void record_json_stack(const json_t *stack, const struct record_json_each *to)
{
    static const char *const stacks[] = {"stacktrace", "stack_trace", "stackTrace", "extendedStackTrace", NULL};
    size_t i = 0;
    const json_t *line = NULL;
    if (json_is_string(stack))
        record_json_lines(json_string_value(stack), to);
    json_array_foreach(stack, i, line)
    {
        if (json_is_string(line))
            record_json_lines(json_string_value(line), to);
    }
    if (!json_is_object(stack))
        return;
    if (json_is_object(json_object_get(stack, "cause")) || !json_is_string(record_json_get(stack, stacks)))
        record_json_thrown(stack, to);
    else
        record_json_lines(json_string_value(record_json_get(stack, stacks)), to);
}

void distributor_record_json_trace(const json_t *json, void (*each)(void *arg, const char *line), void *arg)
{
    static const char *const keys[] = {"stack_trace", "error.stack_trace", "stackTrace", "stacktrace", "thrown",
                                       "exception",   "throwable",         "error",      NULL};
    const struct record_json_each to = {.each = each, .arg = arg};
    const char *message = distributor_json_text(json_object_get(json, "message"));
    const char *more = message != NULL ? strchr(message, '\n') : NULL;
    if (more != NULL)
        record_json_lines(more + 1, &to);
    const json_t *stack = record_json_get(json, keys);
    if (stack != NULL)
        record_json_stack(stack, &to);
    const char *type = distributor_json_text(json_object_get(json, "error.type"));
    const char *text = distributor_json_text(json_object_get(json, "error.message"));
    if (stack == NULL && type != NULL) {
        char *line DV_CLEANUP_FREE = dv_asprintf("%s: %s", type, text != NULL ? text : "");
        each(arg, line);
    }
}

/* Layouts in text:
 *   Strimzi up to 0.45   %d{ISO8601} %p %X{connector.context}%m (%c) [%t]
 *   Strimzi from 0.46    %d{yyyy-MM-dd HH:mm:ss} %-5p [%t] %c{1}:%L - %m
 *   Kafka's own          [%d] %p %X{connector.context}%m (%c:%L)
 *   log4j's own          <time> <thread> <level> <message>, without the time in older ones
 * and what lies between them.
 */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "distributor/record.h"

/* ---------------------------------------------------------------- time and level */

/* Compares with a pattern in which 0 stands for a digit; length of the pattern or 0. */
static size_t record_shape(const char *text, const char *pattern)
{
    size_t i = 0;
    for (; pattern[i] != '\0'; i++) {
        bool fits = pattern[i] == '0' ? isdigit((unsigned char)text[i]) != 0 : pattern[i] == text[i];
        if (!fits)
            return 0;
    }
    return i;
}

static size_t record_fraction(const char *text)
{
    size_t len = (text[0] == '.' || text[0] == ',') && isdigit((unsigned char)text[1]) ? 1 : 0;
    while (len > 0 && isdigit((unsigned char)text[len]))
        len++;
    return len;
}

static size_t record_offset(const char *text, char *out)
{
    if (text[0] == 'Z')
        return 1;
    size_t len = record_shape(text + (text[0] != '\0' ? 1 : 0), "00:00");
    if (len == 0)
        len = record_shape(text + (text[0] != '\0' ? 1 : 0), "0000");
    if ((text[0] != '+' && text[0] != '-') || len == 0)
        return 0;
    (void)dv_format(out, 8, "%.3s:%.2s", text, text + len - 1);
    return len + 1;
}

size_t distributor_record_time(const char *text, int64_t *ms)
{
    *ms = 0;
    size_t len = record_shape(text, "00:00:00");
    if (len > 0)
        return len + record_fraction(text + len);
    len = record_shape(text, "0000-00-00 00:00:00");
    if (len == 0)
        len = record_shape(text, "0000-00-00T00:00:00");
    if (len == 0)
        return 0;
    size_t fraction = record_fraction(text + len);
    char offset[8] = "Z"; /* pods run in UTC */
    size_t offset_len = record_offset(text + len + fraction, offset);
    char rfc3339[64];
    int digits = fraction > 10 ? 9 : fraction > 0 ? (int)fraction - 1 : 0;
    (void)dv_format(rfc3339, sizeof rfc3339, "%.10sT%.8s%s%.*s%s", text, text + 11, digits > 0 ? "." : "", digits, text + len + 1, offset);
    if (dv_time_parse(rfc3339, ms) != 0)
        *ms = 0;
    return len + fraction + offset_len;
}

size_t distributor_record_level_word(const char *text, enum distributor_level *level)
{
    static const struct {
        const char *word;
        enum distributor_level level;
    } words[] = {
        {"ERROR", DISTRIBUTOR_LEVEL_ERROR}, {"FATAL", DISTRIBUTOR_LEVEL_ERROR},  {"SEVERE", DISTRIBUTOR_LEVEL_ERROR},
        {"WARN", DISTRIBUTOR_LEVEL_WARN},   {"WARNING", DISTRIBUTOR_LEVEL_WARN}, {"INFO", DISTRIBUTOR_LEVEL_CLEAN},
        {"DEBUG", DISTRIBUTOR_LEVEL_CLEAN}, {"TRACE", DISTRIBUTOR_LEVEL_CLEAN},  {"FINE", DISTRIBUTOR_LEVEL_CLEAN},
    };
    size_t len = 0;
    while (isalpha((unsigned char)text[len]))
        len++;
    bool ends = text[len] == '\0' || strchr(" \t:]|", text[len]) != NULL;
    for (size_t i = 0; ends && i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].word) == len && memcmp(words[i].word, text, len) == 0) {
            *level = words[i].level;
            return len;
        }
    }
    return 0;
}

/* ---------------------------------------------------------------- connector */

static void record_name_task(const char *id, size_t len, char *connector, size_t size, int32_t *task)
{
    size_t digits = len;
    while (digits > 0 && isdigit((unsigned char)id[digits - 1]))
        digits--;
    int64_t number = -1;
    char text[16];
    (void)dv_format(text, sizeof text, "%.*s", (int)(len - digits < 15 ? len - digits : 15), id + digits);
    if (digits < 2 || id[digits - 1] != '-' || dv_parse_i64(text, 0, INT32_MAX, &number) != 0)
        return;
    distributor_text_copy(connector, size, id, digits - 1);
    *task = (int32_t)number;
}

/* "name|task-0|offsets", "name|worker" */
static void record_context(const char *text, size_t len, char *connector, size_t size, int32_t *task)
{
    const char *bar = memchr(text, '|', len);
    if (bar == NULL || bar == text || bar[-1] == ' ')
        return;
    const char *scope = bar + 1;
    bool is_task = dv_starts_with(scope, "task-") && isdigit((unsigned char)scope[5]);
    if (!is_task && !dv_starts_with(scope, "worker"))
        return;
    if (is_task) {
        int32_t number = 0;
        for (const char *digit = scope + 5; isdigit((unsigned char)*digit) && number < 100000000; digit++)
            number = number * 10 + (*digit - '0');
        *task = number;
    }
    distributor_text_copy(connector, size, text, (size_t)(bar - text));
}

static const char *record_find(const char *text, size_t len, const char *needle)
{
    const char *hit = memmem(text, len, needle, strlen(needle));
    return hit != NULL ? hit + strlen(needle) : NULL;
}

void distributor_record_connector(const char *text, size_t len, char *connector, size_t size, int32_t *task)
{
    static const char *const intros[] = {
        "Task{id=", "task-thread-", "connector-consumer-", "connector-producer-", "connector-adminclient-", "Graceful stop of task "};
    for (size_t i = 0; connector[0] == '\0' && i < sizeof intros / sizeof intros[0]; i++) {
        const char *id = record_find(text, len, intros[i]);
        if (id == NULL)
            continue;
        size_t left = len - (size_t)(id - text);
        size_t id_len = 0;
        while (id_len < left && strchr(" ,;}])|\n", id[id_len]) == NULL)
            id_len++;
        record_name_task(id, id_len, connector, size, task);
    }
    const char *name = connector[0] == '\0' ? record_find(text, len, "WorkerConnector{id=") : NULL;
    const char *end = name != NULL ? memchr(name, '}', len - (size_t)(name - text)) : NULL;
    if (end != NULL)
        distributor_text_copy(connector, size, name, (size_t)(end - name));
}

/* ---------------------------------------------------------------- head */

static const char *record_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* "[...]" at text: its content and what follows; NULL when there is none. */
static const char *record_bracket(const char *text, const char **content, size_t *len)
{
    const char *end = *text == '[' ? strchr(text, ']') : NULL;
    if (end == NULL)
        return NULL;
    *content = text + 1;
    *len = (size_t)(end - text) - 1;
    return end + 1;
}

static const char *record_level_at(const char *text, enum distributor_level *level)
{
    const char *word = *text == '[' ? text + 1 : text;
    size_t len = distributor_record_level_word(word, level);
    if (len == 0 || (word != text && word[len] != ']'))
        return NULL;
    return word + len + (word != text ? 1 : 0);
}

/* "[thread] LEVEL", "thread LEVEL" */
static const char *record_thread_level(const char *text, struct distributor_record *out)
{
    const char *content = text;
    size_t len = strcspn(text, " \t");
    const char *after = record_bracket(text, &content, &len);
    if (after == NULL)
        after = text + len;
    if (len == 0 || *after != ' ')
        return NULL;
    after = record_level_at(record_blanks(after), &out->level);
    if (after == NULL)
        return NULL;
    out->thread = content;
    out->thread_len = len;
    return after;
}

/* Lines without a time: log4j's status lines, and a layout that begins with the level. */
static const char *record_untimed(const char *line, bool level_first, struct distributor_record *out)
{
    const char *after = record_level_at(line, &out->level);
    if (after != NULL) {
        const char *rest = record_blanks(after);
        size_t len = distributor_record_time(*rest == '[' ? rest + 1 : rest, &out->ms);
        if (len > 0) {
            out->timed = true;
            rest += len + (*rest == '[' ? 2 : 0);
            return rest[-1] == '\0' ? rest - 1 : rest;
        }
        return *after == ' ' && (level_first || dv_starts_with(rest, "StatusLogger ")) ? after : NULL;
    }
    if (dv_starts_with(line, "main ") || dv_starts_with(line, "Log4j2-"))
        return record_thread_level(line, out);
    return NULL;
}

static const char *record_timed(const char *line, struct distributor_record *out)
{
    bool bracket = *line == '[';
    size_t len = distributor_record_time(line + (bracket ? 1 : 0), &out->ms);
    if (len == 0 || (bracket && line[len + 1] != ']'))
        return NULL;
    const char *rest = record_blanks(line + len + (bracket ? 2 : 0));
    const char *after = record_level_at(rest, &out->level);
    if (after == NULL)
        after = record_thread_level(rest, out);
    out->timed = after != NULL;
    return after;
}

/* ---------------------------------------------------------------- message */

/* "Class:12 - ", "a.b.Class - " */
static const char *record_skip_class(const char *text)
{
    size_t len = 0;
    while (isalnum((unsigned char)text[len]) || (text[len] != '\0' && strchr("._$:?", text[len]) != NULL))
        len++;
    return len > 0 && dv_starts_with(text + len, " - ") ? text + len + 3 : NULL;
}

/* Drops " (logger)", " (logger:12)", " (logger) [thread]" at the end. */
static void record_trim_logger(struct distributor_record *out)
{
    size_t len = out->message_len;
    const char *text = out->message;
    size_t thread = len;
    if (len > 0 && text[len - 1] == ']') {
        const char *open = memrchr(text, '[', len);
        if (open == NULL || open < text + 2 || open[-1] != ' ' || open[-2] != ')')
            return;
        thread = (size_t)(open - text);
        len = thread - 1;
    }
    const char *open = len > 0 && text[len - 1] == ')' ? memrchr(text, '(', len) : NULL;
    size_t at = open != NULL ? (size_t)(open - text) : 0;
    if (at == 0 || text[at - 1] != ' ' || memchr(open, ' ', len - at) != NULL || memchr(open, '.', len - at) == NULL)
        return;
    if (thread < out->message_len) {
        out->thread = text + thread + 1;
        out->thread_len = out->message_len - thread - 2;
    }
    out->message_len = at - 1;
}

static void record_message(const char *rest, struct distributor_record *out)
{
    const char *content = NULL;
    size_t len = 0;
    rest = record_blanks(rest + (*rest == ':' ? 1 : 0));
    const char *after = record_bracket(rest, &content, &len);
    const char *message = record_skip_class(after != NULL ? record_blanks(after) : rest);
    if (message != NULL && after != NULL) {
        out->thread = content;
        out->thread_len = len;
    }
    out->message = message != NULL ? message : rest;
    after = record_bracket(out->message, &content, &len);
    if (after != NULL)
        record_context(content, len, out->connector, sizeof out->connector, &out->task);
    if (out->connector[0] != '\0')
        out->message = record_blanks(after);
    out->message_len = strlen(out->message);
    if (message == NULL)
        record_trim_logger(out);
}

bool distributor_record_parse_text(const char *line, bool level_first, struct distributor_record *out)
{
    *out = (struct distributor_record){.task = -1};
    const char *rest = record_timed(line, out);
    if (rest == NULL)
        rest = record_untimed(line, level_first, out);
    if (rest == NULL)
        return false;
    record_message(rest, out);
    distributor_record_connector(out->message, out->message_len, out->connector, sizeof out->connector, &out->task);
    if (out->thread != NULL)
        distributor_record_connector(out->thread, out->thread_len, out->connector, sizeof out->connector, &out->task);
    return true;
}

#include "distributor/text.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "distributor/distributor.h"

/* ---------------------------------------------------------------- clean copies */

/* Length of the valid UTF-8 character at p, 0 when there is none. */
static size_t text_char_len(const unsigned char *p, size_t left)
{
    size_t len = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    if (len == 0 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] > 0x9f;
    bool beyond = p[0] == 0xf4 && p[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : len;
}

void distributor_text_append(char *dst, size_t size, const char *src, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)src;
    size_t used = strlen(dst);
    for (size_t i = 0; i < len;) {
        size_t n = text_char_len(bytes + i, len - i);
        if (used + (n > 0 ? n : 1) >= size)
            break;
        if (n == 0)
            dst[used++] = '?';
        else if (n == 1)
            dst[used++] = bytes[i] < 0x20 || bytes[i] == 0x7f ? ' ' : (char)bytes[i];
        for (size_t k = 0; n > 1 && k < n; k++)
            dst[used++] = (char)bytes[i + k];
        i += n > 0 ? n : 1;
    }
    dst[used] = '\0';
}

void distributor_text_copy(char *dst, size_t size, const char *src, size_t len)
{
    if (size == 0)
        return;
    dst[0] = '\0';
    distributor_text_append(dst, size, src, len);
}

bool distributor_text_has(const char *text, const char *const *needles)
{
    for (; *needles != NULL; needles++)
        if (strstr(text, *needles) != NULL)
            return true;
    return false;
}

/* ---------------------------------------------------------------- exceptions */

static size_t text_class_token(const char *text)
{
    size_t len = 0;
    while (isalnum((unsigned char)text[len]) || text[len] == '.' || text[len] == '_' || text[len] == '$')
        len++;
    return len;
}

static const char *text_skip_thread(const char *line)
{
    static const char intro[] = "Exception in thread \"";
    if (!dv_starts_with(line, intro))
        return line;
    const char *end = strstr(line + sizeof intro - 1, "\" ");
    return end != NULL ? end + 2 : line;
}

const char *distributor_text_exception(const char *line, size_t *class_len)
{
    line = text_skip_thread(line);
    size_t len = text_class_token(line);
    size_t at = len;
    while (at > 0 && line[at - 1] != '.')
        at--;
    bool ends = line[len] == ':' || line[len] == '\0' || line[len] == '\n' || line[len] == '\r';
    if (at == 0 || at == len || !ends || !isupper((unsigned char)line[at]))
        return NULL;
    *class_len = len - at;
    return line + at;
}

static size_t text_line_len(const char *text)
{
    size_t len = strcspn(text, "\n");
    while (len > 0 && (text[len - 1] == '\r' || text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    return len;
}

/* Kafka 4.3's subclasses of RetriableException and RetriableCommitFailedException that a worker's log can carry. An unknown topic is one
 * of them, but has a kind of its own. */
static const char *const text_retriable[] = {
    "RetriableException",
    "RetriableCommitFailedException",
    "TimeoutException",
    "DisconnectException",
    "NetworkException",
    "NotLeaderOrFollowerException",
    "LeaderNotAvailableException",
    "CoordinatorNotAvailableException",
    "CoordinatorLoadInProgressException",
    "NotCoordinatorException",
    "NotEnoughReplicasException",
    "NotEnoughReplicasAfterAppendException",
    "CorruptRecordException",
    "KafkaStorageException",
    "FencedLeaderEpochException",
    "UnknownLeaderEpochException",
    "OffsetNotAvailableException",
    "ReplicaNotAvailableException",
    "PreferredLeaderNotAvailableException",
    "ListenerNotFoundException",
    "NotControllerException",
    "RebalanceInProgressException",
    "ConcurrentTransactionsException",
    "ThrottlingQuotaExceededException",
    NULL,
};

static bool text_class_is(const char *name, size_t len, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strlen(*names) == len && memcmp(name, *names, len) == 0)
            return true;
    return false;
}

static unsigned text_class_marks(const char *line)
{
    static const char *const config[] = {"ConfigException", NULL};
    size_t len = 0;
    const char *name = distributor_text_exception(line, &len);
    if (name == NULL)
        return 0;
    return (text_class_is(name, len, text_retriable) ? DISTRIBUTOR_MARK_RETRIABLE : 0U) |
           (text_class_is(name, len, config) ? DISTRIBUTOR_MARK_CONFIG : 0U);
}

static bool text_plugin_missing(const char *text)
{
    static const char *const absent[] = {"Failed to find any class that implements", "ClassNotFoundException", NULL};
    const char *could_not = strstr(text, " could not be found");
    return distributor_text_has(text, absent) ||
           (could_not != NULL && strstr(text, "Invalid value ") != NULL && strstr(text, "Class ") != NULL);
}

unsigned distributor_text_marks(const char *text)
{
    static const struct {
        const char *needle;
        unsigned mark;
    } words[] = {
        {"AuthorizationException", DISTRIBUTOR_MARK_AUTHORIZATION},
        {"AUTHORIZATION_FAILED", DISTRIBUTOR_MARK_AUTHORIZATION},
        {"Not authorized to ", DISTRIBUTOR_MARK_AUTHORIZATION},
        {"uthorization failed", DISTRIBUTOR_MARK_AUTHORIZATION},
        {"AuthenticationException", DISTRIBUTOR_MARK_AUTHENTICATION},
        {"uthentication failed", DISTRIBUTOR_MARK_AUTHENTICATION},
        {"ailed authentication", DISTRIBUTOR_MARK_AUTHENTICATION},
        {"authentication error", DISTRIBUTOR_MARK_AUTHENTICATION},
        {"SSL handshake failed", DISTRIBUTOR_MARK_AUTHENTICATION},
        {"SSLHandshakeException", DISTRIBUTOR_MARK_AUTHENTICATION},
        {"LoginException", DISTRIBUTOR_MARK_AUTHENTICATION},
        {"terminated during authentication", DISTRIBUTOR_MARK_SUSPECTED},
        {"OutOfMemoryError", DISTRIBUTOR_MARK_MEMORY},
        {"UNKNOWN_TOPIC_OR_PARTITION", DISTRIBUTOR_MARK_UNKNOWN_TOPIC},
        {"UnknownTopicOrPartitionException", DISTRIBUTOR_MARK_UNKNOWN_TOPIC},
        {"does not host this topic-partition", DISTRIBUTOR_MARK_UNKNOWN_TOPIC},
        {"Received unknown topic", DISTRIBUTOR_MARK_UNKNOWN_TOPIC},
    };
    unsigned marks = text_class_marks(text) | (text_plugin_missing(text) ? DISTRIBUTOR_MARK_PLUGIN : 0U);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(text, words[i].needle) != NULL)
            marks |= words[i].mark;
    return marks & DISTRIBUTOR_MARK_SUSPECTED ? marks & ~(unsigned)DISTRIBUTOR_MARK_AUTHENTICATION : marks;
}

/* ---------------------------------------------------------------- traces */

/* An exception's head without its package. */
static void text_head(char *out, const char *head)
{
    size_t class_len = 0;
    const char *name = distributor_text_exception(head, &class_len);
    const char *from = name != NULL ? name : head;
    distributor_text_copy(out, FACT_CAUSE_MAX, from, text_line_len(from));
}

static bool trace_is_frame(const char *line)
{
    size_t blanks = strspn(line, " \t");
    const char *rest = line + blanks;
    return dv_starts_with(rest, "... ") || (blanks > 0 && (dv_starts_with(rest, "at ") || dv_starts_with(rest, "Suppressed: ") ||
                                                           dv_starts_with(rest, "Caused by: ") || dv_starts_with(rest, "- ")));
}

bool distributor_trace_line(struct distributor_trace *trace, const char *line)
{
    static const char caused[] = "Caused by: ";
    size_t class_len = 0;
    bool cause = dv_starts_with(line, caused);
    const char *head = cause ? line + sizeof caused - 1 : line;
    bool opens = cause || (trace->first[0] == '\0' && distributor_text_exception(line, &class_len) != NULL);
    if (opens) {
        trace->joining = cause ? trace->root : trace->first;
        trace->marks |= distributor_text_marks(head);
        text_head(trace->joining, head);
        return true;
    }
    size_t len = text_line_len(line);
    if (len == 0 || trace_is_frame(line) || dv_starts_with(line, "Wrapped by: "))
        trace->joining = NULL;
    if (trace->joining != NULL) {
        trace->marks |= distributor_text_marks(line) & DISTRIBUTOR_MARK_PLUGIN;
        size_t blanks = strspn(line, " \t");
        distributor_text_append(trace->joining, FACT_CAUSE_MAX, " ", 1);
        distributor_text_append(trace->joining, FACT_CAUSE_MAX, line + blanks, len - blanks);
    }
    return false;
}

const char *distributor_trace_cause(const struct distributor_trace *trace)
{
    return trace->root[0] != '\0' ? trace->root : trace->first;
}

void distributor_root_cause(const char *trace, char *out, size_t size)
{
    struct distributor_trace parsed = {.joining = NULL};
    for (const char *line = trace; line != NULL && *line != '\0';) {
        size_t len = strcspn(line, "\n");
        char *copy DV_CLEANUP_FREE = dv_strndup(line, len);
        (void)distributor_trace_line(&parsed, copy);
        line += line[len] == '\n' ? len + 1 : len;
    }
    const char *cause = distributor_trace_cause(&parsed);
    if (cause[0] == '\0' && trace != NULL) {
        cause = trace + strspn(trace, " \t\r\n");
        distributor_text_copy(out, size, cause, text_line_len(cause));
        return;
    }
    distributor_text_copy(out, size, cause, strlen(cause));
}

/* Private to the room: texts of Java programs, as they stand in status fields and logs. */
#ifndef DV_DISTRIBUTOR_TEXT_H
#define DV_DISTRIBUTOR_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "model/facts.h"

/* Both write valid UTF-8 without control characters, cut at the end of a character, and always a NUL. */
void distributor_text_copy(char *dst, size_t size, const char *src, size_t len);
void distributor_text_append(char *dst, size_t size, const char *src, size_t len);
/* True when one of the texts, ended by NULL, occurs. */
bool distributor_text_has(const char *text, const char *const *needles);

/* What a text speaks of. */
enum distributor_mark {
    DISTRIBUTOR_MARK_AUTHORIZATION = 1,
    DISTRIBUTOR_MARK_AUTHENTICATION = 2,
    DISTRIBUTOR_MARK_SUSPECTED = 4, /* "terminated during authentication": its text also lists causes, which do not count */
    DISTRIBUTOR_MARK_MEMORY = 8,
    DISTRIBUTOR_MARK_CONFIG = 16,
    DISTRIBUTOR_MARK_RETRIABLE = 32, /* an exception Kafka's clients call retriable */
    DISTRIBUTOR_MARK_UNKNOWN_TOPIC = 64,
    DISTRIBUTOR_MARK_PLUGIN = 128, /* a class that is not in the image */
};
unsigned distributor_text_marks(const char *text);

/* Short name of the exception class a line begins with ("a.b.CException: m", "Exception in thread "x" a.b.CException"), NULL when it is no
 * such line; the message follows in the line. */
const char *distributor_text_exception(const char *line, size_t *class_len);

/* A stack trace, line by line. */
struct distributor_trace {
    char first[FACT_CAUSE_MAX];
    char root[FACT_CAUSE_MAX];
    char *joining;  /* the message that the next line may continue */
    unsigned marks; /* of its exception lines */
};
/* Returns true when the line is the head of an exception of the trace's own chain. */
bool distributor_trace_line(struct distributor_trace *trace, const char *line);
const char *distributor_trace_cause(const struct distributor_trace *trace); /* "" when it had no exception */

#endif

/* Private to the room: one line of a log, taken apart. */
#ifndef DV_DISTRIBUTOR_RECORD_H
#define DV_DISTRIBUTOR_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "distributor/text.h"

enum distributor_level {
    DISTRIBUTOR_LEVEL_NONE,
    DISTRIBUTOR_LEVEL_CLEAN,
    DISTRIBUTOR_LEVEL_WARN,
    DISTRIBUTOR_LEVEL_ERROR
}; /* CLEAN: INFO and below; ERROR: FATAL too */

/* The head of a record. Texts point into the line or into json. */
struct distributor_record {
    enum distributor_level level;
    bool timed; /* the line has a time, whether or not with a date */
    int64_t ms; /* 0: no date */
    const char *message;
    size_t message_len;
    const char *thread; /* NULL; not ended by NUL */
    size_t thread_len;
    char connector[128];
    int32_t task;
    json_t *json; /* owned; NULL for text layouts */
};

/* Text layouts. level_first: a line may begin with its level. False when the line begins no record. */
bool distributor_record_parse_text(const char *line, bool level_first, struct distributor_record *out);
/* A JSON object with a message or a level. False when the line is none. */
bool distributor_record_parse_json(const char *line, size_t len, struct distributor_record *out);
void distributor_record_clear(struct distributor_record *head);

/* Calls each for the lines of the stack trace that a JSON record carries. */
void distributor_record_json_trace(const json_t *json, void (*each)(void *arg, const char *line), void *arg);

/* Time at text: number of bytes it takes, 0 when there is none. *ms is 0 for a time of day alone. */
size_t distributor_record_time(const char *text, int64_t *ms);
/* Level word at text: number of bytes it takes, 0 when there is none. */
size_t distributor_record_level_word(const char *text, enum distributor_level *level);
/* Connector and task as a text of len bytes names them ("[c|task-0]", "WorkerSinkTask{id=c-0}", "task-thread-c-0"). */
void distributor_record_connector(const char *text, size_t len, char *connector, size_t size, int32_t *task);

#endif

/* Log lines: `time level message key=value ...` or JSON. Only code that decides logs; libraries of this program return errors.
 * Values are cleaned in one place: control characters are escaped, long values cut. Written to stderr. */
#ifndef DV_BASE_LOG_H
#define DV_BASE_LOG_H

#include <stdbool.h>

enum dv_log_level { DV_LOG_DEBUG, DV_LOG_INFO, DV_LOG_WARN, DV_LOG_ERROR };

struct dv_log_config {
    enum dv_log_level level; /* lines below it are dropped */
    bool json;
    int fd; /* 2 in the program; tests give their own */
};

void dv_log_setup(struct dv_log_config config);
int dv_log_level_parse(const char *name, enum dv_log_level *level); /* debug|info|warn|error; 0 or -1 */

/* message is constant text; then pairs of const char *key, const char *value, ended by NULL. A NULL value is left out. */
void dv_log(enum dv_log_level level, const char *message, ...) __attribute__((sentinel));

#endif

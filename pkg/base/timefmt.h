/* Time as the Kubernetes API and users write it. */
#ifndef DV_BASE_TIMEFMT_H
#define DV_BASE_TIMEFMT_H

#include <stddef.h>
#include <stdint.h>

/* Both clocks at one instant, milliseconds. Pure code gets this as input and never asks a clock itself. */
struct dv_now {
    int64_t mono_ms; /* CLOCK_MONOTONIC */
    int64_t wall_ms; /* since 1970-01-01T00:00:00Z */
};

struct dv_now dv_clock_now(void);

#define DV_TIME_TEXT 32

/* RFC 3339 in UTC with seconds ("2026-03-02T10:00:00Z"); micro-time with six digits for Leases. out holds DV_TIME_TEXT bytes. */
void dv_time_format(int64_t wall_ms, char *out);
void dv_time_format_micro(int64_t wall_us, char *out);
/* Takes fractions of up to nine digits and offsets. 0, or -1: also for a day that no calendar has and for years beyond 0000 to 9999. */
int dv_time_parse(const char *text, int64_t *wall_ms);

/* "1h30m", "500ms", "60s": one or more <integer><unit>, unit ms|s|m|h; no sign. 0, or -1 for anything else or beyond 10 years. */
int dv_duration_parse(const char *text, int64_t *ms);
/* Shortest form that parses back: "1m30s", "500ms", "0s". */
void dv_duration_format(int64_t ms, char *out, size_t size);

#endif

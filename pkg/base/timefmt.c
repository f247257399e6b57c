#include "base/timefmt.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

/* 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z: what RFC 3339 can write. An offset may lead beyond. */
#define TIME_MIN_MS (INT64_C(-62167219200) * 1000)
#define TIME_MAX_MS (INT64_C(253402300799) * 1000 + 999)
#define DURATION_MAX_MS (INT64_C(10) * 366 * 86400 * 1000)

static int64_t clock_ms(clockid_t id)
{
    struct timespec ts;
    (void)clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

struct dv_now dv_clock_now(void)
{
    return (struct dv_now){.mono_ms = clock_ms(CLOCK_MONOTONIC), .wall_ms = clock_ms(CLOCK_REALTIME)};
}

/* Parts of a second are never negative, before 1970 neither. */
static int time_part(int64_t value, int64_t unit)
{
    return (int)((value % unit + unit) % unit);
}

/* "2026-03-02T10:00:00": strftime's %Y would write years before 1000 with fewer digits, and nothing reads them then. */
static void time_seconds(int64_t seconds, char *out)
{
    struct tm tm;
    time_t t = (time_t)seconds;
    if (gmtime_r(&t, &tm) == NULL)
        memset(&tm, 0, sizeof tm);
    (void)dv_format(out, DV_TIME_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                    tm.tm_sec);
}

void dv_time_format(int64_t wall_ms, char *out)
{
    char head[DV_TIME_TEXT];
    time_seconds((wall_ms - time_part(wall_ms, 1000)) / 1000, head);
    (void)dv_format(out, DV_TIME_TEXT, "%sZ", head);
}

void dv_time_format_micro(int64_t wall_us, char *out)
{
    char head[DV_TIME_TEXT];
    int part = time_part(wall_us, 1000000);
    time_seconds((wall_us - part) / 1000000, head);
    (void)dv_format(out, DV_TIME_TEXT, "%.22s.%06dZ", head, part);
}

static int time_digits(const char **p, int count, int *out)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if ((*p)[i] < '0' || (*p)[i] > '9')
            return -1;
        value = value * 10 + ((*p)[i] - '0');
    }
    *p += count;
    *out = value;
    return 0;
}

static int time_field(const char **p, int count, char after, int *out)
{
    if (time_digits(p, count, out) != 0)
        return -1;
    if (after == '\0')
        return 0;
    char have = **p;
    if (have != after && !(after == 'T' && (have == 't' || have == ' ')))
        return -1;
    (*p)++;
    return 0;
}

static int time_fraction_ms(const char **p, int *ms)
{
    int scale = 100;
    *ms = 0;
    if (**p != '.')
        return 0;
    (*p)++;
    if (**p < '0' || **p > '9')
        return -1;
    for (; **p >= '0' && **p <= '9'; (*p)++) {
        *ms += (**p - '0') * scale;
        scale /= 10;
    }
    return 0;
}

static int time_offset_ms(const char **p, int64_t *offset)
{
    char sign = **p;
    (*p)++;
    *offset = 0;
    if (sign == 'Z' || sign == 'z')
        return 0;
    int hours = 0;
    int minutes = 0;
    if ((sign != '+' && sign != '-') || time_field(p, 2, ':', &hours) != 0 || time_field(p, 2, '\0', &minutes) != 0 || hours > 23 ||
        minutes > 59)
        return -1;
    *offset = ((int64_t)hours * 60 + minutes) * 60000 * (sign == '-' ? -1 : 1);
    return 0;
}

/* As written, the month from 1: timegm would take a day 31 of February as one in March. A leap second is the first of the next minute. */
static bool time_is_right(const struct tm *tm)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (tm->tm_mon < 1 || tm->tm_mon > 12 || tm->tm_hour > 23 || tm->tm_min > 59 || tm->tm_sec > 60)
        return false;
    bool leap = tm->tm_year % 4 == 0 && (tm->tm_year % 100 != 0 || tm->tm_year % 400 == 0);
    return tm->tm_mday >= 1 && tm->tm_mday <= days[tm->tm_mon - 1] + (leap && tm->tm_mon == 2);
}

int dv_time_parse(const char *text, int64_t *wall_ms)
{
    struct tm tm = {0};
    const char *p = text;
    if (text == NULL || time_field(&p, 4, '-', &tm.tm_year) != 0 || time_field(&p, 2, '-', &tm.tm_mon) != 0 ||
        time_field(&p, 2, 'T', &tm.tm_mday) != 0 || time_field(&p, 2, ':', &tm.tm_hour) != 0 || time_field(&p, 2, ':', &tm.tm_min) != 0 ||
        time_field(&p, 2, '\0', &tm.tm_sec) != 0 || !time_is_right(&tm))
        return -1;
    int ms = 0;
    int64_t offset = 0;
    if (time_fraction_ms(&p, &ms) != 0 || time_offset_ms(&p, &offset) != 0 || *p != '\0')
        return -1;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    int64_t result = (int64_t)timegm(&tm) * 1000 + ms - offset;
    if (result < TIME_MIN_MS || result > TIME_MAX_MS)
        return -1;
    *wall_ms = result;
    return 0;
}

static int duration_unit(const char **p, int64_t *factor)
{
    if ((*p)[0] == 'm' && (*p)[1] == 's') {
        *factor = 1;
        *p += 2;
        return 0;
    }
    switch ((*p)[0]) {
    case 's': *factor = 1000; break;
    case 'm': *factor = 60000; break;
    case 'h': *factor = 3600000; break;
    default: return -1;
    }
    (*p)++;
    return 0;
}

int dv_duration_parse(const char *text, int64_t *ms)
{
    int64_t total = 0;
    if (text == NULL || *text == '\0')
        return -1;
    for (const char *p = text; *p != '\0';) {
        int64_t value = 0;
        if (*p < '0' || *p > '9')
            return -1;
        for (; *p >= '0' && *p <= '9'; p++) {
            value = value * 10 + (*p - '0');
            if (value > DURATION_MAX_MS)
                return -1;
        }
        int64_t factor = 0;
        if (duration_unit(&p, &factor) != 0 || value > DURATION_MAX_MS / factor)
            return -1;
        total += value * factor;
        if (total > DURATION_MAX_MS)
            return -1;
    }
    *ms = total;
    return 0;
}

void dv_duration_format(int64_t ms, char *out, size_t size)
{
    static const struct {
        int64_t factor;
        const char *unit;
    } units[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    size_t used = 0;
    if (ms <= 0) {
        (void)dv_strlcpy(out, "0s", size);
        return;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        int64_t n = ms / units[i].factor;
        ms %= units[i].factor;
        if (n > 0 && used < size)
            used += (size_t)snprintf(out + used, size - used, "%lld%s", (long long)n, units[i].unit);
    }
}

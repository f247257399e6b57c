#include "base/timefmt.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

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

static void time_fields(int64_t seconds, struct tm *tm)
{
    time_t t = (time_t)seconds;
    if (gmtime_r(&t, tm) == NULL)
        memset(tm, 0, sizeof *tm);
}

void dv_time_format(int64_t wall_ms, char *out)
{
    struct tm tm;
    time_fields(wall_ms / 1000, &tm);
    (void)strftime(out, DV_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void dv_time_format_micro(int64_t wall_us, char *out)
{
    struct tm tm;
    time_fields(wall_us / 1000000, &tm);
    char head[DV_TIME_TEXT];
    (void)strftime(head, sizeof head, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)dv_format(out, DV_TIME_TEXT, "%.19s.%06dZ", head, (int)(wall_us % 1000000));
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

static int time_fraction_ms(const char **p)
{
    int ms = 0;
    int scale = 100;
    if (**p != '.')
        return 0;
    for ((*p)++; **p >= '0' && **p <= '9'; (*p)++) {
        ms += (**p - '0') * scale;
        scale /= 10;
    }
    return ms;
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
    if ((sign != '+' && sign != '-') || time_field(p, 2, ':', &hours) != 0 || time_field(p, 2, '\0', &minutes) != 0)
        return -1;
    *offset = ((int64_t)hours * 60 + minutes) * 60000 * (sign == '-' ? -1 : 1);
    return 0;
}

int dv_time_parse(const char *text, int64_t *wall_ms)
{
    struct tm tm = {0};
    const char *p = text;
    if (text == NULL || time_field(&p, 4, '-', &tm.tm_year) != 0 || time_field(&p, 2, '-', &tm.tm_mon) != 0 ||
        time_field(&p, 2, 'T', &tm.tm_mday) != 0 || time_field(&p, 2, ':', &tm.tm_hour) != 0 || time_field(&p, 2, ':', &tm.tm_min) != 0 ||
        time_field(&p, 2, '\0', &tm.tm_sec) != 0)
        return -1;
    int ms = time_fraction_ms(&p);
    int64_t offset = 0;
    if (time_offset_ms(&p, &offset) != 0 || *p != '\0')
        return -1;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *wall_ms = (int64_t)timegm(&tm) * 1000 + ms - offset;
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

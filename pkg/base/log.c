#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/timefmt.h"

#define LINE_MAX_BYTES 8192
#define LINE_END_BYTES 2 /* "}\n" */
#define VALUE_MAX_BYTES 1024

static struct dv_log_config log_config = {.level = DV_LOG_INFO, .fd = 2};

static const char *const log_names[] = {"debug", "info", "warn", "error"};

void dv_log_setup(struct dv_log_config config)
{
    log_config = config;
}

int dv_log_level_parse(const char *name, enum dv_log_level *level)
{
    for (size_t i = 0; i < sizeof log_names / sizeof log_names[0]; i++) {
        if (dv_streq(name, log_names[i])) {
            *level = (enum dv_log_level)i;
            return 0;
        }
    }
    return -1;
}

static void log_quoted(struct dv_buf *line, const char *text)
{
    (void)dv_buf_adds(line, "\"");
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            (void)dv_buf_addf(line, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            (void)dv_buf_addf(line, "\\u%04x", c);
        else
            (void)dv_buf_add(line, p, 1);
    }
    (void)dv_buf_adds(line, "\"");
}

static bool log_is_plain(const char *text)
{
    if (*text == '\0')
        return false;
    for (const char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p <= 0x20 || *p == '"' || *p == '=' || *p == '\\' || *p == 0x7f)
            return false;
    return true;
}

/* What does not fit as a whole is left out: a line that breaks off could not be told from the next. */
static void log_pair(struct dv_buf *line, const char *key, const char *value)
{
    DV_CLEANUP_FREE char *clean = dv_utf8_clean(dv_strndup(value, VALUE_MAX_BYTES));
    DV_CLEANUP_BUF struct dv_buf pair = DV_BUF_INIT(LINE_MAX_BYTES);
    if (log_config.json) {
        (void)dv_buf_adds(&pair, ",");
        log_quoted(&pair, key);
        (void)dv_buf_adds(&pair, ":");
        log_quoted(&pair, clean);
    } else {
        (void)dv_buf_addf(&pair, " %s=", key);
        if (log_is_plain(clean))
            (void)dv_buf_adds(&pair, clean);
        else
            log_quoted(&pair, clean);
    }
    if (line->len + pair.len + LINE_END_BYTES <= LINE_MAX_BYTES)
        (void)dv_buf_add(line, dv_buf_text(&pair), pair.len);
}

static void log_head(struct dv_buf *line, enum dv_log_level level, const char *message)
{
    char when[DV_TIME_TEXT];
    dv_time_format_micro(dv_clock_now().wall_ms * 1000, when);
    when[23] = 'Z';
    when[24] = '\0';
    if (!log_config.json) {
        (void)dv_buf_addf(line, "%s %s %s", when, log_names[level], message);
        return;
    }
    (void)dv_buf_addf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", when, log_names[level]);
    log_quoted(line, message);
}

void dv_log(enum dv_log_level level, const char *message, ...)
{
    if (level < log_config.level)
        return;
    struct dv_buf line = DV_BUF_INIT(LINE_MAX_BYTES);
    log_head(&line, level, message);
    va_list ap;
    va_start(ap, message);
    for (;;) {
        const char *key = va_arg(ap, const char *);
        if (key == NULL)
            break;
        const char *value = va_arg(ap, const char *);
        if (value != NULL)
            log_pair(&line, key, value);
    }
    va_end(ap);
    (void)dv_buf_adds(&line, log_config.json ? "}\n" : "\n");
    ssize_t written = write(log_config.fd, dv_buf_text(&line), line.len);
    (void)written;
    dv_buf_free(&line);
}

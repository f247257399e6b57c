#include "base/err.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Also makes it valid UTF-8: it may have been cut within a character, and may come from a server. */
static void err_clean_text(char *text)
{
    (void)dv_utf8_clean(text);
    for (char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = ' ';
}

static int err_vset(struct dv_err *err, enum dv_err_kind kind, bool retry, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

static int err_vset(struct dv_err *err, enum dv_err_kind kind, bool retry, const char *fmt, va_list ap)
{
    if (err == NULL || err->kind != DV_ERR_NONE)
        return -1;
    err->kind = kind;
    err->retry = retry;
    err->code = 0;
    (void)vsnprintf(err->text, sizeof err->text, fmt, ap);
    err_clean_text(err->text);
    return -1;
}

int dv_err_set(struct dv_err *err, enum dv_err_kind kind, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)err_vset(err, kind, false, fmt, ap);
    va_end(ap);
    return -1;
}

int dv_err_retry(struct dv_err *err, enum dv_err_kind kind, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)err_vset(err, kind, true, fmt, ap);
    va_end(ap);
    return -1;
}

int dv_err_wrap(struct dv_err *err, const char *fmt, ...)
{
    if (err == NULL)
        return -1;
    char old[DV_ERR_TEXT_MAX];
    memcpy(old, err->text, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n < 0)
        n = 0;
    size_t used = (size_t)n < sizeof err->text ? (size_t)n : sizeof err->text - 1;
    if (snprintf(err->text + used, sizeof err->text - used, ": %s", old) < 0)
        err->text[used] = '\0';
    err_clean_text(err->text);
    return -1;
}

void dv_err_clear(struct dv_err *err)
{
    if (err != NULL)
        *err = DV_ERR_INIT;
}

const char *dv_err_kind_name(enum dv_err_kind kind)
{
    switch (kind) {
    case DV_ERR_NONE: return "none";
    case DV_ERR_INVALID: return "invalid";
    case DV_ERR_NOT_FOUND: return "not found";
    case DV_ERR_SECRET: return "secret not found";
    case DV_ERR_CONFLICT: return "conflict";
    case DV_ERR_DENIED: return "denied";
    case DV_ERR_AUTH: return "authentication";
    case DV_ERR_CERT: return "certificate";
    case DV_ERR_UNREACHABLE: return "unreachable";
    case DV_ERR_TIMEOUT: return "timeout";
    case DV_ERR_LIMIT: return "limit";
    case DV_ERR_GONE: return "gone";
    case DV_ERR_UNSUPPORTED: return "unsupported";
    case DV_ERR_INTERNAL: return "internal";
    }
    return "unknown";
}

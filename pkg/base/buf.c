#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int buf_reserve(struct dv_buf *buf, size_t more)
{
    if (more > buf->max || buf->len > buf->max - more)
        return -1;
    size_t need = buf->len + more + 1;
    if (need <= buf->cap)
        return 0;
    size_t cap = buf->cap > 0 ? buf->cap : 64;
    while (cap < need)
        cap *= 2;
    if (cap > buf->max + 1)
        cap = buf->max + 1;
    buf->data = dv_realloc(buf->data, cap);
    buf->cap = cap;
    return 0;
}

int dv_buf_add(struct dv_buf *buf, const void *bytes, size_t len)
{
    if (buf_reserve(buf, len) != 0)
        return -1;
    if (len > 0)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
    return 0;
}

int dv_buf_adds(struct dv_buf *buf, const char *text)
{
    return dv_buf_add(buf, text, strlen(text));
}

int dv_buf_addf(struct dv_buf *buf, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    int rc = -1;
    if (n >= 0 && buf_reserve(buf, (size_t)n) == 0) {
        (void)vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
        rc = 0;
    }
    va_end(again);
    return rc;
}

void dv_buf_drop(struct dv_buf *buf, size_t len)
{
    if (len == 0 || buf->len == 0)
        return;
    if (len > buf->len)
        len = buf->len;
    memmove(buf->data, buf->data + len, buf->len - len);
    buf->len -= len;
    buf->data[buf->len] = '\0';
}

void dv_buf_reset(struct dv_buf *buf)
{
    buf->len = 0;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

void dv_buf_free(struct dv_buf *buf)
{
    if (buf == NULL)
        return;
    free(buf->data);
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
}

const char *dv_buf_text(const struct dv_buf *buf)
{
    return buf->data != NULL ? buf->data : "";
}

char *dv_buf_take(struct dv_buf *buf)
{
    char *data = buf->data != NULL ? buf->data : dv_strdup("");
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
    return data;
}

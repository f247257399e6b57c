#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static _Noreturn void mem_out(void)
{
    (void)fputs("distverify: out of memory\n", stderr);
    abort();
}

void *dv_alloc(size_t size)
{
    return dv_calloc(1, size);
}

void *dv_calloc(size_t count, size_t size)
{
    void *ptr = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
    if (ptr == NULL)
        mem_out();
    return ptr;
}

void *dv_realloc(void *ptr, size_t size)
{
    void *bigger = realloc(ptr, size > 0 ? size : 1);
    if (bigger == NULL)
        mem_out();
    return bigger;
}

void *dv_reallocarray(void *ptr, size_t count, size_t size)
{
    void *bigger = reallocarray(ptr, count > 0 ? count : 1, size > 0 ? size : 1);
    if (bigger == NULL)
        mem_out();
    return bigger;
}

char *dv_strdup(const char *text)
{
    return text != NULL ? dv_strndup(text, strlen(text)) : NULL;
}

char *dv_strndup(const char *text, size_t max)
{
    if (text == NULL)
        return NULL;
    char *copy = strndup(text, max);
    if (copy == NULL)
        mem_out();
    return copy;
}

char *dv_asprintf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = NULL;
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        mem_out();
    return text;
}

bool dv_streq(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return strcmp(a, b) == 0;
}

bool dv_starts_with(const char *text, const char *prefix)
{
    return text != NULL && strncmp(text, prefix, strlen(prefix)) == 0;
}

bool dv_ends_with(const char *text, const char *suffix)
{
    if (text == NULL)
        return false;
    size_t n = strlen(text);
    size_t m = strlen(suffix);
    return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

bool dv_strlcpy(char *dst, const char *src, size_t size)
{
    if (size == 0)
        return false;
    size_t n = strnlen(src != NULL ? src : "", size);
    bool whole = n < size;
    if (!whole)
        n = size - 1;
    if (n > 0)
        memcpy(dst, src, n);
    dst[n] = '\0';
    return whole;
}

void dv_list_add(char *list, size_t size, const char *item)
{
    size_t used = strlen(list);
    (void)dv_format(list + used, size - used, "%s%s", used > 0 ? ", " : "", item);
}

bool dv_shorten(char *dst, const char *src, size_t size)
{
    bool whole = dv_strlcpy(dst, src, size);
    if (whole || size < 4)
        return whole;
    size_t end = size - 4, word = end;
    while (end > 0 && ((unsigned char)dst[end] & 0xc0) == 0x80)
        end--;
    while (word > size / 2 && dst[word] != ' ')
        word--;
    if (dst[word] == ' ')
        end = word;
    while (end > 0 && strchr(" ,;:(", dst[end - 1]) != NULL)
        end--;
    memcpy(dst + end, "...", 4);
    return false;
}

char *dv_format(char *dst, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(dst, size, fmt, ap);
    va_end(ap);
    return dst;
}

/* Length of the valid character at p, 0 when there is none; *cut: the text ends within it. */
static size_t mem_utf8_len(const unsigned char *p, bool *cut)
{
    size_t len = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    size_t have = 1;
    while (have < len && (p[have] & 0xc0) == 0x80)
        have++;
    *cut = len > have && p[have] == '\0';
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] > 0x9f;
    bool beyond = p[0] == 0xf4 && p[1] > 0x8f;
    return have < len || overlong || surrogate || beyond ? 0 : len;
}

char *dv_utf8_clean(char *text)
{
    bool cut = false;
    for (char *at = text; *at != '\0';) {
        size_t len = mem_utf8_len((const unsigned char *)at, &cut);
        if (cut)
            *at = '\0';
        else if (len == 0)
            *at++ = '?';
        else
            at += len;
    }
    return text;
}

int dv_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out)
{
    if (text == NULL || (*text != '-' && (*text < '0' || *text > '9'))) /* strtoll also takes blanks and a plus */
        return -1;
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max)
        return -1;
    *out = value;
    return 0;
}

uint64_t dv_hash64(uint64_t seed, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < len; i++) {
        seed ^= p[i];
        seed *= UINT64_C(0x100000001b3);
    }
    return seed;
}

uint64_t dv_random_u64(void)
{
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value)
        abort();
    return value;
}

void dv_random_id(char *out, size_t size)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t value = dv_random_u64();
    size_t n = size > 10 ? 10 : size - 1;
    for (size_t i = 0; i < n; i++) {
        out[i] = alphabet[value % 36];
        value /= 36;
    }
    out[n] = '\0';
}

void dv_freep(void *pointer_to_pointer)
{
    void **pointer = pointer_to_pointer;
    free(*pointer);
    *pointer = NULL;
}

#include "kube/scan.h"

#include <string.h>

struct scan_cursor {
    const char *at, *end;
};

static void scan_blank(struct scan_cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n' || *cursor->at == '\r' || *cursor->at == '\t'))
        cursor->at++;
}

static bool scan_take(struct scan_cursor *cursor, char c)
{
    scan_blank(cursor);
    if (cursor->at >= cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

/* From the opening quote past the closing one. */
static int scan_string(struct scan_cursor *cursor, struct scan_span *inside)
{
    if (!scan_take(cursor, '"'))
        return -1;
    const char *begin = cursor->at;
    for (; cursor->at < cursor->end; cursor->at++) {
        if (*cursor->at == '\\') {
            if (++cursor->at >= cursor->end)
                return -1;
        } else if (*cursor->at == '"') {
            *inside = (struct scan_span){begin, (size_t)(cursor->at - begin)};
            cursor->at++;
            return 0;
        }
    }
    return -1;
}

static int scan_nested(struct scan_cursor *cursor)
{
    char closing[SCAN_DEPTH_MAX];
    size_t depth = 0;
    struct scan_span ignored;
    while (cursor->at < cursor->end) {
        char c = *cursor->at;
        if (c == '"') {
            if (scan_string(cursor, &ignored) != 0)
                return -1;
            continue;
        }
        cursor->at++;
        if (c == '{' || c == '[') {
            if (depth == SCAN_DEPTH_MAX)
                return -1;
            closing[depth++] = c == '{' ? '}' : ']';
        } else if (c == '}' || c == ']') {
            if (closing[--depth] != c)
                return -1;
            if (depth == 0)
                return 0;
        }
    }
    return -1;
}

static int scan_value(struct scan_cursor *cursor, struct scan_span *value)
{
    scan_blank(cursor);
    const char *begin = cursor->at;
    struct scan_span ignored;
    int rc = 0;
    if (begin >= cursor->end)
        return -1;
    if (*begin == '{' || *begin == '[')
        rc = scan_nested(cursor);
    else if (*begin == '"')
        rc = scan_string(cursor, &ignored);
    else
        while (cursor->at < cursor->end && strchr(",]} \t\r\n", *cursor->at) == NULL)
            cursor->at++;
    *value = (struct scan_span){begin, (size_t)(cursor->at - begin)};
    return value->len > 0 ? rc : -1;
}

static int scan_members(struct scan_span span, bool object, scan_each *each, void *arg)
{
    struct scan_cursor cursor = {span.text, span.text != NULL ? span.text + span.len : NULL};
    char close = object ? '}' : ']';
    if (span.text == NULL || !scan_take(&cursor, object ? '{' : '['))
        return -1;
    if (scan_take(&cursor, close))
        return 0;
    for (;;) {
        struct scan_span key = {"", 0};
        struct scan_span value;
        if (object && (scan_string(&cursor, &key) != 0 || !scan_take(&cursor, ':')))
            return -1;
        if (scan_value(&cursor, &value) != 0)
            return -1;
        int rc = each(arg, key, value);
        if (rc != 0)
            return rc;
        if (scan_take(&cursor, close))
            return 0;
        if (!scan_take(&cursor, ','))
            return -1;
    }
}

int scan_object(struct scan_span span, scan_each *each, void *arg)
{
    return scan_members(span, true, each, arg);
}

int scan_array(struct scan_span span, scan_each *each, void *arg)
{
    return scan_members(span, false, each, arg);
}

bool scan_is_whole_object(struct scan_span span)
{
    struct scan_cursor cursor = {span.text, span.text != NULL ? span.text + span.len : NULL};
    struct scan_span value;
    if (span.text == NULL || scan_value(&cursor, &value) != 0 || value.text[0] != '{')
        return false;
    scan_blank(&cursor);
    return cursor.at == cursor.end;
}

struct scan_wanted {
    const char *key;
    struct scan_span found;
};

static int scan_compare(void *arg, struct scan_span key, struct scan_span value)
{
    struct scan_wanted *wanted = arg;
    if (strlen(wanted->key) != key.len || memcmp(wanted->key, key.text, key.len) != 0)
        return 0;
    wanted->found = value;
    return 1;
}

struct scan_span scan_member(struct scan_span span, const char *key)
{
    struct scan_wanted wanted = {.key = key};
    (void)scan_members(span, true, scan_compare, &wanted);
    return wanted.found;
}

bool scan_is(struct scan_span span, char first)
{
    return span.text != NULL && span.len > 0 && span.text[0] == first;
}

struct scan_span scan_plain_string(struct scan_span span)
{
    struct scan_span none = {0};
    if (!scan_is(span, '"') || span.len < 2 || memchr(span.text, '\\', span.len) != NULL)
        return none;
    return (struct scan_span){span.text + 1, span.len - 2};
}

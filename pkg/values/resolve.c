/* What a scalar is to Helm: go-yaml v2's resolve(), see values.h for the source. */
#include "values/internal.h"

#include <ctype.h>
#include <string.h>

#define VALUES_TAG "tag:yaml.org,2002:"

static bool values_in(const char *const *words, size_t count, const char *text, size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == len && memcmp(words[i], text, len) == 0)
            return true;
    return false;
}

bool values_resolve_bool(const char *text, size_t len, bool *value)
{
    static const char *const yes[] = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
    static const char *const no[] = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
    bool is_yes = values_in(yes, sizeof yes / sizeof *yes, text, len);
    if (!is_yes && !values_in(no, sizeof no / sizeof *no, text, len))
        return false;
    *value = is_yes;
    return true;
}

static bool values_resolve_null(const char *text, size_t len)
{
    static const char *const null[] = {"", "~", "null", "Null", "NULL"};
    return values_in(null, sizeof null / sizeof *null, text, len);
}

static bool values_digits_of(const char *text, size_t len, int base)
{
    for (size_t i = 0; i < len; i++) {
        int digit = isdigit((unsigned char)text[i]) ? text[i] - '0' : isalpha((unsigned char)text[i]) ? tolower(text[i]) - 'a' + 10 : 99;
        if (digit >= base)
            return false;
    }
    return len > 0;
}

/* 0x1f, 0o17, 0b101. Leading zeros mean octal to Go and a float otherwise: a number either way. Too long for 64 bits is a string. */
static bool values_is_based(const char *text, size_t len)
{
    if (len < 3 || text[0] != '0')
        return false;
    int base = 0;
    size_t most = 0;
    switch (tolower(text[1])) {
    case 'x': base = 16, most = 16; break;
    case 'o': base = 8, most = 22; break;
    case 'b': base = 2, most = 64; break;
    default: return false;
    }
    const char *digits = text + 2;
    size_t count = len - 2;
    if (!values_digits_of(digits, count, base))
        return false;
    for (; count > 1 && *digits == '0'; digits++)
        count--;
    return count <= most;
}

static size_t values_skip_digits(const char *text, size_t len, size_t i)
{
    while (i < len && isdigit((unsigned char)text[i]))
        i++;
    return i;
}

/* (\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool values_is_float(const char *text, size_t len)
{
    size_t whole = values_skip_digits(text, len, 0);
    size_t i = whole;
    if (i < len && text[i] == '.') {
        size_t fraction = values_skip_digits(text, len, i + 1);
        if (whole == 0 && fraction == i + 1)
            return false;
        i = fraction;
    } else if (whole == 0) {
        return false;
    }
    if (i < len && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        if (i < len && (text[i] == '-' || text[i] == '+'))
            i++;
        size_t end = values_skip_digits(text, len, i);
        if (end == i)
            return false;
        i = end;
    }
    return i == len;
}

static bool values_is_special(const char *text, size_t len)
{
    static const char *const words[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
                                        "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"};
    return values_in(words, sizeof words / sizeof *words, text, len);
}

bool values_is_number(const char *text, size_t len)
{
    char plain[80]; /* longer ones hold no number anybody means */
    size_t used = 0;
    if (len == 0 || len >= sizeof plain || strchr("+-.0123456789", text[0]) == NULL || text[0] == '\0')
        return false;
    if (values_is_special(text, len))
        return true;
    for (size_t i = 0; i < len; i++)
        if (text[i] != '_')
            plain[used++] = text[i];
    size_t sign = used > 0 && (plain[0] == '+' || plain[0] == '-');
    return values_is_based(plain + sign, used - sign) || values_is_float(plain + sign, used - sign);
}

bool values_is_decimal(const char *text, size_t len)
{
    if (len == 1 && text[0] == '0')
        return true;
    size_t sign = len > 0 && text[0] == '-';
    return len - sign > 0 && len - sign <= 18 && text[sign] != '0' && values_digits_of(text + sign, len - sign, 10);
}

enum values_type values_resolve_plain(const char *text, size_t len)
{
    bool ignored;
    if (values_resolve_null(text, len))
        return VALUES_NULL;
    if (values_resolve_bool(text, len, &ignored))
        return VALUES_BOOL;
    return values_is_number(text, len) ? VALUES_NUMBER : VALUES_STRING;
}

int values_resolve_scalar(const char *text, size_t len, bool plain, const char *tag, enum values_type *type)
{
    if (tag == NULL) {
        *type = plain ? values_resolve_plain(text, len) : VALUES_STRING;
        return 0;
    }
    static const struct {
        const char *tag;
        enum values_type type;
    } known[] = {{VALUES_TAG "str", VALUES_STRING},
                 {VALUES_TAG "bool", VALUES_BOOL},
                 {VALUES_TAG "int", VALUES_NUMBER},
                 {VALUES_TAG "float", VALUES_NUMBER},
                 {VALUES_TAG "null", VALUES_NULL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].tag, tag) == 0) {
            *type = known[i].type;
            return *type == VALUES_STRING || *type == values_resolve_plain(text, len) ? 0 : -1;
        }
    return -1;
}

/* Any bytes as time, duration, number, base64, UTF-8 and as a value in a log line. */
#include "../support/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/b64.h"
#include "base/log.h"
#include "base/timefmt.h"

static void durations(const char *text)
{
    int64_t ms = -77, again = -1;
    char formatted[64];
    if (dv_duration_parse(text, &ms) != 0) {
        MUST(ms == -77);
        return;
    }
    MUST(ms >= 0 && ms <= INT64_C(3660) * 86400 * 1000);
    dv_duration_format(ms, formatted, sizeof formatted);
    MUST(dv_duration_parse(formatted, &again) == 0 && again == ms);
}

/* What is read can be written and read again; the text has whole seconds. */
static void times(const char *text)
{
    int64_t ms = -77, again = -1;
    char formatted[DV_TIME_TEXT];
    if (dv_time_parse(text, &ms) != 0) {
        MUST(ms == -77);
        return;
    }
    int64_t part = (ms % 1000 + 1000) % 1000;
    dv_time_format(ms, formatted);
    MUST(strlen(formatted) == 20);
    MUST(dv_time_parse(formatted, &again) == 0 && again == ms - part);
    dv_time_format_micro(ms * 1000, formatted);
    MUST(strlen(formatted) == 27);
    MUST(dv_time_parse(formatted, &again) == 0 && again == ms);
}

static void numbers(const char *text)
{
    int64_t value = 77, again = 0;
    char formatted[32];
    if (dv_parse_i64(text, -1000, INT64_MAX, &value) != 0) {
        MUST(value == 77);
        return;
    }
    MUST(value >= -1000);
    MUST(strspn(text, "-0123456789") == strlen(text));
    (void)dv_format(formatted, sizeof formatted, "%lld", (long long)value);
    MUST(dv_parse_i64(formatted, INT64_MIN, INT64_MAX, &again) == 0 && again == value);
}

static void utf8(const char *text)
{
    DV_CLEANUP_FREE char *clean = dv_strdup(text);
    json_t *as_it_is = json_string(text);
    (void)dv_utf8_clean(clean);
    fuzz_must_be_utf8(clean);
    MUST(as_it_is == NULL || strcmp(clean, text) == 0);
    MUST(strlen(clean) <= strlen(text) && strlen(clean) + 3 >= strlen(text));
    json_decref(as_it_is);
}

static void base64(const char *bytes, size_t size)
{
    size_t len = 0, again_len = 0;
    char *text = dv_b64_encode(bytes, size);
    char *back = dv_b64_decode(text, strlen(text), &len);
    MUST(back != NULL && len == size && memcmp(back, bytes, size) == 0);
    dv_wipe(back, len);
    free(text);
    back = dv_b64_decode(bytes, size, &len);
    if (back == NULL)
        return;
    text = dv_b64_encode(back, len);
    char *again = dv_b64_decode(text, strlen(text), &again_len);
    MUST(again != NULL && again_len == len && memcmp(again, back, len) == 0);
    dv_wipe(again, again_len);
    dv_wipe(back, len);
    free(text);
}

/* One line whatever the values; in JSON one object. */
static void logged(const char *text, bool json)
{
    static int fd = -1;
    static char line[65536];
    if (fd < 0)
        fd = memfd_create("log", MFD_CLOEXEC);
    MUST(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    dv_log_setup((struct dv_log_config){.level = DV_LOG_DEBUG, .json = json, .fd = fd});
    dv_log(DV_LOG_WARN, "said", "a", text, "b", text, "c", text, "last", "x", NULL);
    ssize_t len = pread(fd, line, sizeof line, 0);
    MUST(len > 1 && memchr(line, '\n', (size_t)len) == line + len - 1);
    if (!json)
        return;
    json_t *object = json_loadb(line, (size_t)len, JSON_REJECT_DUPLICATES, NULL);
    MUST(json_is_object(object) && json_is_string(json_object_get(object, "message")));
    json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DV_CLEANUP_FREE char *text = dv_alloc(size + 1);
    memcpy(text, data, size);
    durations(text);
    times(text);
    numbers(text);
    utf8(text);
    base64((const char *)data, size);
    logged(text, false);
    logged(text, true);
    return 0;
}

/* Any bytes as the log of a container: however they are cut, the findings are the same, bounded, and made of clean text. */
#include "../support/fuzz.h"

#include "base/buf.h"
#include "distributor/distributor.h"

static struct distributor_log *new_log(void)
{
    static char allowed[] = "allowed here", nothing[] = "";
    char *const allow[] = {allowed, nothing};
    return distributor_log_new("demo-connect-connect-0", allow, 2);
}

static char *rendered(const struct distributor_log *log)
{
    struct dv_buf text = DV_BUF_INIT(1 << 20);
    const struct fact_log_finding *f = NULL;
    size_t count = distributor_log_findings(log, &f);
    for (size_t i = 0; i < count; i++, f++)
        MUST(dv_buf_addf(&text, "%d %d %d %lld-%lld x%lld %lld..%lld %s|%d %s %s %s\n %s\n %s\n", (int)f->kind, f->warning, f->ended,
                         (long long)f->first_line, (long long)f->last_line, (long long)f->count, (long long)f->first_ms,
                         (long long)f->last_ms, f->connector, (int)f->task, f->subject, f->mechanism, f->pod, f->cause, f->line) == 0);
    return dv_buf_take(&text);
}

static void check_finding(const struct fact_log_finding *f, int64_t lines)
{
    char text[512];
    const char *texts[] = {f->pod, f->connector, f->subject, f->mechanism, f->cause, f->line};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        fuzz_must_be_plain(texts[i]);
    MUST(f->kind >= FACT_LOG_ERROR && f->kind <= FACT_LOG_CONFIG);
    MUST(f->count >= 1 && f->task >= -1);
    MUST(f->first_line >= 1 && f->first_line <= f->last_line && f->last_line <= lines);
    MUST((f->first_ms == 0) == (f->last_ms == 0));
    MUST(!f->ended || f->task >= 0);
    fuzz_must_be_plain(distributor_log_text(f, text, sizeof text));
    fuzz_must_be_plain(distributor_log_text(f, text, 20));
    (void)distributor_log_is_dirty(f, 60000);
}

static char *whole(const char *bytes, size_t size)
{
    const struct fact_log_finding *found = NULL;
    struct distributor_log *log = new_log();
    int64_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    distributor_log_feed(log, bytes, size);
    distributor_log_flush(log);
    size_t count = distributor_log_findings(log, &found);
    MUST(count <= DISTRIBUTOR_LOG_FINDINGS);
    for (size_t i = 0; i < count; i++)
        check_finding(&found[i], lines);
    char *text = rendered(log);
    distributor_log_flush(log);
    char *again = rendered(log);
    MUST(strcmp(text, again) == 0);
    free(again);
    distributor_log_free(log);
    return text;
}

static void must_give(struct distributor_log *log, const char *want)
{
    distributor_log_flush(log);
    char *have = rendered(log);
    MUST(strcmp(have, want) == 0);
    free(have);
    distributor_log_free(log);
}

static void in_pieces(const char *bytes, size_t size, const char *want, uint64_t *state)
{
    struct distributor_log *log = new_log();
    size_t most = 1 + fuzz_pick(state, 60);
    for (size_t at = 0; at < size;) {
        size_t part = 1 + fuzz_pick(state, most);
        part = part < size - at ? part : size - at;
        distributor_log_feed(log, bytes + at, part);
        at += part;
    }
    must_give(log, want);
}

/* A flush between lines changes nothing in the end. */
static void line_by_line(const char *bytes, size_t size, const char *want)
{
    struct distributor_log *log = new_log();
    for (size_t at = 0; at < size;) {
        const char *end = memchr(bytes + at, '\n', size - at);
        size_t len = end != NULL ? (size_t)(end - bytes) - at : size - at;
        if (end != NULL)
            distributor_log_lines(log, bytes + at, len);
        else
            distributor_log_feed(log, bytes + at, len);
        distributor_log_flush(log);
        at += len + 1;
    }
    must_give(log, want);
}

static void other_texts(const char *text)
{
    char cause[FACT_CAUSE_MAX];
    struct distributor_denial denial;
    distributor_root_cause(text, cause, sizeof cause);
    fuzz_must_be_plain(cause);
    distributor_root_cause(text, cause, 8);
    fuzz_must_be_plain(cause);
    if (distributor_denial_of(text, &denial))
        fuzz_must_be_plain(denial.name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t state = fuzz_state(data, size);
    const char *bytes = (const char *)data;
    DV_CLEANUP_FREE char *text = dv_alloc(size + 1);
    memcpy(text, data, size);
    other_texts(text);
    char *want = whole(bytes, size);
    in_pieces(bytes, size, want, &state);
    line_by_line(bytes, size, want);
    free(want);
    return 0;
}

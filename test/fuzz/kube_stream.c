/* Any bytes as a stream in pieces and as a JSON text: lines are those of the whole text however it is cut, and spans are what a parser
 * that builds trees finds. */
#include "../support/fuzz.h"
#include "../support/json_damage.h"

#include "base/buf.h"
#include "kube/frame.h"
#include "kube/scan.h"

/* ---------------------------------------------------------------- lines */

struct lines {
    struct dv_buf text; /* each with its length before it */
    size_t left;        /* taken before no more are wanted */
};

static bool take_line(void *arg, char *line, size_t len)
{
    struct lines *lines = arg;
    MUST(len > 0 && line[len] == '\0' && memchr(line, '\n', len) == NULL);
    MUST(dv_buf_addf(&lines->text, "%zu ", len) == 0 && dv_buf_add(&lines->text, line, len) == 0);
    memset(line, 'x', len); /* it is ours */
    return lines->left == 0 || --lines->left > 0;
}

/* What comes out, done the simple way. false: a line is too long. */
static bool reference(const char *bytes, size_t size, size_t max, bool cut, struct lines *lines)
{
    for (size_t at = 0; at < size;) {
        const char *end = memchr(bytes + at, '\n', size - at);
        size_t len = end != NULL ? (size_t)(end - bytes) - at : size - at;
        size_t kept = len < max ? len : max;
        if (len > max && !cut)
            return false;
        if (kept > 0 && bytes[at + kept - 1] == '\r')
            kept--;
        if (kept > 0)
            MUST(dv_buf_addf(&lines->text, "%zu ", kept) == 0 && dv_buf_add(&lines->text, bytes + at, kept) == 0);
        at += len + 1;
    }
    return true;
}

static void check_lines(const char *bytes, size_t size, bool cut, uint64_t *state)
{
    struct lines want = {.text = DV_BUF_INIT(1 << 22)}, have = {.text = DV_BUF_INIT(1 << 22)};
    size_t max = 1 + fuzz_pick(state, 200), most = 1 + fuzz_pick(state, 60);
    struct kube_frame frame;
    int rc = 0;
    bool fits = reference(bytes, size, max, cut, &want);
    kube_frame_init(&frame, max);
    for (size_t at = 0; at < size && rc == 0;) {
        size_t part = 1 + fuzz_pick(state, most);
        part = part < size - at ? part : size - at;
        if (cut)
            kube_frame_feed_cut(&frame, bytes + at, part, take_line, &have);
        else
            rc = kube_frame_feed(&frame, bytes + at, part, take_line, &have);
        at += part;
    }
    if (rc == 0)
        kube_frame_end(&frame, take_line, &have);
    MUST(fits == (rc == 0));
    MUST(have.text.len == want.text.len && memcmp(dv_buf_text(&have.text), dv_buf_text(&want.text), want.text.len) == 0);
    kube_frame_free(&frame);
    dv_buf_free(&want.text);
    dv_buf_free(&have.text);
}

/* ---------------------------------------------------------------- spans */

struct members {
    const char *text;
    size_t size, count;
    const json_t *json; /* what a parser made of it; NULL: none could */
};

static int take_member(void *arg, struct scan_span key, struct scan_span value)
{
    struct members *members = arg;
    const char *end = members->text + members->size;
    MUST(value.len > 0 && value.text > members->text && value.text + value.len <= end);
    MUST(key.len == 0 || (key.text > members->text && key.text + key.len < value.text));
    json_t *parsed = json_loadb(value.text, value.len, JSON_DECODE_ANY, NULL);
    if (members->json != NULL) {
        MUST(parsed != NULL);
        char *name = dv_strndup(key.text, key.len);
        if (json_is_array(members->json))
            MUST(json_equal(parsed, json_array_get(members->json, members->count)));
        else if (strchr(name, '\\') == NULL)
            MUST(json_equal(parsed, json_object_get(members->json, name)));
        free(name);
    }
    members->count++;
    json_decref(parsed);
    return 0;
}

/* A member is found by its name where no escape stands in the way, and a string without escapes is what stands between the quotes. */
static void check_first(struct scan_span span, const json_t *json)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)json, key, value) {
        struct scan_span member = scan_member(span, key);
        struct scan_span plain = scan_plain_string(member);
        if (member.text == NULL)
            continue;
        MUST(scan_is(member, '{') == json_is_object(value) && scan_is(member, '[') == json_is_array(value));
        MUST(scan_is(member, '"') == json_is_string(value));
        MUST(plain.text == NULL ||
             (json_string_length(value) == plain.len && memcmp(json_string_value(value), plain.text, plain.len) == 0));
    }
}

static size_t depth_of(const json_t *json)
{
    size_t deepest = 0, i;
    const char *key;
    json_t *value;
    if (!json_is_object(json) && !json_is_array(json))
        return 0;
    json_object_foreach ((json_t *)(uintptr_t)json, key, value) {
        size_t depth = depth_of(value);
        deepest = depth > deepest ? depth : deepest;
    }
    json_array_foreach(json, i, value)
    {
        size_t depth = depth_of(value);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

static void check_right(const char *text, size_t size, const json_t *json, uint64_t *state)
{
    struct scan_span span = {text, size};
    struct members members = {.text = text, .size = size, .json = json};
    bool object = json_is_object(json);
    MUST(scan_is_whole_object(span) == object);
    MUST((object ? scan_array : scan_object)(span, take_member, &members) == -1 && members.count == 0);
    MUST((object ? scan_object : scan_array)(span, take_member, &members) == 0);
    MUST(members.count == (object ? json_object_size(json) : json_array_size(json)));
    check_first(span, json);
    while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
        size--;
    for (int i = 0; i < 8; i++) /* a text that breaks off is never whole */
        MUST(!scan_is_whole_object((struct scan_span){text, fuzz_pick(state, size)}));
}

static void check_spans(const char *text, size_t size, uint64_t *state)
{
    struct scan_span span = {text, size};
    bool with_nul = memchr(text, '\0', size) != NULL; /* no JSON, but jansson takes it behind numbers */
    json_t *json = with_nul ? NULL : json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if (json != NULL && depth_of(json) <= SCAN_DEPTH_MAX) {
        check_right(text, size, json, state);
    } else {
        struct members members = {.text = text, .size = size};
        (void)scan_object(span, take_member, &members);
        (void)scan_array(span, take_member, &members);
        (void)scan_member(span, "metadata");
        (void)scan_is_whole_object(span);
    }
    json_decref(json);
}

/* The same text written in another way, with a place changed. */
static void check_changed(const char *text, size_t size, uint64_t *state)
{
    static const size_t flags[] = {0, JSON_COMPACT, JSON_INDENT(1), JSON_ENSURE_ASCII, JSON_ESCAPE_SLASH};
    json_t *json = json_loadb(text, size, 0, NULL);
    if (json == NULL)
        return;
    json_damage(json, state);
    char *dumped = json_dumps(json, flags[fuzz_pick(state, sizeof flags / sizeof *flags)]);
    if (dumped != NULL)
        check_spans(dumped, strlen(dumped), state);
    free(dumped);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t state = fuzz_state(data, size);
    const char *bytes = (const char *)data;
    check_lines(bytes, size, false, &state);
    check_lines(bytes, size, true, &state);
    check_spans(bytes, size, &state);
    check_changed(bytes, size, &state);
    return 0;
}

/* Random texts of known structure must take every right change; random damage must never be more than a refusal. Seeds are fixed. */
#include "../support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#include "../support/values_properties.h"

static uint64_t random_state;

static unsigned pick(unsigned below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % below;
}

/* ---------------------------------------------------------------- a writer of mappings */

#define PATHS_MAX 400
#define PATH_KEYS 6

struct writer {
    struct dv_buf buf;
    const char *newline;
    unsigned step;
    struct {
        char keys[PATH_KEYS][16];
        size_t count;
    } paths[PATHS_MAX]; /* of booleans, nulls and mappings: each can be set, or get a key */
    bool map[PATHS_MAX];
    size_t count;
    char at[PATH_KEYS][16];
    size_t depth;
    unsigned named;
    bool text_block_last;
};

static void say(struct writer *w, const char *text)
{
    assert_int_equal(dv_buf_adds(&w->buf, text), 0);
}

static void remember(struct writer *w, bool map)
{
    if (w->count == PATHS_MAX)
        return;
    memcpy(w->paths[w->count].keys, w->at, sizeof w->at);
    w->paths[w->count].count = w->depth;
    w->map[w->count++] = map;
}

static void write_comment(struct writer *w)
{
    static const char *const comments[] = {" # one", "\t# two: {[ \"", "  #", " # {{ x }}", " ", "\t", "", "", "", ""};
    say(w, comments[pick(sizeof comments / sizeof *comments)]);
}

static void write_filler(struct writer *w, unsigned indent)
{
    if (pick(4) == 0)
        say(w, w->newline);
    if (pick(4) == 0) {
        (void)dv_buf_addf(&w->buf, "%*s# filler: true", (int)pick(indent + 3), "");
        say(w, w->newline);
    }
}

static void write_key(struct writer *w)
{
    static const char *const quotes[] = {"", "", "", "\"", "'"};
    const char *quote = quotes[pick(5)];
    (void)dv_format(w->at[w->depth - 1], sizeof w->at[0], pick(5) == 0 ? "k%u.x" : "k%u", w->named++);
    (void)dv_buf_addf(&w->buf, "%s%s%s:", quote, w->at[w->depth - 1], quote);
}

/* A scalar on the key's line; returns whether a boolean may replace it. */
static bool write_scalar(struct writer *w, bool flow)
{
    static const char *const settable[] = {"true", "false", "yes", "Off", "null", "~", "TRUE", "n"};
    static const char *const others[] = {"12", "plain text", "\"a: # b\"", "'it''s'", "[1, 2]", "1.5", "\"\xe2\x82\xac\xc2\x85\"", "x#y"};
    bool can = pick(2) == 0;
    unsigned which = pick(9);
    if (can && which == 8) {
        say(w, flow ? " " : "");
        return true; /* nothing: null */
    }
    say(w, " ");
    say(w, can ? settable[which % 8] : others[which % 8]);
    return can;
}

static void write_flow(struct writer *w, unsigned indent, bool lines)
{
    unsigned entries = pick(4);
    remember(w, true);
    say(w, pick(2) == 0 ? "{" : "{ ");
    w->depth++;
    for (unsigned i = 0; i < entries; i++) {
        if (lines)
            (void)dv_buf_addf(&w->buf, "%s%*s", w->newline, (int)indent, "");
        write_key(w);
        if (w->depth + 1 < PATH_KEYS && pick(4) == 0) {
            say(w, " ");
            write_flow(w, indent + 2, lines && pick(2) == 0);
        } else if (write_scalar(w, true)) {
            remember(w, false);
        }
        if (i + 1 < entries || pick(4) == 0)
            say(w, ", ");
        if (lines)
            write_comment(w);
    }
    w->depth--;
    if (lines)
        (void)dv_buf_addf(&w->buf, "%s%*s", w->newline, (int)indent, "");
    say(w, "}");
}

static void write_list(struct writer *w, unsigned indent)
{
    for (unsigned i = 0; i <= pick(3); i++)
        (void)dv_buf_addf(&w->buf, "%s%*s- item %u", w->newline, (int)indent, "", i);
}

static void write_text_block(struct writer *w, unsigned indent)
{
    static const char *const heads[] = {" |", " >", " |-", " >-", " |+", " >+ # c"};
    say(w, heads[pick(6)]);
    for (unsigned i = 0; i <= pick(3); i++)
        (void)dv_buf_addf(&w->buf, "%s%*sk1: text + {{ x }}", w->newline, (int)(indent + 1), "");
    for (unsigned i = pick(3); i > 0; i--)
        say(w, w->newline);
    w->text_block_last = true;
}

static void write_block(struct writer *w, unsigned indent, unsigned entries);

static void write_entry(struct writer *w, unsigned indent)
{
    unsigned kind = pick(10);
    w->text_block_last = false;
    (void)dv_buf_addf(&w->buf, "%*s", (int)indent, "");
    write_key(w);
    if (kind < 3 && w->depth + 1 < PATH_KEYS) {
        remember(w, true);
        write_comment(w);
        say(w, w->newline);
        write_block(w, indent + w->step, 1 + pick(4));
        return;
    }
    if (kind == 3) {
        say(w, " ");
        write_flow(w, indent + 2, pick(2) == 0);
    } else if (kind == 4) {
        write_list(w, indent + pick(3));
    } else if (kind == 5) {
        write_text_block(w, indent);
        say(w, w->newline);
        return;
    } else if (write_scalar(w, false)) {
        remember(w, false);
    }
    write_comment(w);
    say(w, w->newline);
}

static void write_block(struct writer *w, unsigned indent, unsigned entries)
{
    w->depth++;
    for (unsigned i = 0; i < entries; i++) {
        if (!w->text_block_last)
            write_filler(w, indent);
        write_entry(w, indent);
    }
    w->depth--;
}

static void write_document(struct writer *w, uint64_t seed)
{
    random_state = seed;
    *w = (struct writer){.buf = DV_BUF_INIT(VALUES_TEXT_MAX), .newline = pick(3) == 0 ? "\r\n" : "\n", .step = 1 + pick(4)};
    if (pick(5) == 0)
        say(w, "\xef\xbb\xbf");
    if (pick(5) == 0)
        (void)dv_buf_addf(&w->buf, "---%s", w->newline);
    remember(w, true);
    write_block(w, 0, 1 + pick(8));
    if (pick(3) == 0 && !w->text_block_last)
        w->buf.len -= strlen(w->newline);
}

static struct values_path random_path(const struct writer *w, const char **keys)
{
    size_t which = pick((unsigned)w->count);
    struct values_path path = {.keys = keys, .count = w->paths[which].count};
    for (size_t i = 0; i < path.count; i++)
        keys[i] = w->paths[which].keys[i];
    if (w->map[which])
        for (unsigned more = 1 + pick(3); more > 0; more--)
            keys[path.count++] = pick(2) == 0 ? "added" : "added.dotted";
    return path;
}

static void known_texts_take_every_change(void **state)
{
    (void)state;
    struct writer *w = dv_alloc(sizeof *w);
    for (uint64_t seed = 1; seed <= 600; seed++) {
        write_document(w, seed);
        for (int i = 0; i < 5; i++) {
            const char *keys[PATH_KEYS + 4];
            struct values_path path = random_path(w, keys);
            struct dv_err err = DV_ERR_INIT;
            VALUES_CLEANUP_DOC struct values_doc *doc = NULL;
            if (values_parse(w->buf.data, w->buf.len, &doc, &err) != 0 || !values_can_set(doc, path, &err))
                fail_msg("seed %llu: %s\n%.*s", (unsigned long long)seed, err.text, (int)w->buf.len, w->buf.data);
            assert_int_equal(values_check_text(w->buf.data, w->buf.len, &path, 1), 1);
        }
        dv_buf_free(&w->buf);
    }
    free(w);
}

/* Several changes at once give what one after the other gives, each reads back, and the rest of the lines stays. */
static void several_changes_at_once(void **state)
{
    (void)state;
    struct writer *w = dv_alloc(sizeof *w);
    for (uint64_t seed = 5000; seed < 5250; seed++) {
        write_document(w, seed);
        const char *keys[5][PATH_KEYS + 4];
        struct values_change changes[5];
        for (int i = 0; i < 5; i++)
            changes[i] = (struct values_change){.path = random_path(w, keys[i]), .value = pick(2) == 0};
        char *out = NULL, *step = dv_strndup(w->buf.data, w->buf.len);
        size_t len, step_len = w->buf.len;
        bool changed;
        int rc = values_set_bools(w->buf.data, w->buf.len, changes, 5, &out, &len, &changed, NULL);
        for (int i = 0; i < 5 && rc == 0; i++) {
            char *next = NULL;
            assert_int_equal(values_set_bools(step, step_len, &changes[i], 1, &next, &step_len, &changed, NULL), 0);
            free(step);
            step = next;
        }
        if (rc == 0) {
            assert_int_equal(len, step_len);
            assert_memory_equal(out, step, len);
        }
        free(out);
        free(step);
        dv_buf_free(&w->buf);
    }
    free(w);
}

/* ---------------------------------------------------------------- damage */

static void damage(struct dv_buf *text)
{
    static const char *const pieces[] = {
        "\n", "\r\n",   " ",    "  ",  "\t",  ":",        ": ",           "- ",           "{",    "}",  "[",        "]",     ",",
        "#",  " # c\n", "\"",   "'",   "&a ", "*a",       "!!str ",       "|\n",          ">-\n", "? ", "<<: *a\n", "---\n", "...\n",
        "~",  "null",   "true", "a: ", "{{",  "\xc2\x85", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xff", "\\", "k1",       "on",    "%",
        "@",  "`",      "\r"};
    struct dv_buf out = DV_BUF_INIT(VALUES_TEXT_MAX);
    size_t at = pick((unsigned)text->len + 1), cut = pick(3) == 0 ? pick(20) : 0;
    if (cut > text->len - at)
        cut = text->len - at;
    (void)dv_buf_add(&out, text->data, at);
    if (cut == 0 || pick(2) == 0)
        (void)dv_buf_adds(&out, pieces[pick(sizeof pieces / sizeof *pieces)]);
    (void)dv_buf_add(&out, text->data + at + cut, text->len - at - cut);
    dv_buf_free(text);
    *text = out;
}

static void damaged_texts_are_refused_or_right(void **state)
{
    (void)state;
    struct writer *w = dv_alloc(sizeof *w);
    unsigned made = 0;
    for (uint64_t seed = 10000; seed < 11500; seed++) {
        write_document(w, seed);
        for (unsigned i = 1 + pick(4); i > 0; i--)
            damage(&w->buf);
        const char *keys[3][PATH_KEYS + 4];
        struct values_path paths[3];
        for (int i = 0; i < 3; i++)
            paths[i] = random_path(w, keys[i]);
        made += values_check_text(dv_buf_text(&w->buf), w->buf.len, paths, 3);
        dv_buf_free(&w->buf);
    }
    assert_in_range(made, 200, 4500);
    free(w);
}

static void short_texts_of_odd_pieces(void **state)
{
    (void)state;
    static const char *const keys[] = {"a", "b", "k1"};
    struct values_path paths[] = {{keys, 1}, {keys, 2}, {keys, 3}};
    unsigned made = 0;
    random_state = 77;
    for (int round = 0; round < 6000; round++) {
        struct dv_buf text = DV_BUF_INIT(VALUES_TEXT_MAX);
        assert_int_equal(dv_buf_adds(&text, pick(2) == 0 ? "a:\n  b: 1\n" : "a: {b: 1}\n"), 0);
        for (unsigned i = 1 + pick(5); i > 0; i--)
            damage(&text);
        made += values_check_text(dv_buf_text(&text), text.len, paths, 3);
        dv_buf_free(&text);
    }
    assert_in_range(made, 300, 18000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_take_every_change),
        cmocka_unit_test(several_changes_at_once),
        cmocka_unit_test(damaged_texts_are_refused_or_right),
        cmocka_unit_test(short_texts_of_odd_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

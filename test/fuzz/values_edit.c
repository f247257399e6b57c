/* Any text: changes of paths that stand in it, of paths below these, and of a few fixed ones, alone and several at once. What succeeds must
 * hold what pkg/values promises (values_properties.h) and what libyaml reads on its own (values_flat.h). */
#include "../support/fuzz.h"
#include "../support/values_flat.h"
#include "../support/values_properties.h"

#define PATHS_MAX 12
#define PATH_KEYS 10

struct paths {
    const char *keys[PATHS_MAX][PATH_KEYS];
    struct values_path path[PATHS_MAX];
    size_t count;
};

static void paths_add(struct paths *paths, const char *const *keys, size_t count, const char *more)
{
    if (paths->count == PATHS_MAX || count + (more != NULL) > PATH_KEYS || count + (more != NULL) == 0)
        return;
    const char **own = paths->keys[paths->count];
    for (size_t i = 0; i < count; i++)
        own[i] = keys[i];
    if (more != NULL)
        own[count++] = more;
    paths->path[paths->count++] = (struct values_path){own, count};
}

static void paths_fixed(struct paths *paths, uint64_t *state)
{
    static const char *const enabled[] = {"distribution", "enabled"}, *const deep[] = {"a", "b", "c"}, *const dotted[] = {"a", "x.y"},
                             *const odd[] = {"true", "12", ""};
    static const struct values_path fixed[] = {{deep, 1}, {enabled, 2}, {deep, 2}, {deep, 3}, {dotted, 2}, {odd, 1}, {odd, 3}};
    for (int i = 0; i < 3; i++) {
        const struct values_path *path = &fixed[fuzz_pick(state, sizeof fixed / sizeof *fixed)];
        paths_add(paths, path->keys, path->count, NULL);
    }
}

static void paths_of(struct paths *paths, const struct flat *flat, uint64_t *state)
{
    static const char *const names[] = {"new", "new.dotted", "true", "#", "7"};
    paths->count = 0;
    for (int i = 0; i < 5 && flat->count > 0; i++) {
        const struct flat_entry *entry = &flat->entries[fuzz_pick(state, flat->count)];
        const char *name = names[fuzz_pick(state, sizeof names / sizeof *names)];
        size_t above = entry->count > 0 ? fuzz_pick(state, entry->count) : 0;
        if (!entry->named)
            continue;
        paths_add(paths, (const char *const *)entry->keys, entry->count, NULL);
        paths_add(paths, (const char *const *)entry->keys, fuzz_pick(state, 3) == 0 ? entry->count : above, name);
    }
    paths_fixed(paths, state);
}

static void one_change(const char *text, size_t len, struct values_change change)
{
    char *out = NULL;
    size_t out_len = 0;
    bool changed;
    if (values_set_bools(text, len, &change, 1, &out, &out_len, &changed, NULL) == 0)
        flat_check(text, len, out, out_len, &change, 1);
    free(out);
}

/* All at once is the same as one after the other, and all or none. */
static void all_changes(const char *text, size_t len, const struct values_change *changes, size_t count)
{
    char *out = NULL, *step = dv_alloc(len + 1);
    size_t out_len = 0, step_len = len;
    bool changed;
    memcpy(step, text, len);
    if (values_set_bools(text, len, changes, count, &out, &out_len, &changed, NULL) != 0) {
        MUST(out == NULL);
        free(step);
        return;
    }
    flat_check(text, len, out, out_len, changes, count);
    for (size_t i = 0; i < count; i++) {
        char *next = NULL;
        MUST(values_set_bools(step, step_len, &changes[i], 1, &next, &step_len, &changed, NULL) == 0);
        free(step);
        step = next;
    }
    MUST(step_len == out_len && memcmp(step, out, out_len) == 0);
    free(step);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t state = fuzz_state(data, size);
    const char *text = (const char *)data;
    struct paths paths;
    struct flat flat;
    struct values_change changes[4];
    (void)flat_read(text, size, &flat);
    paths_of(&paths, &flat, &state);
    (void)values_check_text(text, size, paths.path, paths.count);
    for (size_t i = 0; i < 4; i++) {
        changes[i] = (struct values_change){.path = paths.path[fuzz_pick(&state, paths.count)], .value = fuzz_pick(&state, 2)};
        one_change(text, size, changes[i]);
    }
    all_changes(text, size, changes, 2 + fuzz_pick(&state, 3));
    flat_free(&flat);
    return 0;
}

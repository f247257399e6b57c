/* The clock, the queue of events, and chance. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

static uint64_t time_mix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t world_draw(struct world *world)
{
    return time_mix(&world->random);
}

int64_t world_between(struct world *world, int64_t low, int64_t high)
{
    return (low + (int64_t)(world_draw(world) % (uint64_t)(high - low + 1))) * world->slow;
}

bool world_chance(struct world *world, int percent)
{
    return world_draw(world) % 100 < (uint64_t)percent;
}

int64_t world_wall(const struct world *world)
{
    return world->now + world->wall_offset;
}

void world_break(struct world *world, const char *fmt, ...)
{
    if (world->broken[0] != '\0')
        return;
    int n = snprintf(world->broken, sizeof world->broken, "at %lld ms: ", (long long)world->now);
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(world->broken + n, sizeof world->broken - (size_t)n, fmt, ap);
    va_end(ap);
}

/* ---------------------------------------------------------------- the queue: a binary heap, equal times in the order of their making */

static bool time_before(const struct world_event *a, const struct world_event *b)
{
    return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void time_swap(struct world_event *a, struct world_event *b)
{
    struct world_event c = *a;
    *a = *b;
    *b = c;
}

static void time_sink(struct world_event *heap, size_t count)
{
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= count)
            return;
        if (child + 1 < count && time_before(&heap[child + 1], &heap[child]))
            child++;
        if (!time_before(&heap[child], &heap[i]))
            return;
        time_swap(&heap[child], &heap[i]);
        i = child;
    }
}

void world_after(struct world *world, int64_t delay_ms, world_fn *fn, void (*drop)(void *arg), void *arg)
{
    if (world->heap_count == world->heap_room) {
        world->heap_room = world->heap_room * 2 + 64;
        world->heap = dv_reallocarray(world->heap, world->heap_room, sizeof *world->heap);
    }
    size_t i = world->heap_count++;
    world->heap[i] =
        (struct world_event){.at = world->now + (delay_ms > 0 ? delay_ms : 0), .seq = ++world->seq, .fn = fn, .drop = drop, .arg = arg};
    for (; i > 0 && time_before(&world->heap[i], &world->heap[(i - 1) / 2]); i = (i - 1) / 2)
        time_swap(&world->heap[i], &world->heap[(i - 1) / 2]);
}

bool world_next_at(const struct world *world, int64_t *at)
{
    if (world->heap_count > 0)
        *at = world->heap[0].at;
    return world->heap_count > 0;
}

void world_step(struct world *world)
{
    struct world_event event = world->heap[0];
    world->heap[0] = world->heap[--world->heap_count];
    time_sink(world->heap, world->heap_count);
    if (event.at > world->now)
        world->now = event.at;
    event.fn(world, event.arg);
}

/* ---------------------------------------------------------------- what the controller draws: linked in its place with --wrap */

static uint64_t time_ids = 1;

uint64_t __wrap_dv_random_u64(void);
uint64_t __wrap_dv_random_u64(void)
{
    return time_mix(&time_ids);
}

void __wrap_dv_random_id(char *out, size_t size);
void __wrap_dv_random_id(char *out, size_t size)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t value = time_mix(&time_ids);
    size_t n = size > 10 ? 10 : size - 1;
    for (size_t i = 0; i < n; i++, value /= 36)
        out[i] = alphabet[value % 36];
    out[n] = '\0';
}

void world_seed_ids(uint64_t seed)
{
    time_ids = seed;
}

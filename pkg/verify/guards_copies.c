#include <string.h>

#include "verify/guards.h"

/* What the copies of the probes say, in every step: loops, duplicates, altered records. */

static bool copies_levels_mixed(uint32_t flags)
{
    return (flags & (flags - 1)) != 0;
}

struct extras {
    const struct probe *probe; /* the one with most copies; one that came back to where it was born is preferred */
    enum model_side side;
    int32_t most;   /* copies of any */
    bool on_origin; /* any */
    bool at_origin; /* this one */
    uint32_t flags;
    int64_t total;
};

static struct extras copies_extras(const struct probe_table *table)
{
    struct extras found = {0};
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        const struct probe *probe = &table->probes[i];
        for (int side = 0; side < MODEL_SIDES; side++) {
            const struct probe_copies *copies = &probe->on[side];
            bool origin = table->batches[probe->batch].side == (enum model_side)side;
            if (copies->count < 2 || (table->batches[probe->batch].maybe && !origin))
                continue;
            found.total += copies->count - 1;
            found.flags |= copies->flags;
            found.on_origin = found.on_origin || origin;
            found.most = copies->count > found.most ? copies->count : found.most;
            if (found.probe == NULL || (origin != found.at_origin ? origin : copies->count > found.probe->on[found.side].count)) {
                found.at_origin = origin;
                found.probe = probe;
                found.side = (enum model_side)side;
            }
        }
    }
    return found;
}

static bool copies_extra_settled(struct turn *t, int64_t for_ms)
{
    if (t->m->extra_since_ms == 0)
        t->m->extra_since_ms = t->now;
    if (t->now - t->m->extra_since_ms >= for_ms)
        return true;
    turn_wake(t, t->m->extra_since_ms + for_ms);
    return false;
}

#define COPIES_GROWING 4
#define COPIES_GROWING_DISTURBED 10 /* restarts, one after the other, deliver again and again */

/* An extra copy where the record was born is a loop, always; copies that keep coming are one, wherever. One extra and no more, or the bits
 * of two levels, is a level mismatch. */
bool loop_seen(struct turn *t)
{
    struct extras found = copies_extras(t->s->probes);
    if (found.probe == NULL)
        return false;
    enum model_side born = t->s->probes->batches[found.probe->batch].side;
    bool growing = found.most >= (found.on_origin || t->m->disturbed_ms == 0 ? COPIES_GROWING : COPIES_GROWING_DISTURBED);
    int32_t seen = found.probe->on[found.side].count;
    bool mixed = copies_levels_mixed(found.flags);
    if (!growing && !(found.on_origin && mixed) && !(found.on_origin && copies_extra_settled(t, t->spec->settle_ms)))
        return false;
    if (growing)
        turn_say(t, "records loop between %s and %s: one was seen %d times %s and copies keep coming; check distribution model and levels",
                 turn_name(t, MODEL_A), turn_name(t, MODEL_B), seen, found.at_origin ? "where it was produced" : "on the other cluster");
    else if (mixed)
        turn_say(t,
                 "level mismatch: a record produced on %s was seen %d times on %s, its copy flags carry two levels; check the levels of "
                 "both Distributors",
                 turn_name(t, born), seen, turn_name(t, found.side));
    else
        turn_say(t,
                 "a record produced on %s came back: seen %d times there and no more so far (level mismatch?); check distribution model "
                 "and levels",
                 turn_name(t, born), seen);
    return true;
}

static bool copies_extra_watch_ms(struct turn *t)
{
    int64_t watch = t->spec->settle_ms > t->spec->reconcile_ms ? t->spec->settle_ms : t->spec->reconcile_ms;
    return copies_extra_settled(t, watch);
}

/* A sink that starts again sends what was not committed: in each partition one block, in the order of birth. */
static bool copies_one_block(const struct probe_table *table, enum model_side side, int32_t partition)
{
    enum { BEFORE, WITHIN, BEHIND } at = BEFORE;
    for (size_t i = 0; i < table->count; i++) {
        const struct probe *probe = &table->probes[i];
        const struct model_batch *batch = &table->batches[probe->batch];
        if (probe->partition != partition || batch->side == side || batch->maybe || probe->on[side].count == 0)
            continue;
        bool extra = probe->on[side].count > 1;
        if (extra && at == BEHIND)
            return false;
        at = extra ? WITHIN : at == WITHIN ? BEHIND : at;
    }
    return true;
}

static bool copies_in_blocks(const struct probe_table *table, enum model_side side)
{
    for (int32_t p = 0; p < table->partitions; p++)
        if (!copies_one_block(table, side, p))
            return false;
    return true;
}

/* Extra copies behind a restart that came after the first ones, on the receiving side only. */
bool redelivery_suspected(struct turn *t)
{
    struct extras found = copies_extras(t->s->probes);
    bool disturbed = found.probe != NULL && t->m->disturbed_ms != 0 && t->m->disturbed_ms >= found.probe->on[found.side].first_ms;
    if (found.probe == NULL || found.on_origin || !(disturbed || t->m->resumed) || !copies_in_blocks(t->s->probes, found.side) ||
        !copies_extra_watch_ms(t))
        return false;
    turn_say(t, "%lld records were delivered to %s twice around a restart in Kafka Connect", (long long)found.total,
             turn_name(t, found.side));
    return true;
}

bool records_duplicated(struct turn *t)
{
    struct extras found = copies_extras(t->s->probes);
    if (found.probe == NULL || !copies_extra_watch_ms(t))
        return false;
    turn_say(t, "%lld extra copies arrived on %s (one record %d times) and none where it was produced; do two Distributors write to %s?",
             (long long)found.total, turn_name(t, found.side), found.most, turn_name(t, found.side));
    return true;
}

/* While an extra copy is being watched nothing goes on. */
bool extra_watched(struct turn *t)
{
    return copies_extras(t->s->probes).probe != NULL;
}

bool record_altered(struct turn *t)
{
    static const struct {
        uint32_t bit;
        const char *what;
    } parts[] = {{PROBE_ALTERED_KEY, "key"},
                 {PROBE_ALTERED_VALUE, "value"},
                 {PROBE_ALTERED_HEADER, "header"},
                 {PROBE_ALTERED_PARTITION, "partition"},
                 {PROBE_ALTERED_TIMESTAMP, "timestamp"}};
    const struct probe_table *table = t->s->probes;
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        for (int side = 0; side < MODEL_SIDES; side++) {
            for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
                if ((table->probes[i].on[side].altered & parts[k].bit) == 0)
                    continue;
                turn_say(t, "the %s of a record differs between %s and %s (partition %d): copies must be equal", parts[k].what,
                         turn_name(t, MODEL_A), turn_name(t, MODEL_B), table->probes[i].partition);
                return true;
            }
        }
    }
    return false;
}

static bool copies_stuck_at(const struct turn *t, enum model_side side, int32_t p)
{
    const struct verify_side *facts = turn_side(t, side);
    return facts->reader_stable != NULL && facts->reader_high != NULL && p < t->m->partitions && facts->reader_stable[p] >= 0 &&
           facts->reader_stable[p] < facts->reader_high[p];
}

/* Finds where a reader stands below the high watermark; the place that was found before is looked at first. */
static bool copies_find_stuck(struct turn *t)
{
    struct verify_memory *m = t->m;
    if (m->stuck_since_ms != 0 && copies_stuck_at(t, m->stuck_side, m->stuck_partition) &&
        turn_side(t, m->stuck_side)->reader_stable[m->stuck_partition] == m->stuck_offset)
        return true;
    m->stuck_since_ms = 0;
    for (int side = 0; side < MODEL_SIDES; side++) {
        for (int32_t p = 0; p < m->partitions; p++) {
            if (!copies_stuck_at(t, (enum model_side)side, p))
                continue;
            m->stuck_since_ms = t->now;
            m->stuck_side = (enum model_side)side;
            m->stuck_partition = p;
            m->stuck_offset = t->s->side[side].reader_stable[p];
            return true;
        }
    }
    return false;
}

/* The reader stands at one last stable offset below the high watermark for arrival: what we wait for may lie behind it. */
bool transaction_open(struct turn *t)
{
    const struct verify_memory *m = t->m;
    if (!copies_find_stuck(t))
        return false;
    int64_t due = m->stuck_since_ms + verify_arrival_ms(t->s);
    if (t->now < due) {
        turn_wake(t, due);
        return false;
    }
    turn_say(t, "partition %d of topic %s on %s has an open transaction: records behind offset %lld cannot be read", m->stuck_partition,
             turn_cluster(t, m->stuck_side)->topic, turn_name(t, m->stuck_side), (long long)m->stuck_offset);
    return true;
}

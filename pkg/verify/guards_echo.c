#include "base/mem.h"
#include "verify/offsets.h"

/* The near side must not pass what we set, the far side not the right answer: it may still come nearer to it. */
static bool echo_is_ahead(struct turn *t, enum model_side side, int32_t p)
{
    struct answer a;
    int64_t most = side == offsets_far(t) && offsets_answer(t, p, &a) ? a.expected : t->m->mark[side][p];
    return t->m->last[side][p] > most;
}

/* Records by which a side stands behind where it has to be; -1: not known yet. */
static int64_t echo_distance(struct turn *t, enum model_side side, int32_t p)
{
    struct answer a;
    int64_t have = t->m->last[side][p];
    if (side == offsets_far(t))
        return offsets_answer(t, p, &a) ? offsets_distance(t, p, &a) : -1;
    if (have >= t->m->mark[side][p] || offsets_barrier(t, p) == NULL)
        return 0;
    return offsets_older(t, side, p, have, t->m->mark[side][p]);
}

static bool echo_is_behind(struct turn *t, enum model_side side, int32_t p)
{
    return echo_distance(t, side, p) > t->spec->behind_tolerance;
}

/* One window has gone by since a side last moved, and it was looked at after that. */
static bool echo_stood(struct turn *t, enum model_side side)
{
    int64_t due = t->m->changed_ms[side] + t->spec->window_ms;
    turn_wake(t, due);
    return t->now >= due && turn_fresh(t, side, VF_TEST_COMMITS, due);
}

/* With everything on, an old commit that comes back as an echo takes the near side away from what we set, and the far side then never
 * follows: seen where it happens, on the near side. A shorter dip is not judged. */
static bool offsets_near_moved(struct turn *t)
{
    enum model_side near = offsets_near(t);
    if (t->stage != STAGE_PERSISTED || !offsets_track(t, near))
        return false;
    for (int32_t p = 0; p < offsets_partitions(t); p++) {
        int64_t set = t->m->mark[near][p];
        int64_t have = t->m->last[near][p];
        bool away = echo_is_ahead(t, near, p) || echo_is_behind(t, near, p);
        if (!away)
            continue;
        turn_say(t, "an echo moved the offset of group %s on %s from %lld to %lld in partition %d after it was set",
                 turn_cluster(t, near)->group, turn_name(t, near), (long long)set, (long long)have, p);
        return echo_stood(t, near);
    }
    return false;
}

/* A Distributor that was restarted replays what it had not committed. */
bool near_moved_disturbed(struct turn *t)
{
    return t->m->disturbed_ms != 0 && offsets_near_moved(t);
}

bool near_moved(struct turn *t)
{
    return t->m->disturbed_ms == 0 && offsets_near_moved(t);
}

/* After the proof the near side must stay where we set it, and the far side where it came to. */
static bool echo_off(struct turn *t, bool ahead, enum model_side *side, int32_t *partition)
{
    for (int s = 0; s < MODEL_SIDES; s++) {
        if (t->m->changed_ms[s] == 0)
            continue;
        for (int32_t p = 0; p < offsets_partitions(t); p++) {
            if (ahead ? !echo_is_ahead(t, (enum model_side)s, p) : !echo_is_behind(t, (enum model_side)s, p))
                continue;
            *side = (enum model_side)s;
            *partition = p;
            return true;
        }
    }
    return false;
}

static bool echo_say(struct turn *t, bool ahead)
{
    enum model_side side = MODEL_A;
    int32_t p = 0;
    bool a = offsets_track(t, MODEL_A);
    if (!offsets_track(t, MODEL_B) || !a || !echo_off(t, ahead, &side, &p))
        return false;
    turn_say(t, "an echo moved the offset of group %s on %s from %lld to %lld in partition %d after it was right",
             turn_cluster(t, side)->group, turn_name(t, side), (long long)t->m->mark[side][p], (long long)t->m->last[side][p], p);
    return true;
}

bool echo_ahead(struct turn *t)
{
    return echo_say(t, true);
}

static bool echo_near_moved(const struct turn *t)
{
    enum model_side near = offsets_near(t);
    for (int32_t p = 0; p < offsets_partitions(t) && t->m->changed_ms[near] != 0; p++)
        if (t->m->last[near][p] != t->m->mark[near][p])
            return true;
    return false;
}

bool echo_behind_disturbed(struct turn *t)
{
    return t->m->disturbed_ms != 0 && echo_behind(t);
}

bool echo_behind(struct turn *t)
{
    /* a shorter dip is reported, not judged: it must have stayed one window */
    enum model_side side = MODEL_A;
    int32_t p = 0;
    if (!echo_near_moved(t) || !echo_off(t, false, &side, &p) || !echo_stood(t, side))
        return false;
    return echo_say(t, false);
}

static int64_t echo_last_ms(const struct turn *t)
{
    const int64_t *changed = t->m->changed_ms;
    return changed[MODEL_A] > changed[MODEL_B] ? changed[MODEL_A] : changed[MODEL_B];
}

bool echo_moving(struct turn *t)
{
    bool late = offsets_over(t, t->m->step_since_ms, 2 * offsets_deadline_ms(t));
    bool rests = t->now - echo_last_ms(t) >= 2 * t->spec->window_ms;
    if (!late || rests || t->m->changes[MODEL_A] + t->m->changes[MODEL_B] == 0)
        return false;
    turn_say(t, "the offsets of group %s keep moving between %s and %s although nobody commits", turn_cluster(t, MODEL_A)->group,
             turn_name(t, MODEL_A), turn_name(t, MODEL_B));
    return true;
}

/* A distance that is not known yet is not within tolerance. */
static bool echo_within(struct turn *t)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        for (int32_t p = 0; p < offsets_partitions(t); p++) {
            int64_t distance = echo_distance(t, (enum model_side)side, p);
            if (distance >= 0 && distance <= t->spec->behind_tolerance)
                continue;
            (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "how far the offset of group %s on %s is behind in partition %d",
                            turn_cluster(t, (enum model_side)side)->group, turn_name(t, (enum model_side)side), p);
            return false;
        }
    }
    return true;
}

bool echo_quiet(struct turn *t)
{
    bool known = offsets_track(t, MODEL_A);
    known = offsets_track(t, MODEL_B) && known;
    if (!known)
        return false;
    int64_t last = echo_last_ms(t);
    if (!offsets_over(t, last, 2 * t->spec->window_ms))
        return false;
    for (int side = 0; side < MODEL_SIDES; side++)
        if (t->s->side[side].stamp[VF_TEST_COMMITS].as_of_ms + turn_poll_ms(t) < last + 2 * t->spec->window_ms)
            return false;                                                     /* not looked at for as long as it must have stayed */
    if (!echo_within(t) || connectors_away(t, last + 2 * t->spec->window_ms)) /* who is away cannot echo */
        return false;
    for (int side = 0; side < MODEL_SIDES; side++)
        if (t->m->changes[side] > 0)
            turn_note(t, "an echo moved the offset of group %s on %s %lld times and stayed within tolerance",
                      turn_cluster(t, (enum model_side)side)->group, turn_name(t, (enum model_side)side), (long long)t->m->changes[side]);
    return true;
}

/* Was right in this run, lower one window after the last change. When the near side moved as well it is an echo. */
bool offset_rewound(struct turn *t)
{
    enum model_side far = offsets_far(t);
    struct answer a;
    if (t->m->right_ms == 0 || t->m->changed_ms[far] == 0 || !offsets_known(t) || echo_near_moved(t) || !echo_stood(t, far) ||
        !offsets_over(t, t->m->changed_ms[far], t->spec->window_ms))
        return false;
    for (int32_t p = 0; p < offsets_partitions(t); p++) {
        if (!offsets_answer(t, p, &a) || offsets_distance(t, p, &a) <= t->spec->behind_tolerance)
            continue;
        turn_say(t, "the offset of group %s on %s was right and went back to %lld in partition %d", turn_cluster(t, far)->group,
                 turn_name(t, far), (long long)a.actual, p);
        return true;
    }
    return false;
}

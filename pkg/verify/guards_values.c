#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "verify/guards.h"

/* What the values hold: switches and principals, and whether they can be changed where the spec says. */

#define VALUES_WHERE 640

static const char *values_object(const struct turn *t, enum model_side side, char out[VALUES_WHERE])
{
    const struct model_cluster *cluster = turn_cluster(t, side);
    const struct model_values_target *target = &cluster->distributor.values;
    return dv_format(out, VALUES_WHERE, "%s %s/%s", model_values_kind(target), cluster->ns, target->name);
}

/* ---------------------------------------------------------------- there, readable, changeable */

#define VALUES_GONE_MS 30000 /* an applier that replaces the object takes it away for a moment */

/* Not there now. In Preflight that counts at once: it may never have been there. */
static bool values_away(struct turn *t, enum model_side side)
{
    const struct verify_side *facts = turn_side(t, side);
    bool there = facts->values == NULL || facts->stamp[VF_VALUES].as_of_ms == 0 || (facts->values->found && facts->values->key_found);
    if (there)
        t->m->values_gone_ms[side] = 0;
    else if (t->m->values_gone_ms[side] == 0)
        t->m->values_gone_ms[side] = t->now;
    return !there;
}

bool values_open(struct turn *t)
{
    char object[VALUES_WHERE];
    EACH_SIDE (side) {
        if (!values_away(t, (enum model_side)side))
            continue;
        turn_wake(t, t->m->values_gone_ms[side] + VALUES_GONE_MS);
        (void)dv_format(t->p->waits_for, sizeof t->p->waits_for, "%s with the values of %s to come back",
                        values_object(t, (enum model_side)side, object), turn_name(t, (enum model_side)side));
        return true;
    }
    return false;
}

bool values_gone(struct turn *t)
{
    char object[VALUES_WHERE];
    EACH_SIDE (side) {
        const struct verify_side *facts = &t->s->side[side];
        int64_t patience = t->stage == STAGE_PREFLIGHT ? 0 : VALUES_GONE_MS;
        if (!values_away(t, (enum model_side)side) || t->now - t->m->values_gone_ms[side] < patience)
            continue;
        const char *name = turn_name(t, (enum model_side)side);
        const char *key = turn_cluster(t, (enum model_side)side)->distributor.values.key;
        (void)values_object(t, (enum model_side)side, object);
        if (!facts->values->found)
            turn_say(t, "%s: %s with the Distributor's values does not exist", name, object);
        else if (facts->values->key_binary)
            turn_say(t, "%s: %s holds key %s as binaryData; it must be UTF-8 text", name, object, key);
        else
            turn_say(t, "%s: %s has no key %s", name, object, key);
        return true;
    }
    return false;
}

/* Where a path of the spec is concerned, it may be the path that is wrong. */
static void values_say_why(struct turn *t, enum model_side side, const struct dv_err *why, const char *path)
{
    char object[VALUES_WHERE];
    const char *key = turn_cluster(t, side)->distributor.values.key;
    (void)values_object(t, side, object);
    if (path[0] == '\0')
        turn_say(t, "%s: %s in %s: %s; correct the values text", turn_name(t, side), key, object, why->text);
    else
        turn_say(t, "%s: %s, in %s of %s; correct the values or spec.clusters.%s.distributor.%s", turn_name(t, side), why->text, key,
                 object, model_side_name(side), path);
}

bool values_unusable(struct turn *t)
{
    EACH_SIDE (side) {
        const struct verify_values *values = t->s->side[side].values;
        char object[VALUES_WHERE];
        if (values != NULL && values->found && values->immutable) {
            turn_say(t, "%s: %s is immutable; make it anew without that", turn_name(t, (enum model_side)side),
                     values_object(t, (enum model_side)side, object));
            return true;
        }
        if (values == NULL || !values->found || !values->key_found || (values->readable && values->settable))
            continue;
        values_say_why(t, (enum model_side)side, &values->why, values->why_path);
        return true;
    }
    return false;
}

/* Keys that are not there are put in where the spec says; that this is where the chart reads them only a person can know. */
void tell_missing_switches(struct turn *t, enum model_side side)
{
    char list[400] = "";
    char path[160];
    char object[VALUES_WHERE];
    for (int i = 0; i < MODEL_SWITCHES; i++) {
        if (turn_side(t, side)->values->declared[i] != VERIFY_ABSENT)
            continue;
        (void)model_path_text(&turn_cluster(t, side)->distributor.switches[i].path, path, sizeof path);
        dv_list_add(list, sizeof list, path);
    }
    if (list[0] == '\0')
        return;
    turn_note(t, "%s: not in the values yet and added when first written: %s", turn_name(t, side), list);
    turn_event(t, true, "SwitchesMissing",
               "run %s: %s of %s has no %s yet; added when first written: check that the chart reads them there", t->st->run.id,
               values_object(t, side, object), turn_name(t, side), list);
}

static bool principals_list(const struct verify_values *values, const char *principal)
{
    for (size_t i = 0; i < values->principal_count; i++)
        if (dv_streq(values->principals[i], principal))
            return true;
    return false;
}

/* First principal of the other side's Distributor that the values do not list; NULL: none, or they are not known. */
static const char *principals_unlisted(const struct turn *t, enum model_side side)
{
    const struct verify_values *values = turn_side(t, side)->values;
    const struct model_distributor *other = &turn_cluster(t, model_far(side))->distributor;
    for (size_t i = 0; values != NULL && i < other->principal_count; i++)
        if (!values->principals_readable || !principals_list(values, other->principals[i]))
            return other->principals[i];
    return NULL;
}

/* ---------------------------------------------------------------- as this run left them */

/* A patch whose answer was lost shows as what the step wants. */
static bool values_as_wanted(struct turn *t, enum model_side side, const struct verify_values *values)
{
    struct model_switches want;
    return turn_want(t, side, &want) && turn_undeclared(values, &want) < 0;
}

/* From the first write on this run answers for a side's values. */
static bool values_answers_for(const struct turn *t, enum model_side side)
{
    enum model_stage first = side == MODEL_A ? STAGE_INIT_A : STAGE_INIT_B;
    return t->stage > first || (t->stage == first && t->step > table_step(first, "Write"));
}

static const char *values_manager(const struct verify_values *values)
{
    return values->manager[0] != '\0' ? values->manager : "unknown";
}

/* Declared values that are not what this run last declared. reverted: they are what they were before the run. */
static bool values_moved(struct turn *t, bool reverted)
{
    const struct model_run *run = &t->st->run;
    for (int side = 0; side < MODEL_SIDES; side++) {
        const struct verify_values *values = t->s->side[side].values;
        bool open = run->intent.kind == INTENT_VALUES && run->intent.side == (enum model_side)side;
        if (values == NULL || !values->readable || !values_answers_for(t, (enum model_side)side) || !run->have_left[side] || open)
            continue;
        int which = turn_undeclared(values, &run->left[side]);
        if (which < 0 || values_as_wanted(t, (enum model_side)side, values))
            continue;
        bool as_before = run->have_before[side] && turn_undeclared(values, &run->before[side]) < 0;
        if (as_before != reverted)
            continue;
        char object[VALUES_WHERE];
        turn_say(t, "%s: switch %s in %s was changed by field manager \"%s\": it is no longer as this run wrote it",
                 turn_name(t, (enum model_side)side), model_switch_name((enum model_switch)which),
                 values_object(t, (enum model_side)side, object), values_manager(values));
        return true;
    }
    return false;
}

bool values_reverted(struct turn *t)
{
    return values_moved(t, true);
}

/* Init found them listed. Init jobs add rights and take none away: without the list the next new cluster would lack them. */
static bool values_principal_gone(struct turn *t)
{
    char path[PRINCIPALS_PATH_TEXT], object[VALUES_WHERE];
    EACH_SIDE (side) {
        const char *gone = values_answers_for(t, (enum model_side)side) ? principals_unlisted(t, (enum model_side)side) : NULL;
        if (gone == NULL || !turn_side(t, (enum model_side)side)->values->readable)
            continue;
        turn_say(t, "%s: %s no longer lists %s, changed by field manager \"%s\" in %s", turn_name(t, (enum model_side)side),
                 principals_path(t, (enum model_side)side, path), gone, values_manager(turn_side(t, (enum model_side)side)->values),
                 values_object(t, (enum model_side)side, object));
        return true;
    }
    return false;
}

bool values_changed(struct turn *t)
{
    return values_moved(t, false) || values_principal_gone(t);
}

/* ---------------------------------------------------------------- principals */

const char *principals_path(const struct turn *t, enum model_side side, char out[PRINCIPALS_PATH_TEXT])
{
    return model_path_text(&turn_cluster(t, side)->distributor.principals_path, out, PRINCIPALS_PATH_TEXT);
}

/* What cannot be read may well list whom it should. */
bool principals_unreadable(struct turn *t)
{
    const struct verify_values *values = turn_side(t, t->near)->values;
    if (values == NULL || !values->readable || values->principals_readable)
        return false;
    values_say_why(t, t->near, &values->principals_why, "principalsPath");
    return true;
}

static void principals_say(struct turn *t, const char *principal)
{
    char path[PRINCIPALS_PATH_TEXT];
    char object[VALUES_WHERE];
    (void)principals_path(t, t->near, path);
    if (turn_side(t, t->near)->values->principals_absent)
        turn_say(
            t, "%s: %s is not in %s and must list %s, the Distributor of %s; add it or correct spec.clusters.%s.distributor.principalsPath",
            turn_name(t, t->near), path, values_object(t, t->near, object), principal, turn_name(t, t->far), model_side_name(t->near));
    else
        turn_say(t,
                 "%s: %s does not list %s, the Distributor of %s; add it to the values of %s or correct "
                 "spec.clusters.%s.distributor.principals",
                 turn_name(t, t->near), path, principal, turn_name(t, t->far), turn_name(t, t->near), model_side_name(t->far));
}

bool principal_not_listed(struct turn *t)
{
    const char *principal = principals_unlisted(t, t->near);
    if (principal != NULL)
        principals_say(t, principal);
    return principal != NULL;
}

void own_principal_note(struct turn *t)
{
    char path[PRINCIPALS_PATH_TEXT];
    const struct verify_values *values = turn_side(t, t->near)->values;
    const struct model_distributor *own = &turn_cluster(t, t->near)->distributor;
    for (size_t i = 0; i < own->principal_count; i++)
        if (!principals_list(values, own->principals[i]))
            turn_note(t, "warning: %s of %s does not list its own Distributor %s", principals_path(t, t->near, path), turn_name(t, t->near),
                      own->principals[i]);
}

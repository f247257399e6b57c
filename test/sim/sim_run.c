#include "sim_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "verify/verify.h"

#define SIM_TWICE_EVERY 7     /* decisions that are taken twice and compared */
#define SIM_TURNS_AT_ONCE 400 /* more turns without the clock moving are a spin */

bool sim_verbose;

/* ---------------------------------------------------------------- the end of the process */

static struct world *sim_current;
static struct {
    enum sim_kill kind;
    int left, every, times;
    int64_t events, effects, killed;
} sim_killer;

static void sim_kill_count(enum sim_kill kind)
{
    struct world *world = sim_current;
    if (world == NULL || world->dead || sim_killer.kind != kind || sim_killer.times == 0 || --sim_killer.left > 0)
        return;
    sim_killer.left = sim_killer.every;
    sim_killer.times--;
    sim_killer.killed++;
    world->dead = true;
}

static void sim_failpoint(const char *name)
{
    if (sim_current == NULL || sim_current->dead)
        return;
    if (sim_verbose)
        (void)fprintf(stderr, "%10lld   failpoint %s\n", (long long)sim_current->now, name);
    sim_killer.effects++;
    sim_kill_count(SIM_KILL_EFFECT);
}

/* ---------------------------------------------------------------- decide() twice over */

void __real_verify_decide(const struct verify_snapshot *snapshot, struct verify_plan *plan);
void __wrap_verify_decide(const struct verify_snapshot *snapshot, struct verify_plan *plan);

static bool sim_plans_equal(const struct verify_snapshot *snapshot, struct verify_plan *a, struct verify_plan *b)
{
    json_t *x = model_status_encode(&a->status, snapshot->spec);
    json_t *y = model_status_encode(&b->status, snapshot->spec);
    bool equal = json_equal(x, y) && memcmp(&a->memory, &b->memory, sizeof a->memory) == 0 && memcmp(a->ask, b->ask, sizeof a->ask) == 0 &&
                 a->act == b->act && a->wake_ms == b->wake_ms && a->event_count == b->event_count && a->finalizer == b->finalizer &&
                 memcmp(&a->observe, &b->observe, sizeof a->observe) == 0;
    json_decref(x);
    json_decref(y);
    return equal;
}

static void sim_tell_wait(const struct verify_plan *plan)
{
    static char last[160];
    if (!sim_verbose || dv_streq(last, plan->waits_for))
        return;
    (void)dv_strlcpy(last, plan->waits_for, sizeof last);
    (void)fprintf(stderr, "%10lld   waits for %s\n", (long long)sim_current->now, last);
}

void __wrap_verify_decide(const struct verify_snapshot *snapshot, struct verify_plan *plan)
{
    __real_verify_decide(snapshot, plan);
    if (sim_current == NULL)
        return;
    sim_current->counts.turns++;
    sim_tell_wait(plan);
    if (strlen(plan->status.message) > 200)
        world_break(sim_current, "a message is too long");
    if (plan->wake_ms <= snapshot->now.mono_ms)
        world_break(sim_current, "a plan wakes in the past");
    if (sim_current->counts.turns % SIM_TWICE_EVERY != 0)
        return;
    struct verify_plan *again = dv_alloc(sizeof *again);
    __real_verify_decide(snapshot, again);
    if (!sim_plans_equal(snapshot, plan, again))
        world_break(sim_current, "equal snapshots gave different plans");
    verify_plan_clear(again);
    free(again);
}

/* ---------------------------------------------------------------- what must always hold */

const char *sim_condition(struct world *world, const char *name, const char *type, const char *field)
{
    const json_t *list = json_object_get(json_object_get(world_resource(world, name), "status"), "conditions");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *condition = json_array_get(list, i);
        if (dv_streq(json_string_value(json_object_get(condition, "type")), type)) {
            const char *text = json_string_value(json_object_get(condition, field));
            return text != NULL ? text : "";
        }
    }
    return "";
}

static struct {
    int passed;
    char run[16], step[80];
} sim_last;

static void sim_watch_conditions(struct world *world, const json_t *status)
{
    bool active = json_object_get(json_object_get(status, "run"), "id") != NULL &&
                  json_object_get(json_object_get(status, "run"), "finishedAt") == NULL;
    if (json_array_size(json_object_get(status, "conditions")) == 0)
        return;
    if (active && dv_streq(sim_condition(world, WORLD_RESOURCE, "Ready", "status"), "False"))
        world_break(world, "Ready is False while the run is active");
    if (active && dv_streq(sim_condition(world, WORLD_RESOURCE, "Finished", "status"), "True"))
        world_break(world, "Finished while the run is active");
}

static void sim_watch_progress(struct world *world, const json_t *status)
{
    int64_t passed = 0;
    const char *run = json_string_value(json_object_get(json_object_get(status, "run"), "id"));
    const char *progress = json_string_value(json_object_get(status, "progress"));
    if (run == NULL || progress == NULL)
        return;
    char digit[2] = {progress[0], '\0'};
    if (dv_parse_i64(digit, 0, 9, &passed) != 0 || !dv_ends_with(progress, "/9"))
        world_break(world, "progress is %s", progress);
    if (dv_streq(run, sim_last.run) && passed < sim_last.passed)
        world_break(world, "progress fell from %d to %lld", sim_last.passed, (long long)passed);
    (void)dv_strlcpy(sim_last.run, run, sizeof sim_last.run);
    sim_last.passed = (int)passed;
}

static void sim_tell(struct world *world, const json_t *status)
{
    char step[80] = "";
    const json_t *stages = json_object_get(status, "stages");
    const char *stage = json_string_value(json_object_get(status, "stage"));
    for (size_t i = 0; i < json_array_size(stages); i++)
        if (dv_streq(json_string_value(json_object_get(json_array_get(stages, i), "name")), stage))
            (void)dv_format(step, sizeof step, "%s.%s", stage, json_string_value(json_object_get(json_array_get(stages, i), "step")));
    if (dv_streq(step, sim_last.step))
        return;
    (void)dv_strlcpy(sim_last.step, step, sizeof sim_last.step);
    if (sim_verbose)
        (void)fprintf(stderr, "%10lld %-8s %s\n", (long long)world->now,
                      json_string_value(json_object_get(json_object_get(status, "run"), "id")), step);
}

static void sim_watch(struct world *world)
{
    static const json_t *seen;
    const json_t *status = json_object_get(world_resource(world, WORLD_RESOURCE), "status");
    if (status == NULL || status == seen)
        return;
    seen = status;
    sim_watch_conditions(world, status);
    sim_watch_progress(world, status);
    sim_tell(world, status);
}

/* ---------------------------------------------------------------- driving */

static void sim_process_again(struct world *world, void *arg)
{
    (void)arg;
    if (world->controller == NULL)
        world_controller_start(world);
}

static void sim_bury(struct world *world)
{
    if (!world->dead || world->controller == NULL)
        return;
    if (sim_verbose)
        (void)fprintf(stderr, "%10lld   the process ends\n", (long long)world->now);
    world_controller_stop(world);
    world_after(world, world->restart_ms, sim_process_again, NULL, NULL);
}

static void sim_turns(struct world *world)
{
    for (int i = 0; world->controller != NULL && !world->dead && (world->woken || world->due <= world->now); i++) {
        if (i == SIM_TURNS_AT_ONCE) {
            world_break(world, "the controller spins");
            return;
        }
        world->woken = false;
        world->due = controller_run(world->controller);
        sim_watch(world);
        world_script_look(world);
    }
    sim_bury(world);
}

bool sim_finished(struct world *world)
{
    return dv_streq(sim_condition(world, WORLD_RESOURCE, "Finished", "status"), "True");
}

bool sim_drive(struct world *world, bool (*done)(struct world *world), int64_t limit_ms)
{
    int64_t end = world->now + limit_ms;
    while (world->broken[0] == '\0') {
        int64_t at = INT64_MAX;
        sim_turns(world);
        if (done != NULL && done(world))
            return true;
        bool any = world_next_at(world, &at);
        if (world->controller != NULL && world->due < at) {
            if (world->due > end)
                return false;
            world->now = world->due > world->now ? world->due : world->now;
            continue;
        }
        if (!any || at > end)
            return false;
        world_step(world);
        sim_watch(world);
        world_script_look(world);
        if (world->controller != NULL) {
            sim_killer.events++;
            sim_kill_count(SIM_KILL_EVENT);
        }
        sim_bury(world);
    }
    return false;
}

/* ---------------------------------------------------------------- a run */

struct world *sim_world(const struct sim_setup *setup)
{
    struct world *world = world_new(setup->seed, setup->field);
    if (setup->max_runs > 0)
        world->max_runs = setup->max_runs;
    memset(&sim_last, 0, sizeof sim_last);
    memset(&sim_killer, 0, sizeof sim_killer);
    sim_current = world;
    controller_failpoint = sim_failpoint;
    sim_killer.kind = setup->kill;
    sim_killer.left = sim_killer.every = setup->kill_at;
    sim_killer.times = setup->kill_at == 0 ? 0 : setup->kills > 0 ? setup->kills : 1;
    if (setup->two || setup->far) {
        world->dist[MODEL_B].server = 1;
        world_act(world, "spec=clusters.b.kubeConfig.secretRef.name:dc2-kubeconfig");
    }
    if (setup->far) {
        world->dist[MODEL_A].server = 1;
        world_act(world, "spec=clusters.a.kubeConfig.secretRef.name:dc2-kubeconfig");
    }
    for (int side = 0; side < MODEL_SIDES; side++)
        world_dist_init(world, side);
    world_script(world, setup->script != NULL ? setup->script : "");
    if (world_resource(world, WORLD_RESOURCE) == NULL)
        world_put(world, 0, CONTROLLER_PLURAL, world_make_resource(world, WORLD_RESOURCE), "kubectl");
    world_controller_start(world);
    return world;
}

void sim_end(struct world *world)
{
    sim_current = NULL;
    world_free(world);
}

static void sim_copy(char *out, size_t size, const char *text)
{
    (void)dv_strlcpy(out, text != NULL ? text : "", size);
}

static void sim_judge(struct world *world, struct sim_outcome *out)
{
    const json_t *status = json_object_get(world_resource(world, WORLD_RESOURCE), "status");
    sim_copy(out->result, sizeof out->result, world_status_text(world, "result"));
    sim_copy(out->stage, sizeof out->stage, world_status_text(world, "stage"));
    sim_copy(out->message, sizeof out->message, world_status_text(world, "message"));
    sim_copy(out->reason, sizeof out->reason, sim_condition(world, WORLD_RESOURCE, "Ready", "reason"));
    out->resumes = json_integer_value(json_object_get(json_object_get(status, "run"), "resumes"));
    for (int side = 0; side < MODEL_SIDES; side++)
        world_switches(world, side, out->switches[side]);
    for (size_t i = 0; i < json_array_size(world->happened); i++)
        out->retries += dv_streq(json_string_value(json_array_get(world->happened, i)), "StageRetried");
    out->counts = world->counts;
    out->events = sim_killer.events;
    out->effects = sim_killer.effects;
    out->killed = sim_killer.killed;
    out->status = json_dumps(status, JSON_INDENT(1) | JSON_ENCODE_ANY);
}

void sim_run(const struct sim_setup *setup, struct sim_outcome *out)
{
    memset(out, 0, sizeof *out);
    struct world *world = sim_world(setup);
    int64_t begun = world->now;
    bool ended = sim_drive(world, sim_finished, setup->limit_ms > 0 ? setup->limit_ms : setup->field ? 10000000 : 1500000);
    out->took_ms = world->now - begun;
    if (!ended)
        world_break(world, "the run does not end; it is in %s and waits: %s", sim_last.step, world_status_text(world, "message"));
    int64_t writes = 0;
    if (ended) {
        (void)sim_drive(world, NULL, 2000);
        writes = world->counts.status_writes;
        (void)sim_drive(world, NULL, 120000);
        if (world->counts.status_writes != writes)
            world_break(world, "%lld status writes after the end", (long long)(world->counts.status_writes - writes));
        if (world->client_count > 0 || world->readers != NULL)
            world_break(world, "Kafka clients are open after the end");
    }
    for (size_t i = 0; i < world->action_count && ended && !setup->lenient; i++)
        if (!world->actions[i].fired)
            world_break(world, "the script's \"%s\" never happened", world->actions[i].what);
    sim_judge(world, out);
    (void)dv_strlcpy(out->broken, world->broken, sizeof out->broken);
    sim_end(world);
}

void sim_outcome_clear(struct sim_outcome *out)
{
    free(out->status);
    memset(out, 0, sizeof *out);
}

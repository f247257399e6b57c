#include "sim_people.h"

#include "../support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim_run.h"

#define LIMIT_MS 1500000

static const json_t *people_status(struct world *world, const char *name)
{
    return json_object_get(world_resource(world, name), "status");
}

static const char *people_text(struct world *world, const char *name, const char *key)
{
    const char *text = json_string_value(json_object_get(people_status(world, name), key));
    return text != NULL ? text : "";
}

static void people_run_id(struct world *world, char out[16])
{
    const char *id = json_string_value(json_object_get(json_object_get(people_status(world, WORLD_RESOURCE), "run"), "id"));
    (void)dv_strlcpy(out, id != NULL ? id : "", 16);
}

static void people_sound(struct world *world)
{
    if (world->broken[0] != '\0')
        fail_msg("%s", world->broken);
}

static void people_drive(struct world *world, bool (*done)(struct world *world), const char *what)
{
    bool came = sim_drive(world, done, LIMIT_MS);
    people_sound(world);
    if (!came)
        fail_msg("%s did not come; the resource says %s: %s", what, world_status_text(world, "stage"), world_status_text(world, "message"));
}

static void people_switches(struct world *world, const char *a, const char *b)
{
    char text[12];
    world_switches(world, MODEL_A, text);
    assert_string_equal(text, a);
    world_switches(world, MODEL_B, text);
    assert_string_equal(text, b);
}

static bool people_ready(struct world *world)
{
    return dv_streq(sim_condition(world, WORLD_RESOURCE, "Ready", "status"), "True");
}

static bool people_gone(struct world *world)
{
    return world_resource(world, WORLD_RESOURCE) == NULL;
}

static bool people_stale(struct world *world)
{
    return dv_streq(sim_condition(world, WORLD_RESOURCE, "Ready", "reason"), "Stale");
}

static bool people_settling(struct world *world)
{
    return dv_streq(world_status_text(world, "stage"), "MessagesBothWays");
}

static void people_end(struct world *world)
{
    people_sound(world);
    sim_end(world);
}

/* ---------------------------------------------------------------- changes */

void people_spec_change_in_mid_run(void **state)
{
    (void)state;
    char first[16];
    char second[16];
    struct world *world = sim_world(&(struct sim_setup){.seed = 3});
    people_drive(world, people_settling, "MessagesBothWays");
    people_run_id(world, first);
    world_act(world, "spec=checks.settle:4s");
    people_drive(world, people_ready, "Ready");
    people_run_id(world, second);
    assert_string_not_equal(first, second);
    const json_t *history = json_object_get(people_status(world, WORLD_RESOURCE), "history");
    assert_int_equal(json_array_size(history), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(history, 1), "result")), "Aborted");
    assert_string_equal(json_string_value(json_object_get(json_array_get(history, 1), "reason")), "SpecChanged");
    people_switches(world, "11111", "11111");
    people_end(world);
}

static bool people_passed_without_an_end(struct world *world)
{
    bool ready = people_ready(world);
    if (!ready && (sim_finished(world) || sim_condition(world, WORLD_RESOURCE, "Stalled", "status")[0] != '\0'))
        world_break(world, "an end is shown while a run is to start");
    return ready;
}

/* Whoever applies the change and waits for Finished gets the end of the new run, also when it starts later. */
void people_spec_change_is_no_end(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        struct world *world = sim_world(&(struct sim_setup){.seed = 16});
        people_drive(world, people_settling, "MessagesBothWays");
        if (later)
            world_act(world, "spec=suspend:true");
        world_act(world, "spec=checks.settle:4s");
        if (later) {
            (void)sim_drive(world, people_passed_without_an_end, 5000);
            assert_string_equal(sim_condition(world, WORLD_RESOURCE, "Ready", "reason"), "Suspended");
            assert_string_equal(sim_condition(world, WORLD_RESOURCE, "Finished", "status"), "Unknown");
            assert_string_equal(sim_condition(world, WORLD_RESOURCE, "InitVerified", "reason"), "Pending");
            world_act(world, "spec=suspend:false");
        }
        people_drive(world, people_passed_without_an_end, "Ready");
        people_end(world);
    }
}

static int64_t people_writes;

static bool people_patch_done(struct world *world)
{
    return world->counts.values_writes == people_writes || people_ready(world);
}

/* While a patch is under way: the run that follows knows what this one left, whatever it was. */
void people_spec_change_during_a_patch(void **state)
{
    (void)state;
    bool more = true;
    for (people_writes = 1; more; people_writes++) {
        for (uint64_t seed = 1; seed <= 2; seed++) {
            struct world *world = sim_world(&(struct sim_setup){.seed = seed});
            people_drive(world, people_patch_done, "the patch");
            more = !people_ready(world);
            if (more)
                world_act(world, "spec=checks.settle:4s");
            people_drive(world, people_ready, "Ready");
            people_end(world);
        }
    }
    assert_true(people_writes > 6);
}

static bool people_stalled(struct world *world)
{
    return dv_streq(sim_condition(world, WORLD_RESOURCE, "Stalled", "reason"), "InvalidSpec");
}

void people_unusable_spec_during_a_patch(void **state)
{
    (void)state;
    for (people_writes = 1; people_writes <= 3; people_writes++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct world *world = sim_world(&(struct sim_setup){.seed = seed});
            people_drive(world, people_patch_done, "the patch");
            world_act(world, "spec=clusters.b.namespace:elsewhere");
            people_drive(world, people_stalled, "Stalled");
            assert_non_null(strstr(world_status_text(world, "message"), "spec.clusters.b.namespace"));
            (void)sim_drive(world, NULL, 5000);
            world_act(world, "spec=takeOver:true");
            world_act(world, "spec=clusters.b.namespace:" WORLD_NS);
            people_drive(world, people_ready, "Ready");
            people_end(world);
        }
    }
}

static bool people_suspended(struct world *world)
{
    return dv_streq(sim_condition(world, WORLD_RESOURCE, "Ready", "reason"), "Suspended");
}

/* What is allowed later is clean as if it had been allowed before. */
void people_allow_a_line_while_suspended(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 18});
    people_drive(world, people_settling, "MessagesBothWays");
    world_act(world, "spec=suspend:true");
    people_drive(world, people_suspended, "Suspended");
    world_act(world, "a:log=ERROR [dc1|task-0] Something odd happened (org.example.Thing) [worker]");
    (void)sim_drive(world, NULL, 5000);
    world_act(world, "spec=checks.logs.allow:[\"Something odd\"]");
    (void)sim_drive(world, NULL, 5000);
    world_act(world, "spec=suspend:false");
    people_drive(world, people_ready, "Ready");
    assert_int_equal(json_array_size(json_object_get(people_status(world, WORLD_RESOURCE), "history")), 1);
    people_end(world);
}

void people_stale_then_reverify(void **state)
{
    (void)state;
    char first[16];
    char second[16];
    struct world *world = sim_world(&(struct sim_setup){.seed = 4});
    people_drive(world, people_ready, "Ready");
    people_run_id(world, first);
    world_act(world, "spec=checks.settle:4s");
    people_drive(world, people_stale, "Stale");
    assert_string_equal(sim_condition(world, WORLD_RESOURCE, "Ready", "status"), "False");
    (void)sim_drive(world, NULL, 60000);
    people_switches(world, "11111", "11111");
    people_run_id(world, second);
    assert_string_equal(first, second); /* a change starts nothing: a run would switch distribution off */
    world_act(world, "reverify=again");
    people_drive(world, people_ready, "Ready after reverify");
    people_run_id(world, second);
    assert_string_not_equal(first, second);
    assert_string_equal(world_status_text(world, "lastHandledReverify"), "again");
    people_end(world);
}

static bool people_one_passed(struct world *world)
{
    const json_t *history = json_object_get(people_status(world, WORLD_RESOURCE), "history");
    return dv_streq(json_string_value(json_object_get(json_array_get(history, 0), "result")), "Passed");
}

/* It is taken when the run ends; Ready is that of the run it asks for. */
void people_reverify_during_a_run(void **state)
{
    (void)state;
    char first[16];
    char second[16];
    struct world *world = sim_world(&(struct sim_setup){.seed = 5});
    people_drive(world, people_settling, "MessagesBothWays");
    people_run_id(world, first);
    world_act(world, "reverify=once-more");
    people_drive(world, people_one_passed, "the end of the first");
    people_run_id(world, second);
    assert_string_equal(first, second);
    assert_false(people_ready(world) || sim_finished(world));
    people_drive(world, people_ready, "Ready");
    people_run_id(world, second);
    assert_string_not_equal(first, second);
    assert_string_equal(world_status_text(world, "lastHandledReverify"), "once-more");
    (void)sim_drive(world, NULL, 120000);
    char third[16];
    people_run_id(world, third);
    assert_string_equal(second, third); /* the token is used up */
    people_end(world);
}

/* The character at the 64th byte is cut by nobody, and the token is used up. */
void people_reverify_with_a_long_token(void **state)
{
    (void)state;
    static const char token[] = "tweede-controle-na-de-wijziging-van-de-connector-instellingen-\xc3\xa9-x";
    char act[sizeof token + 16];
    char first[16];
    char second[16];
    struct world *world = sim_world(&(struct sim_setup){.seed = 4});
    people_drive(world, people_ready, "Ready");
    world_act(world, dv_format(act, sizeof act, "reverify=%s", token));
    people_drive(world, people_settling, "a second run");
    people_run_id(world, first);
    people_drive(world, people_ready, "Ready again");
    (void)sim_drive(world, NULL, 120000);
    people_run_id(world, second);
    assert_string_equal(first, second);
    assert_string_equal(world_status_text(world, "lastHandledReverify"), token);
    people_end(world);
}

void people_run_again_after_failure(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 6, .script = "a:md.stall=1"});
    people_drive(world, sim_finished, "the end");
    assert_string_equal(world_status_text(world, "result"), "Failed");
    world_act(world, "a:md.stall=0");
    world_act(world, "reverify=mended");
    people_drive(world, people_ready, "Ready"); /* distribution is on as the last run left it */
    people_switches(world, "11111", "11111");
    people_end(world);
}

static int people_events(struct world *world, const char *reason)
{
    int count = 0;
    for (size_t i = 0; i < json_array_size(world->happened); i++)
        count += dv_streq(json_string_value(json_array_get(world->happened, i)), reason);
    return count;
}

/* One event for each happening: neither a loop nor its end is told twice, and a pass goes stale once. */
void people_are_told_once(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 17, .script = "a:md.ignoreFlags=1; b:md.ignoreFlags=1"});
    people_drive(world, sim_finished, "the end");
    (void)sim_drive(world, NULL, 60000);
    assert_int_equal(people_events(world, "LoopDetected"), 1);
    assert_int_equal(people_events(world, "RunFailed"), 1);
    people_end(world);
    world = sim_world(&(struct sim_setup){.seed = 17});
    people_drive(world, people_ready, "Ready");
    world_act(world, "spec=checks.settle:4s");
    people_drive(world, people_stale, "Stale");
    (void)sim_drive(world, NULL, 600000);
    assert_int_equal(people_events(world, "Stale"), 1);
    people_end(world);
}

/* ---------------------------------------------------------------- deletion */

void people_delete_in_mid_run(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 7});
    people_drive(world, people_settling, "MessagesBothWays");
    world_act(world, "delete");
    int64_t before = world->now;
    people_drive(world, people_gone, "the end of the resource");
    assert_true(world->now - before < 30000);
    int64_t writes = world->counts.values_writes;
    (void)sim_drive(world, NULL, 120000);
    assert_int_equal(world->counts.values_writes, writes);
    assert_int_equal(world->client_count, 0);
    assert_null(world->watches->link); /* that of the resources alone */
    people_end(world);
}

void people_delete_while_unreachable(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 8, .script = "@MessagesBothWays b:kafka.down"});
    people_drive(world, people_settling, "MessagesBothWays");
    (void)sim_drive(world, NULL, 8000);
    world_act(world, "delete");
    int64_t before = world->now;
    people_drive(world, people_gone, "the end of the resource");
    assert_true(world->now - before < 30000);
    people_end(world);
}

void people_recreated(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 9, .script = "spec=takeOver:true"});
    people_drive(world, people_settling, "MessagesBothWays");
    world_act(world, "delete");
    people_drive(world, people_gone, "the end of the resource");
    world_put(world, 0, CONTROLLER_PLURAL, world_make_resource(world, WORLD_RESOURCE), "kubectl");
    people_drive(world, people_ready, "Ready");
    people_switches(world, "11111", "11111");
    people_end(world);
}

/* ---------------------------------------------------------------- more than one */

static bool people_second_waits(struct world *world)
{
    return dv_streq(sim_condition(world, "second", "Ready", "reason"), "Conflict") && people_settling(world);
}

static bool people_second_ended(struct world *world)
{
    return dv_streq(sim_condition(world, "second", "Finished", "status"), "True");
}

void people_two_on_one_distributor(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 10, .script = "spec=takeOver:true"});
    (void)sim_drive(world, NULL, 100);
    world_put(world, 0, CONTROLLER_PLURAL, world_make_resource(world, "second"), "kubectl");
    people_drive(world, people_second_waits, "Conflict");
    assert_non_null(strstr(people_text(world, "second", "message"), WORLD_RESOURCE));
    people_drive(world, people_ready, "Ready of the first");
    people_drive(world, people_second_ended, "the end of the second");
    assert_string_equal(people_text(world, "second", "result"), "Passed");
    people_end(world);
}

static bool people_waits_for_place(struct world *world)
{
    return strstr(people_text(world, "second", "message"), "--max-runs") != NULL && people_settling(world);
}

static void people_set_connect(json_t *resource, const char *side, const char *name)
{
    json_t *cluster = json_object_get(json_object_get(json_object_get(resource, "spec"), "clusters"), side);
    json_object_set_new(json_object_get(json_object_get(cluster, "distributor"), "kafkaConnectRef"), "name", json_string(name));
}

/* A second resource on Distributors that are not there. */
static json_t *people_elsewhere(struct world *world)
{
    json_t *second = json_deep_copy(world_resource(world, WORLD_RESOURCE));
    json_object_set_new(second, "metadata", world_meta("second", NULL, NULL));
    json_object_del(second, "status");
    people_set_connect(second, "a", "x");
    people_set_connect(second, "b", "y");
    return second;
}

void people_one_place_for_two(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 11, .max_runs = 1, .script = "spec=takeOver:true"});
    (void)sim_drive(world, NULL, 100);
    world_put(world, 0, CONTROLLER_PLURAL, people_elsewhere(world), "kubectl");
    people_drive(world, people_waits_for_place, "the wait for a place");
    people_drive(world, people_ready, "Ready of the first");
    people_drive(world, people_second_ended, "the end of the second");
    assert_string_equal(people_text(world, "second", "result"), "Error");
    people_end(world);
}

static bool people_runs(struct world *world, const char *name)
{
    const json_t *run = json_object_get(people_status(world, name), "run");
    return json_object_get(run, "id") != NULL && json_object_get(run, "finishedAt") == NULL;
}

static bool people_both_ended(struct world *world)
{
    if (people_runs(world, WORLD_RESOURCE) && people_runs(world, "second"))
        world_break(world, "both run at once");
    return sim_finished(world) && people_second_ended(world);
}

/* Neither has a status when the controller first sees them: a start whose write is under way, or has no answer, counts. */
void people_two_from_the_start(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct world *world = sim_world(&(struct sim_setup){.seed = seed, .script = "spec=takeOver:true"});
        world_put(world, 0, CONTROLLER_PLURAL, world_make_resource(world, "second"), "kubectl");
        world->api_lose = seed % 3 == 0 ? 4 : 0;
        people_drive(world, people_both_ended, "the end of both");
        assert_string_equal(people_text(world, WORLD_RESOURCE, "result"), "Passed");
        assert_string_equal(people_text(world, "second", "result"), "Passed");
        people_end(world);
    }
}

/* A start that cannot be written gives its place back. */
void people_one_place_from_the_start(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct world *world = sim_world(&(struct sim_setup){.seed = seed, .max_runs = 1, .script = "spec=takeOver:true"});
        world_put(world, 0, CONTROLLER_PLURAL, people_elsewhere(world), "kubectl");
        world->api_conflicts = (int64_t)(seed % 3);
        people_drive(world, people_both_ended, "the end of both");
        assert_string_equal(people_text(world, WORLD_RESOURCE, "result"), "Passed");
        assert_string_equal(people_text(world, "second", "result"), "Error");
        people_end(world);
    }
}

static struct world_object *people_object(struct world *world, const char *name)
{
    for (size_t i = 0; i < world->object_count; i++)
        if (dv_streq(world->objects[i].name, name) && dv_streq(world->objects[i].plural, CONTROLLER_PLURAL))
            return &world->objects[i];
    return NULL;
}

/* After a restart the one that waits is listed first: it does not start before the other's run is known. */
void people_waiting_over_a_restart(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct world *world = sim_world(&(struct sim_setup){.seed = seed, .script = "spec=takeOver:true"});
        (void)sim_drive(world, NULL, 100);
        world_put(world, 0, CONTROLLER_PLURAL, world_make_resource(world, "second"), "kubectl");
        people_drive(world, people_second_waits, "Conflict");
        world_controller_stop(world);
        struct world_object *first = people_object(world, WORLD_RESOURCE);
        struct world_object *second = people_object(world, "second");
        struct world_object moved = *first;
        *first = *second;
        *second = moved;
        world_controller_start(world);
        people_drive(world, people_both_ended, "the end of both");
        assert_string_equal(people_text(world, "second", "result"), "Passed");
        people_end(world);
    }
}

static bool people_second_in_preflight(struct world *world)
{
    return people_second_waits(world) && dv_streq(people_text(world, "second", "stage"), "Preflight");
}

static bool people_one_beyond_preflight(struct world *world)
{
    bool beyond[2] = {people_runs(world, WORLD_RESOURCE) && !dv_streq(world_status_text(world, "stage"), "Preflight"),
                      people_runs(world, "second") && !dv_streq(people_text(world, "second", "stage"), "Preflight")};
    if (beyond[0] && beyond[1])
        world_break(world, "both drive at once");
    return sim_finished(world) && people_second_ended(world);
}

static void people_set_kubeconfig(json_t *resource, const char *secret, const char *key)
{
    const char *side = NULL;
    json_t *cluster = NULL;
    json_object_foreach (json_object_get(json_object_get(resource, "spec"), "clusters"), side, cluster)
        json_object_set_new(cluster, "kubeConfig", json_pack("{s:{s:s, s:s}}", "secretRef", "name", secret, "key", key));
}

/* Two Secrets, or two keys of one, lead to the same Distributors: that shows in Preflight, before anything is written. */
void people_two_by_other_kubeconfigs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct world *world = sim_world(&(struct sim_setup){.seed = seed, .far = true, .script = "spec=takeOver:true"});
        json_t *second = json_deep_copy(world_resource(world, WORLD_RESOURCE));
        json_object_set_new(second, "metadata", world_meta("second", NULL, NULL));
        people_set_kubeconfig(second, seed % 2 == 0 ? "another" : "dc2-kubeconfig", "another");
        if (seed > 2)
            (void)sim_drive(world, NULL, 3000);
        world_put(world, 0, CONTROLLER_PLURAL, second, "kubectl");
        if (seed > 2)
            people_drive(world, people_second_in_preflight, "Conflict in Preflight");
        people_drive(world, people_one_beyond_preflight, "the end of both");
        assert_string_equal(people_text(world, WORLD_RESOURCE, "result"), "Passed");
        assert_string_equal(people_text(world, "second", "result"), "Passed");
        people_end(world);
    }
}

/* ---------------------------------------------------------------- the spec */

void people_invalid_spec_is_corrected(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 12, .script = "spec=window:soon"});
    people_drive(world, people_stalled, "Stalled");
    assert_non_null(strstr(world_status_text(world, "message"), "spec.window"));
    world_act(world, "spec=window:3s");
    people_drive(world, people_ready, "Ready");
    people_end(world);
}

void people_suspended_from_the_start(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 13, .script = "spec=suspend:true"});
    people_drive(world, people_suspended, "Suspended");
    (void)sim_drive(world, NULL, 60000);
    assert_int_equal(world->counts.asks, 0);
    world_act(world, "spec=suspend:false");
    people_drive(world, people_ready, "Ready");
    people_end(world);
}

static bool people_crd_stalled(struct world *world)
{
    return dv_streq(sim_condition(world, WORLD_RESOURCE, "Stalled", "reason"), "CRDTooOld");
}

/* The controller is newer than the CRD, from the start or since the middle of a run: the run ends at once, visibly, and nothing is done
 * that cannot be written down. With the CRD put right, a reverify starts anew. */
void people_crd_too_old(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct world *world = sim_world(&(struct sim_setup){.seed = 14});
        if (late)
            people_drive(world, people_settling, "MessagesBothWays");
        world->crd_old = true;
        people_drive(world, people_crd_stalled, "Stalled");
        assert_string_equal(sim_condition(world, WORLD_RESOURCE, "Finished", "status"), "True");
        assert_string_equal(people_text(world, WORLD_RESOURCE, "result"), "Error");
        assert_non_null(strstr(world_status_text(world, "message"), "status.run.lastProgressAt"));
        int64_t writes = world->counts.status_writes;
        (void)sim_drive(world, NULL, 600000);
        assert_int_equal(world->counts.status_writes, writes);
        world->crd_old = false;
        world_act(world, "reverify=mended");
        people_drive(world, people_ready, "Ready");
        people_end(world);
    }
}

/* ---------------------------------------------------------------- versions that mean nothing any more */

static void people_set_version(json_t *object, size_t version)
{
    char text[24];
    json_object_set_new(json_object_get(object, "metadata"), "resourceVersion", json_string(dv_format(text, sizeof text, "%zu", version)));
}

/* The API server's store was put back from a backup: all versions are lower than those that are known. */
static void people_restore(uint64_t seed)
{
    struct world *world = sim_world(&(struct sim_setup){.seed = seed});
    people_drive(world, people_ready, "Ready");
    (void)sim_drive(world, NULL, 5000); /* no answer is under way */
    world_act(world, "api.down");
    (void)sim_drive(world, NULL, 5000);
    for (size_t i = 0; i < world->object_count; i++)
        people_set_version(world->objects[i].json, i + 1);
    world->version = 100;
    DV_CLEANUP_FREE char *text = world_values_text(world, MODEL_A);
    char *on = strstr(text, "true");
    assert_non_null(on);
    memcpy(on, "null", 4);
    world_values_write(world, MODEL_A, text, "restore");
    world_api_down(world, 0, false);
    people_drive(world, people_stale, "Stale");
    world_act(world, "reverify=after-the-restore");
    (void)sim_drive(world, NULL, LIMIT_MS);
    assert_string_equal(world_status_text(world, "lastHandledReverify"), "after-the-restore");
    assert_true(sim_finished(world));
    people_end(world);
}

void people_store_from_a_backup(void **state)
{
    (void)state;
    for (uint64_t seed = 18; seed < 24; seed++)
        people_restore(seed);
}

/* The kubeconfig leads to another cluster now: another object, whose versions compare to nothing. */
void people_other_cluster_behind_the_kubeconfig(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 19, .two = true});
    people_drive(world, people_ready, "Ready");
    for (size_t i = 0; i < world->object_count; i++) {
        struct world_object *object = &world->objects[i];
        if (!dv_streq(object->name, "dc2-distributor-values"))
            continue;
        json_object_set_new(json_object_get(object->json, "metadata"), "uid", json_string("uid-elsewhere"));
        json_object_set_new(json_object_get(object->json, "data"), "values.yaml", json_string(""));
        people_set_version(object->json, 5);
        world_changed(world, object, false);
    }
    (void)sim_drive(world, NULL, 5000);
    assert_string_equal(sim_condition(world, WORLD_RESOURCE, "Ready", "reason"), "Stale");
    people_end(world);
}

/* ---------------------------------------------------------------- lag over all topics */

/* The Message Distributor's group of one side has read another topic up to `left` records before its end. */
static void people_other_topic(struct world *world, int side, int64_t left)
{
    struct world_topic *topic = world_topic_make(&world->kafka[side], "orders", 2);
    for (int32_t p = 0; p < 2; p++) {
        struct fact_record record = {.partition = p, .timestamp_ms = world_wall(world)};
        for (int i = 0; i < 20; i++)
            (void)world_append(world, side, topic, &record, false);
        world_commit(world, side, world_group(&world->dist[side].connector[MODEL_MD]), "orders", p, 20 - left);
    }
}

static const json_t *people_evidence(struct world *world, const char *stage, const char *key)
{
    const json_t *stages = json_object_get(people_status(world, WORLD_RESOURCE), "stages");
    for (size_t i = 0; i < json_array_size(stages); i++)
        if (dv_streq(json_string_value(json_object_get(json_array_get(stages, i), "name")), stage))
            return json_object_get(json_object_get(json_array_get(stages, i), "evidence"), key);
    return NULL;
}

static int64_t people_lag(struct world *world, size_t side, const char *key)
{
    const json_t *number = json_object_get(json_array_get(people_evidence(world, "LagDrained", "lag"), side), key);
    return number != NULL ? json_integer_value(number) : -1;
}

/* Reported and never judged: neither what lags elsewhere nor a right that lacks keeps the run from passing. */
void people_lag_of_the_whole_group(void **state)
{
    (void)state;
    struct world *world = sim_world(&(struct sim_setup){.seed = 15});
    people_other_topic(world, MODEL_A, 7);
    people_other_topic(world, MODEL_B, 0);
    world->kafka[MODEL_B].refuse_ask = PORT_ASK_GROUP_LAG;
    people_drive(world, people_ready, "Ready");
    assert_int_equal(people_lag(world, MODEL_A, "lag"), 0);
    assert_int_equal(people_lag(world, MODEL_A, "groupLag"), 14);
    assert_int_equal(people_lag(world, MODEL_A, "groupPartitions"), WORLD_PARTITIONS + 2);
    assert_int_equal(people_lag(world, MODEL_A, "groupPartitionsUnseen"), -1);
    assert_int_equal(people_lag(world, MODEL_B, "lag"), 0);
    assert_int_equal(people_lag(world, MODEL_B, "groupLag"), -1);
    const json_t *notes = people_evidence(world, "LagDrained", "notes");
    assert_int_equal(json_array_size(notes), 1);
    assert_string_equal(
        json_string_value(json_array_get(notes, 0)),
        "the lag of the Message Distributor's group on dc2 over all topics is not known: Kafka cluster dc2: not authorized");
    people_end(world);
}

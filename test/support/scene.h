/* Hand-made snapshots for the tests of pkg/verify: a healthy pair of Distributors in any step of a run, every fact of which a test may
 * change before it asks verify_decide(). Two partitions. */
#ifndef DV_TEST_SCENE_H
#define DV_TEST_SCENE_H

#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "verify/guards.h"
#include "verify/lifecycle.h"
#include "verify/verify.h"

#define SCENE_RUN "abcdefghi1"
#define SCENE_MONO INT64_C(10000000)
#define SCENE_WALL INT64_C(1772445600000)
#define SCENE_PARTITIONS 2
#define SCENE_AGE 5000 /* how long the step, and the stage, have been going on */

struct scene_offsets {
    struct fact_offsets fact;
    int64_t low[SCENE_PARTITIONS], high[SCENE_PARTITIONS], stable[SCENE_PARTITIONS];
};

struct scene_side {
    struct verify_values values;
    char *principals[2];
    struct fact_connect connect;
    struct fact_connector connector[MODEL_CONNECTORS + 1]; /* the last one is a stranger */
    bool there[MODEL_CONNECTORS + 1];
    struct verify_connector judged[MODEL_CONNECTORS + 1];
    enum verify_health health[MODEL_CONNECTORS + 1];
    struct fact_group groups[VERIFY_GROUPS];
    struct fact_assignment assigned[SCENE_PARTITIONS], assigned_ts[SCENE_PARTITIONS];
    struct fact_pod pod;
    const struct fact_pod *pods[1];
    struct fact_job job;
    const struct fact_job *jobs[1];
    struct scene_offsets test_log, ts_log, md, commits;
    int64_t next[SCENE_PARTITIONS], high[SCENE_PARTITIONS], stable[SCENE_PARTITIONS];
    struct verify_distance distances[16];
    struct fact_log_finding findings[4];
    bool dirty[4];
};

struct scene {
    struct model_spec *spec;
    struct model_status status;
    struct verify_memory memory;
    struct probe_table probes;
    struct verify_snapshot s;
    struct scene_side side[MODEL_SIDES];
    struct verify_plan plan; /* of the last scene_decide() */
    bool planned;
};

/* ---------------------------------------------------------------- facts */

static inline void scene_offsets_link(struct scene_offsets *o)
{
    o->fact = (struct fact_offsets){.partitions = SCENE_PARTITIONS, .low = o->low, .high = o->high, .stable = o->stable};
}

static inline void scene_offsets_all(int64_t *list, int64_t value)
{
    for (int p = 0; p < SCENE_PARTITIONS; p++)
        list[p] = value;
}

/* All that is known is known as of now. */
static inline void scene_fresh(struct scene *scene)
{
    for (int side = 0; side < MODEL_SIDES; side++)
        for (int fact = 0; fact < VF_COUNT; fact++)
            scene->s.side[side].stamp[fact] = (struct verify_stamp){.as_of_ms = scene->s.now.mono_ms};
}

static inline void scene_later(struct scene *scene, int64_t ms)
{
    scene->s.now.mono_ms += ms;
    scene->s.now.wall_ms += ms;
    scene_fresh(scene);
}

static inline void scene_fail(struct scene *scene, enum model_side side, enum verify_fact fact, enum dv_err_kind kind)
{
    struct verify_stamp *stamp = &scene->s.side[side].stamp[fact];
    *stamp = (struct verify_stamp){.failed_ms = scene->s.now.mono_ms};
    (void)dv_err_set(&stamp->err, kind, "%s went wrong", verify_fact_text(fact));
}

/* One more distance is known; returned to be changed. */
static inline struct verify_distance *scene_distance(struct scene *scene, enum model_side side, struct verify_distance distance)
{
    struct verify_side *out = &scene->s.side[side];
    struct verify_distance *known = &scene->side[side].distances[out->distance_count++];
    assert_true(out->distance_count <= sizeof scene->side[side].distances / sizeof *known);
    *known = distance;
    out->distances = scene->side[side].distances;
    return known;
}

/* Five letters of the normative table: what the values declare, with the connectors and groups that follow from it. */
static inline void scene_declare(struct scene *scene, enum model_side side, const char *five)
{
    struct scene_side *facts = &scene->side[side];
    for (int i = 0; i < MODEL_SWITCHES; i++)
        facts->values.declared[i] = five[i] == '1' ? VERIFY_ON : VERIFY_OFF;
    for (int c = 0; c < MODEL_CONNECTORS; c++) {
        bool on = five[0] == '1' && five[2 + c] == '1';
        facts->there[c] = on;
        facts->groups[c].members = on ? 1 : 0;
        facts->groups[c].state = on ? FACT_GROUP_STABLE : FACT_GROUP_EMPTY;
        facts->groups[c].assignment_count = on ? SCENE_PARTITIONS : 0;
    }
}

static inline void scene_left(struct scene *scene, enum model_side side, const char *five)
{
    for (int i = 0; i < MODEL_SWITCHES; i++)
        scene->status.run.left[side].on[i] = five[i] == '1';
    scene->status.run.have_left[side] = true;
    model_target_hash(&scene->spec->cluster[side], scene->status.run.left_of[side]);
}

static inline void scene_finding(struct scene *scene, enum model_side side, enum fact_log_kind kind, bool dirty)
{
    struct verify_side *out = &scene->s.side[side];
    struct scene_side *facts = &scene->side[side];
    facts->findings[out->finding_count] = (struct fact_log_finding){.kind = kind,
                                                                    .count = 1,
                                                                    .first_line = 7,
                                                                    .first_ms = scene->s.now.wall_ms,
                                                                    .last_ms = scene->s.now.wall_ms,
                                                                    .pod = "pod-0",
                                                                    .task = -1,
                                                                    .cause = "it broke"};
    facts->dirty[out->finding_count++] = dirty;
}

/* ---------------------------------------------------------------- a healthy pair */

static inline void scene_init_connector(const struct model_cluster *cluster, struct scene_side *facts, int c)
{
    bool stranger = c == MODEL_CONNECTORS;
    facts->connector[c] =
        (struct fact_connector){.name = stranger ? (char *)(uintptr_t) "stranger"
                                                 : cluster->distributor.switches[model_connector_switch((enum model_connector)c)].connector,
                                .cluster = cluster->distributor.connect,
                                .generation = 2,
                                .observed_generation = 2,
                                .ready = true,
                                .state = FACT_STATE_RUNNING,
                                .tasks = 1,
                                .tasks_running = 1,
                                .first_failed_task = -1,
                                .class_name = (char *)(uintptr_t) "io.example.Sink",
                                .topics = (char *)(uintptr_t) ".*",
                                .spec_hash = 7};
    facts->health[c] = VERIFY_HEALTHY;
}

static inline void scene_init_groups(const struct model_cluster *cluster, struct scene_side *facts)
{
    static const char *const names[VERIFY_GROUPS] = {"connect-md", "connect-od", "connect-oc", "test-group"};
    for (int p = 0; p < SCENE_PARTITIONS; p++) {
        facts->assigned[p] = (struct fact_assignment){cluster->topic, p};
        facts->assigned_ts[p] = (struct fact_assignment){cluster->timestamps_topic, p};
    }
    for (int g = 0; g < VERIFY_GROUPS; g++)
        facts->groups[g] = (struct fact_group){.name = (char *)(uintptr_t)names[g],
                                               .state = FACT_GROUP_EMPTY,
                                               .listed = true,
                                               .assignments = g == MODEL_OC ? facts->assigned_ts : facts->assigned};
}

static inline void scene_init_kafka(struct scene_side *facts, struct verify_side *out)
{
    scene_offsets_all(facts->test_log.high, 100);
    scene_offsets_all(facts->test_log.stable, 100);
    scene_offsets_all(facts->ts_log.high, 50);
    scene_offsets_all(facts->md.high, 100);
    scene_offsets_all(facts->commits.high, -1);
    scene_offsets_all(facts->next, 100);
    scene_offsets_all(facts->high, 100);
    scene_offsets_all(facts->stable, 100);
    scene_offsets_link(&facts->test_log);
    scene_offsets_link(&facts->ts_log);
    scene_offsets_link(&facts->md);
    scene_offsets_link(&facts->commits);
    out->test_log = &facts->test_log.fact;
    out->ts_log = &facts->ts_log.fact;
    out->md_commits = &facts->md.fact;
    out->test_commits = &facts->commits.fact;
    out->groups = facts->groups;
    out->test_topic = (struct fact_topic){
        .found = true, .partitions = SCENE_PARTITIONS, .configs_known = true, .create_time = true, .deleted = true, .retention_ms = -1};
    out->ts_topic = out->test_topic;
    out->write_test.allowed = out->write_ts.allowed = true;
    for (int c = 0; c < MODEL_CONNECTORS; c++)
        out->read_group[c].allowed = true;
    out->reader_next = facts->next;
    out->reader_high = facts->high;
    out->reader_stable = facts->stable;
}

static inline void scene_init_side(struct scene *scene, enum model_side side)
{
    struct scene_side *facts = &scene->side[side];
    struct verify_side *out = &scene->s.side[side];
    const struct model_cluster *cluster = &scene->spec->cluster[side];
    for (int c = 0; c <= MODEL_CONNECTORS; c++)
        scene_init_connector(cluster, facts, c);
    scene_init_groups(cluster, facts);
    scene_init_kafka(facts, out);
    facts->principals[0] = scene->spec->cluster[MODEL_A].distributor.principals[0];
    facts->principals[1] = scene->spec->cluster[MODEL_B].distributor.principals[0];
    facts->values = (struct verify_values){.found = true,
                                           .key_found = true,
                                           .readable = true,
                                           .settable = true,
                                           .principals = facts->principals,
                                           .principal_count = 2,
                                           .principals_readable = true,
                                           .manager = "distverify"};
    facts->connect = (struct fact_connect){.name = cluster->distributor.connect,
                                           .generation = 1,
                                           .observed_generation = 1,
                                           .ready = true,
                                           .connector_resources = true,
                                           .replicas = 1,
                                           .flush_ms = 5000};
    facts->pod = (struct fact_pod){.name = (char *)(uintptr_t) "pod-0",
                                   .uid = (char *)(uintptr_t) "uid-0",
                                   .connect = cluster->distributor.connect,
                                   .is_connect = true,
                                   .ready = true,
                                   .phase = (char *)(uintptr_t) "Running"};
    facts->pods[0] = &facts->pod;
    facts->jobs[0] = &facts->job;
    out->values = &facts->values;
    out->connect = &facts->connect;
    out->pods = facts->pods;
    out->pod_count = 1;
    out->jobs = facts->jobs;
    out->findings = facts->findings;
    out->finding_dirty = facts->dirty;
    (void)dv_strlcpy(out->cluster_id, side == MODEL_A ? "id-a" : "id-b", sizeof out->cluster_id);
}

/* No run yet; distribution off and never touched. */
static inline struct scene *scene_new(void)
{
    struct scene *scene = dv_alloc(sizeof *scene);
    json_t *json = test_read_json("test/unit/cases/spec/minimal.json");
    assert_int_equal(model_spec_decode(json, "kafka", &scene->spec, NULL), 0);
    json_decref(json);
    scene->s = (struct verify_snapshot){.now = {SCENE_MONO, SCENE_WALL},
                                        .uid = "uid",
                                        .generation = 1,
                                        .has_finalizer = true,
                                        .spec = scene->spec,
                                        .status = &scene->status,
                                        .new_run_id = "newrun0001",
                                        .may_run = true,
                                        .memory = &scene->memory,
                                        .probes = &scene->probes};
    model_status_decode(NULL, &scene->status);
    for (int side = 0; side < MODEL_SIDES; side++) {
        scene_init_side(scene, (enum model_side)side);
        scene_declare(scene, (enum model_side)side, "00000");
    }
    scene_fresh(scene);
    return scene;
}

static inline void scene_free(struct scene *scene)
{
    if (scene->planned)
        verify_plan_clear(&scene->plan);
    model_status_clear(&scene->status);
    probes_free(&scene->probes);
    model_spec_free(scene->spec);
    free(scene);
}

/* ---------------------------------------------------------------- a run in the middle */

static inline void scene_switches_of(struct scene *scene, const struct verify_step *step)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        struct model_switches want;
        char five[MODEL_SWITCHES + 1] = "00000";
        if (!table_switches(scene->spec, step->row, (enum model_side)side, &want))
            continue;
        for (int i = 0; i < MODEL_SWITCHES; i++)
            five[i] = want.on[i] ? '1' : '0';
        scene_declare(scene, (enum model_side)side, five);
        scene_left(scene, (enum model_side)side, five);
    }
}

static inline void scene_start_offsets(struct scene *scene)
{
    struct model_run *run = &scene->status.run;
    run->partitions = SCENE_PARTITIONS;
    for (int side = 0; side < MODEL_SIDES; side++) {
        run->start_offsets[side] = dv_calloc(SCENE_PARTITIONS, sizeof(int64_t));
        scene_offsets_all(run->start_offsets[side], 100);
        scene->s.side[side].reader_at_ms = scene->s.now.mono_ms;
    }
    probes_init(&scene->probes, SCENE_RUN, SCENE_PARTITIONS);
}

/* Stages before it have passed; the switches of the step are declared and live, and everything is healthy. */
static inline void scene_at(struct scene *scene, enum model_stage stage, const char *step)
{
    struct model_run *run = &scene->status.run;
    struct verify_memory *m = &scene->memory;
    int64_t since = scene->s.now.mono_ms - SCENE_AGE;
    (void)dv_strlcpy(run->id, SCENE_RUN, sizeof run->id);
    (void)dv_strlcpy(run->spec_hash, scene->spec->hash, sizeof run->spec_hash);
    run->started_ms = scene->s.now.wall_ms - SCENE_AGE;
    scene->status.stage = stage;
    for (int i = 0; i < (int)stage; i++)
        scene->status.stages[i].state = STATE_PASSED;
    struct model_stage_status *st = &scene->status.stages[stage];
    *st = (struct model_stage_status){.state = STATE_RUNNING, .attempts = 1, .started_ms = scene->s.now.wall_ms - SCENE_AGE};
    (void)dv_strlcpy(st->step, step, sizeof st->step);
    *m = (struct verify_memory){
        .stage = stage, .step_since_ms = since, .stage_since_ms = since, .progress_ms = since, .pod_lives = {-1, -1}};
    (void)dv_strlcpy(m->run, SCENE_RUN, sizeof m->run);
    (void)dv_strlcpy(m->step, step, sizeof m->step);
    run->have_before[MODEL_A] = run->have_before[MODEL_B] = stage > STAGE_PREFLIGHT;
    assert_string_equal(table_step(stage, step)->name, step);
    scene_switches_of(scene, table_step(stage, step));
    if (stage > STAGE_INIT_B || (stage == STAGE_INIT_B && table_step(stage, step) >= table_step(stage, "Control")))
        scene_start_offsets(scene);
}

/* Produced, and seen by nobody yet. Returns its index. */
static inline size_t scene_batch(struct scene *scene, enum model_side side, enum model_stage stage, int32_t per_partition)
{
    struct model_run *run = &scene->status.run;
    struct model_batch *batch = &run->batches[run->batch_count];
    *batch = (struct model_batch){.side = side, .stage = stage, .per_partition = per_partition};
    (void)dv_format(batch->id, sizeof batch->id, "b%u", (unsigned)run->batch_count & 0xffffu);
    run->batch_count++;
    probes_sync(&scene->probes, run);
    return run->batch_count - 1;
}

/* A record that lies in the log is read. */
static inline void scene_read(struct scene *scene, enum model_side side, const struct fact_record *record)
{
    int64_t *end = &scene->side[side].test_log.high[record->partition];
    *end = *end <= record->offset ? record->offset + 1 : *end;
    probes_see(&scene->probes, side, record, scene->s.now.mono_ms);
}

/* One copy of every record of a batch, at offset, offset + 1, ... of each partition, with copy flags (NULL: none). */
static inline void scene_see(struct scene *scene, size_t batch, enum model_side side, int64_t offset, const char *flags)
{
    size_t count = 0;
    struct fact_record *records = probes_records(&scene->probes, batch, SCENE_WALL, 2, &count);
    int32_t per = scene->probes.batches[batch].per_partition;
    for (size_t i = 0; i < count; i++) {
        struct fact_record *record = &records[i];
        record->offset = offset + (int64_t)(i % (size_t)per);
        if (flags != NULL) {
            record->headers = dv_reallocarray(record->headers, record->header_count + 1, sizeof *record->headers);
            record->headers[record->header_count++] =
                (struct fact_header){.name = dv_strdup(PROBE_COPY_FLAGS), .value = (unsigned char *)dv_strdup(flags), .len = strlen(flags)};
        }
        scene_read(scene, side, record);
    }
    probes_records_free(records, count);
}

/* One copy on each side, as it should be: at 100 where it was born, at 200 far away. */
static inline size_t scene_copied(struct scene *scene, enum model_side born, enum model_stage stage, int32_t per_partition)
{
    size_t batch = scene_batch(scene, born, stage, per_partition);
    scene_see(scene, batch, born, 100, NULL);
    scene_see(scene, batch, model_far(born), 200, "\1");
    for (int side = 0; side < MODEL_SIDES; side++)
        scene_offsets_all(scene->side[side].md.high, 300);
    return batch;
}

/* ---------------------------------------------------------------- decide */

static inline void scene_link(struct scene *scene)
{
    for (int side = 0; side < MODEL_SIDES; side++) {
        struct scene_side *facts = &scene->side[side];
        size_t n = 0;
        for (int c = 0; c <= MODEL_CONNECTORS; c++)
            if (facts->there[c])
                facts->judged[n++] = (struct verify_connector){.fact = &facts->connector[c], .health = facts->health[c]};
        scene->s.side[side].connectors = facts->judged;
        scene->s.side[side].connector_count = n;
    }
}

static inline const struct verify_plan *scene_decide(struct scene *scene)
{
    if (scene->planned)
        verify_plan_clear(&scene->plan);
    scene_link(scene);
    verify_decide(&scene->s, &scene->plan);
    scene->planned = true;
    return &scene->plan;
}

/* As the controller does once the status is written. */
static inline void scene_adopt(struct scene *scene)
{
    model_status_clear(&scene->status);
    model_status_copy(&scene->status, &scene->plan.status);
    scene->memory = scene->plan.memory;
    if (scene->status.run.partitions > 0 && scene->probes.partitions == 0)
        probes_init(&scene->probes, scene->status.run.id, scene->status.run.partitions);
    if (scene->status.run.partitions > 0)
        probes_sync(&scene->probes, &scene->status.run);
}

/* A restart: only what the API server holds is left. */
static inline void scene_restart(struct scene *scene)
{
    json_t *json = model_status_encode(&scene->status, scene->spec);
    model_status_clear(&scene->status);
    model_status_decode(json, &scene->status);
    json_decref(json);
    memset(&scene->memory, 0, sizeof scene->memory);
}

/* The effect that the last plan asked for ended so. */
static inline void scene_effect(struct scene *scene, enum dv_err_kind kind)
{
    scene->memory.effect = kind == DV_ERR_NONE ? EFFECT_DONE : EFFECT_FAILED;
    scene->memory.effect_ms = scene->s.now.mono_ms;
    dv_err_clear(&scene->memory.effect_err);
    if (kind != DV_ERR_NONE)
        (void)dv_err_set(&scene->memory.effect_err, kind, "the effect failed");
}

/* ---------------------------------------------------------------- what is expected */

enum scene_want { WANT_STEP, WANT_FAILED, WANT_ERROR, WANT_INCONCLUSIVE, WANT_RETRY, WANT_STAGE, WANT_PASSED };

struct scene_case {
    const char *name;
    enum model_stage stage;
    const char *step;
    void (*change)(struct scene *scene);
    enum scene_want want;
    enum model_reason reason;
    const char *text; /* WANT_STEP, WANT_RETRY: the step afterwards; else part of the message */
};

static inline void scene_check_step(const struct scene_case *item, const struct verify_plan *plan, const char *step)
{
    if (!model_run_active(&plan->status) || plan->memory.stage != item->stage || !dv_streq(plan->memory.step, step))
        fail_msg("%s: want step %s, have %s/%s %s %s: %s", item->name, step, model_stage_name(plan->status.stage), plan->memory.step,
                 model_verdict_name(plan->status.result), model_reason_name(plan->status.stages[plan->status.stage].reason),
                 plan->status.stages[plan->status.stage].message);
}

static inline void scene_check_end(const struct scene_case *item, const struct verify_plan *plan, enum model_verdict verdict)
{
    const struct model_stage_status *st = &plan->status.stages[item->stage];
    if (plan->status.result != verdict || st->reason != item->reason || plan->status.run.finished_ms == 0)
        fail_msg("%s: want %s %s, have %s/%s %s %s: %s", item->name, model_verdict_name(verdict), model_reason_name(item->reason),
                 model_stage_name(plan->status.stage), plan->memory.step, model_verdict_name(plan->status.result),
                 model_reason_name(st->reason), st->message);
    if (item->text != NULL && strstr(st->message, item->text) == NULL)
        fail_msg("%s: \"%s\" is not in: %s", item->name, item->text, st->message);
}

static inline void scene_check(const struct scene_case *item, const struct verify_plan *plan)
{
    const struct model_stage_status *st = &plan->status.stages[item->stage];
    switch (item->want) {
    case WANT_STEP:
        scene_check_step(item, plan, item->text);
        assert_int_equal(st->attempts, 1);
        break;
    case WANT_RETRY:
        if (st->attempts != 2)
            fail_msg("%s: is not tried again: %s %s", item->name, model_reason_name(st->reason), st->message);
        scene_check_step(item, plan, item->text);
        break;
    case WANT_FAILED: scene_check_end(item, plan, MODEL_FAILED); break;
    case WANT_ERROR: scene_check_end(item, plan, MODEL_ERROR); break;
    case WANT_INCONCLUSIVE: scene_check_end(item, plan, MODEL_INCONCLUSIVE); break;
    case WANT_STAGE:
        if (st->state != STATE_PASSED || plan->status.stage != item->stage + 1)
            fail_msg("%s: stage has not passed, but waits in %s: %s%s", item->name, plan->memory.step, st->message, plan->waits_for);
        break;
    case WANT_PASSED: scene_check_end(item, plan, MODEL_PASSED); break;
    }
}

static inline bool scene_has_event(const struct verify_plan *plan, const char *reason)
{
    for (size_t i = 0; i < plan->event_count; i++)
        if (dv_streq(plan->events[i].reason, reason))
            return true;
    return false;
}

/* The one event of this reason; NULL: none, or more than one. */
static inline const struct verify_event *scene_event(const struct verify_plan *plan, const char *reason)
{
    const struct verify_event *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < plan->event_count; i++)
        if (dv_streq(plan->events[i].reason, reason) && ++count > 0)
            found = &plan->events[i];
    return count == 1 ? found : NULL;
}

static inline void scene_run_case(const struct scene_case *item)
{
    struct scene *scene = scene_new();
    scene->spec->on_loop = MODEL_LOOP_HOLD;
    scene_at(scene, item->stage, item->step);
    if (item->change != NULL)
        item->change(scene);
    scene_check(item, scene_decide(scene));
    scene_free(scene);
}

#define SCENE_RUN_CASES(list)                                        \
    for (size_t i_ = 0; i_ < sizeof(list) / sizeof((list)[0]); i_++) \
    scene_run_case(&(list)[i_])

#endif

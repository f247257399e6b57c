/* The status of a DistributionVerification as structs, and its JSON. This is all that survives a restart of the controller. */
#ifndef DV_MODEL_STATUS_H
#define DV_MODEL_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "model/reasons.h"
#include "model/spec.h"

enum model_stage {
    STAGE_PREFLIGHT,
    STAGE_INIT_A,
    STAGE_INIT_B,
    STAGE_MESSAGES_A_TO_B,
    STAGE_MESSAGES_BOTH_WAYS,
    STAGE_LAG_DRAINED,
    STAGE_OFFSETS_A_TO_B,
    STAGE_OFFSETS_B_TO_A,
    STAGE_PERSISTED,
};
#define MODEL_STAGES 9

enum model_state {
    STATE_PENDING,
    STATE_RUNNING,
    STATE_PASSED,
    STATE_FAILED,
    STATE_ERROR,
    STATE_INCONCLUSIVE,
    STATE_ABORTED,
    STATE_WAITING_FOR_APPROVAL,
    STATE_WAITING_FOR_VALUES,
};

struct model_stage_status {
    enum model_state state;
    char step[32];
    enum model_reason reason;
    char message[1024];
    int64_t started_ms; /* wall time here and below; 0: not yet */
    int64_t finished_ms;
    int attempts;
    json_t *evidence; /* object, or NULL; owned. Values in it are never changed once stored in a status that was handed out */
};

enum model_intent_kind { INTENT_NONE, INTENT_VALUES, INTENT_RECORDS, INTENT_COMMIT };

#define MODEL_PARTITIONS_MAX 500
#define MODEL_BATCHES_MAX 64

/* What is about to be done. Written before it is done; found again after a crash. */
struct model_intent {
    enum model_intent_kind kind;
    char id[16];
    enum model_side side;
    char hash[17]; /* of what is wanted */
    int64_t at_ms;
    int32_t partitions; /* of the two below; 0 for values and records */
    int64_t *offsets;   /* COMMIT: what is set, -1: left alone */
    int64_t *before;    /* COMMIT: far offsets before, -1: none */
};

/* Records produced under one intent: perPartition on every partition of the test topic of a side. */
struct model_batch {
    char id[8];
    enum model_side side;
    int32_t per_partition;
    enum model_stage stage;
    bool maybe; /* it is not known whether all of it was produced: at most one copy of each, none demanded */
};

struct model_run {
    char id[11]; /* "": no run yet */
    char spec_hash[17];
    int attempt;
    int resumes;
    int64_t started_ms;
    int64_t finished_ms;
    struct model_intent intent;
    int32_t partitions;                  /* of the start offsets; 0: not taken yet */
    int64_t *start_offsets[MODEL_SIDES]; /* log end of the test topic before the first record of the run */
    struct model_batch batches[MODEL_BATCHES_MAX];
    size_t batch_count;
    bool have_before[MODEL_SIDES];
    struct model_switches before[MODEL_SIDES];
    bool have_left[MODEL_SIDES];
    struct model_switches left[MODEL_SIDES]; /* what the run last declared, or the run before until this one writes */
    char left_of[MODEL_SIDES][17];           /* hash of where that was: model_target_hash() */
    int64_t written_ms[MODEL_SIDES];         /* when the values were last written by this run; 0: not yet */
    int64_t paused_ms;
    int64_t paused_at_ms;     /* suspended since then; 0: it is not */
    int64_t last_progress_ms; /* the last step ahead */
    int64_t disturbed_ms;     /* the last disturbance whose aftermath this stage may see; 0: none */
    int64_t logs_since_ms;    /* findings in logs count from here; 0: from the beginning of the stage */
    char fingerprint[17];
};

#define MODEL_CONDITIONS_MAX 12

struct model_condition {
    const char *type;   /* static */
    const char *status; /* "True", "False", "Unknown"; static */
    char reason[48];
    char message[256];
    int64_t transition_ms;
    int64_t observed_generation;
};

struct model_history {
    char run[11];
    enum model_verdict result;
    enum model_stage stage;
    enum model_reason reason;
    int64_t started_ms, finished_ms;
};
#define MODEL_HISTORY_MAX 5

#define MODEL_TOKEN_MAX 256 /* of lastHandledReverify, in bytes */

struct model_status {
    bool present; /* false: never written by us */
    int64_t observed_generation;
    enum model_stage stage;
    enum model_verdict result;
    char message[201];
    char last_handled_reverify[MODEL_TOKEN_MAX + 1];
    struct model_run run;
    struct model_stage_status stages[MODEL_STAGES];
    struct model_history history[MODEL_HISTORY_MAX]; /* newest first */
    size_t history_count;
    struct model_condition conditions[MODEL_CONDITIONS_MAX];
    size_t condition_count;
};

const char *model_stage_name(enum model_stage stage);
const char *model_state_name(enum model_state state);

/* A run is active from its start until it has a result. */
bool model_run_active(const struct model_status *status);
int model_stages_passed(const struct model_status *status);

/* Tolerant: what cannot be read is left out (a field of a later version must not stop an older controller). NULL or null: empty status. */
void model_status_decode(const json_t *json, struct model_status *status);
/* New object; caller decrefs. clusters give the names for intent.cluster. */
json_t *model_status_encode(const struct model_status *status, const struct model_spec *spec);
void model_status_copy(struct model_status *to, const struct model_status *from); /* to is overwritten, not freed */
void model_status_clear(struct model_status *status);
/* Quick: false may be wrong (then their JSON decides), true never is. */
bool model_status_same(const struct model_status *a, const struct model_status *b);

/* Appends to the object at stages[stage].evidence, which is made when absent; never changes an object that another status holds. */
json_t *model_evidence(struct model_status *status, enum model_stage stage);

#endif

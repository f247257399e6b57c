/* Any JSON as the status of a resource: what was read of it once is written and read again without a loss. */
#include "../support/fuzz.h"
#include "../support/json_damage.h"

#include "model/status.h"

static void check_texts(const struct model_status *status)
{
    MUST(status->stage >= STAGE_PREFLIGHT && status->stage <= STAGE_PERSISTED);
    MUST(status->run.batch_count <= MODEL_BATCHES_MAX && status->condition_count <= MODEL_CONDITIONS_MAX);
    MUST(status->history_count <= MODEL_HISTORY_MAX);
    MUST(status->run.partitions >= 0 && status->run.partitions <= MODEL_PARTITIONS_MAX);
    MUST(status->run.partitions == 0 || (status->run.start_offsets[MODEL_A] != NULL && status->run.start_offsets[MODEL_B] != NULL));
    MUST(status->run.intent.partitions == 0 || (status->run.intent.offsets != NULL && status->run.intent.before != NULL));
    for (int i = 0; i < MODEL_STAGES; i++)
        MUST(status->stages[i].evidence == NULL || json_is_object(status->stages[i].evidence));
}

/* Evidence of a copy is its own as soon as it is written to. */
static void check_copy(const struct model_status *status)
{
    struct model_status copy;
    model_status_copy(&copy, status);
    MUST(model_status_same(&copy, status));
    json_object_set_new(model_evidence(&copy, STAGE_LAG_DRAINED), "fuzz program", json_true());
    MUST(json_object_get(status->stages[STAGE_LAG_DRAINED].evidence, "fuzz program") == NULL);
    model_status_clear(&copy);
}

/* Texts of times and long texts may be cut the first time; from then on all of it stays. */
static void check(const json_t *json)
{
    struct model_status first, second, third;
    model_status_decode(json, &first);
    check_texts(&first);
    check_copy(&first);
    json_t *once = model_status_encode(&first, NULL);
    model_status_decode(once, &second);
    check_texts(&second);
    json_t *twice = model_status_encode(&second, NULL);
    MUST(json_equal(once, twice));
    char *dumped = json_dumps(twice, 0);
    MUST(dumped != NULL);
    json_t *parsed = json_loads(dumped, JSON_REJECT_DUPLICATES, NULL);
    MUST(json_equal(twice, parsed));
    model_status_decode(parsed, &third);
    MUST(model_status_same(&second, &third));
    free(dumped);
    json_decref(parsed);
    json_decref(once);
    json_decref(twice);
    model_status_clear(&first);
    model_status_clear(&second);
    model_status_clear(&third);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t state = fuzz_state(data, size);
    json_t *json = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
    check(json);
    for (int i = 0; json != NULL && i < 4; i++) {
        json_damage(json, &state);
        check(json);
    }
    json_decref(json);
    return 0;
}

/* Any JSON as a KafkaConnector, a KafkaConnect, a pod and a Job: nothing fails, what is read is in order, and the judgement fits it. */
#include "../support/fuzz.h"
#include "../support/json_damage.h"

#include "distributor/distributor.h"

static void check_judgement(const struct distributor_judgement *judgement)
{
    fuzz_must_be_plain(judgement->why);
    MUST(judgement->health >= DISTRIBUTOR_WAIT && judgement->health <= DISTRIBUTOR_OFF);
    MUST((judgement->health == DISTRIBUTOR_FAILED) == (judgement->fault != DISTRIBUTOR_FINE));
    MUST((judgement->health == DISTRIBUTOR_HEALTHY) == (judgement->why[0] == '\0'));
    MUST(judgement->task >= -1);
}

static void check_connector_texts(const struct fact_connector *connector)
{
    MUST(connector->name != NULL && connector->cluster != NULL && connector->uid != NULL && connector->not_ready_reason != NULL &&
         connector->class_name != NULL);
    fuzz_must_be_plain(connector->cause);
}

static void check_connector(const json_t *object)
{
    struct distributor_judgement judgement;
    struct fact_connector *connector = distributor_connector(object), *again = distributor_connector(object);
    check_connector_texts(connector);
    MUST(connector->tasks >= 0 && connector->tasks_running >= 0 && connector->tasks_failed >= 0);
    MUST(connector->tasks_running + connector->tasks_failed <= connector->tasks);
    MUST((connector->tasks_failed == 0) == (connector->first_failed_task == -1) || connector->first_failed_task >= 0);
    MUST(connector->restart_due_ms == 0 || connector->restart_due_ms >= connector->restarted_ms);
    MUST(connector->spec_hash == again->spec_hash && connector->workers == again->workers);
    for (int wanted = 0; wanted < 2; wanted++) {
        distributor_judge_connector(connector, wanted, 1, &judgement);
        check_judgement(&judgement);
        MUST(judgement.health != DISTRIBUTOR_HEALTHY || (wanted && connector->tasks > 0 && connector->tasks_running == connector->tasks));
        distributor_judge_connector(NULL, wanted, 1, &judgement);
        check_judgement(&judgement);
    }
    fact_connector_free(connector);
    fact_connector_free(again);
}

static void check_connect(const json_t *object)
{
    struct distributor_judgement judgement;
    struct fact_connect *connect = distributor_connect(object);
    MUST(connect->name != NULL && connect->not_ready_reason != NULL);
    fuzz_must_be_plain(connect->cause);
    for (size_t i = 0; i < connect->plugin_count; i++)
        MUST(connect->plugins[i] != NULL);
    distributor_judge_connect(connect, &judgement);
    check_judgement(&judgement);
    MUST(judgement.health != DISTRIBUTOR_HEALTHY || connect->ready);
    fact_connect_free(connect);
}

static void check_workload(const json_t *object)
{
    struct fact_pod *pod = distributor_pod(object);
    const json_t *spec = json_object_get(object, "spec");
    struct fact_job *job = distributor_job(object, json_object_get(spec, "selector"));
    MUST(pod->name != NULL && pod->uid != NULL && pod->connect != NULL && pod->container != NULL && pod->phase != NULL);
    MUST(job->name != NULL && job->uid != NULL && !(job->succeeded && job->failed));
    free(distributor_warnings(object));
    fact_pod_free(pod);
    fact_job_free(job);
}

static void check(const json_t *object)
{
    check_connector(object);
    check_connect(object);
    check_workload(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t state = fuzz_state(data, size);
    json_t *object = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
    check(object);
    for (int i = 0; object != NULL && i < 6; i++) {
        json_damage(object, &state);
        check(object);
    }
    json_decref(object);
    return 0;
}

/* Pods of Kafka Connect and Jobs. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "distributor/distributor.h"
#include "distributor/json.h"

/* ---------------------------------------------------------------- pods */

static const json_t *workload_named(const json_t *array, const char *name)
{
    size_t i = 0;
    const json_t *item = NULL;
    json_array_foreach(array, i, item)
    {
        if (distributor_json_is(json_object_get(item, "name"), name))
            return item;
    }
    return NULL;
}

/* Strimzi names it <cluster>-connect; a sidecar may stand before it. */
static char *pod_container(const char *connect, const json_t *containers)
{
    char *name = dv_asprintf("%s-connect", connect);
    if (workload_named(containers, name) != NULL || json_array_size(containers) == 0)
        return name;
    size_t i = 0;
    const json_t *container = NULL;
    const char *found = distributor_json_text(json_object_get(json_array_get(containers, 0), "name"));
    json_array_foreach(containers, i, container)
    {
        const char *text = distributor_json_text(json_object_get(container, "name"));
        if (dv_ends_with(text, "-connect"))
            found = text;
    }
    free(name);
    return dv_strdup(found != NULL ? found : "");
}

static const char *pod_bad_end(const json_t *state)
{
    const json_t *ended = json_object_get(state, "terminated");
    if (!json_is_object(ended) || distributor_json_int(json_object_get(ended, "exitCode"), 1) == 0)
        return NULL;
    const char *reason = distributor_json_text(json_object_get(ended, "reason"));
    return reason != NULL ? reason : "Error";
}

static const char *pod_container_trouble(const json_t *status, bool ready)
{
    const char *reason = distributor_json_text(distributor_json_at(status, "state", "waiting", "reason", NULL));
    if (reason == NULL)
        reason = pod_bad_end(json_object_get(status, "state"));
    if (reason == NULL && !ready)
        reason = pod_bad_end(json_object_get(status, "lastState"));
    return reason;
}

static const char *pod_init_trouble(const json_t *statuses)
{
    size_t i = 0;
    const json_t *status = NULL;
    json_array_foreach(statuses, i, status)
    {
        const char *reason = pod_container_trouble(status, false);
        if (reason != NULL)
            return reason;
    }
    return NULL;
}

/* Not scheduled, evicted: no container says so. */
static const char *pod_placement_trouble(const json_t *status)
{
    const json_t *condition = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(status, "conditions"), i, condition)
    {
        const char *reason = distributor_json_text(json_object_get(condition, "reason"));
        if (reason != NULL && distributor_json_is(json_object_get(condition, "type"), "PodScheduled") &&
            distributor_json_is(json_object_get(condition, "status"), "False"))
            return reason;
    }
    return distributor_json_text(json_object_get(status, "reason"));
}

static void pod_status(struct fact_pod *pod, const json_t *object)
{
    const json_t *status = json_object_get(object, "status");
    const json_t *own = workload_named(json_object_get(status, "containerStatuses"), pod->container);
    pod->ready = distributor_json_condition(object, "Ready") != NULL;
    pod->phase = distributor_json_dup(json_object_get(status, "phase"));
    pod->restarts = distributor_json_int(json_object_get(own, "restartCount"), 0);
    const char *trouble = pod->ready ? NULL : pod_init_trouble(json_object_get(status, "initContainerStatuses"));
    const char *contained = pod_container_trouble(own, pod->ready);
    /* "PodInitializing" says less than the init container that is being waited for */
    if (contained != NULL && (trouble == NULL || strcmp(contained, "PodInitializing") != 0))
        trouble = contained;
    if (trouble == NULL && !pod->ready)
        trouble = pod_placement_trouble(status);
    pod->waiting = dv_strdup(trouble);
}

struct fact_pod *distributor_pod(const json_t *object)
{
    struct fact_pod *pod = dv_alloc(sizeof *pod);
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *labels = json_object_get(metadata, "labels");
    pod->name = distributor_json_dup(json_object_get(metadata, "name"));
    pod->uid = distributor_json_dup(json_object_get(metadata, "uid"));
    pod->connect = distributor_json_dup(json_object_get(labels, "strimzi.io/cluster"));
    pod->is_connect = distributor_json_is(json_object_get(labels, "strimzi.io/kind"), "KafkaConnect");
    pod->deleting = json_is_string(json_object_get(metadata, "deletionTimestamp"));
    pod->container = pod_container(pod->connect, distributor_json_at(object, "spec", "containers", NULL));
    pod_status(pod, object);
    return pod;
}

/* ---------------------------------------------------------------- label selectors */

static bool selector_in(const json_t *values, const char *label)
{
    size_t i = 0;
    const json_t *value = NULL;
    json_array_foreach(values, i, value)
    {
        if (distributor_json_is(value, label))
            return true;
    }
    return false;
}

static bool selector_expression(const json_t *expression, const json_t *labels)
{
    const char *key = distributor_json_text(json_object_get(expression, "key"));
    const char *operation = distributor_json_text(json_object_get(expression, "operator"));
    const json_t *values = json_object_get(expression, "values");
    if (key == NULL || operation == NULL)
        return false;
    const char *label = distributor_json_text(json_object_get(labels, key));
    if (strcmp(operation, "In") == 0)
        return label != NULL && selector_in(values, label);
    if (strcmp(operation, "NotIn") == 0)
        return label == NULL || !selector_in(values, label);
    if (strcmp(operation, "Exists") == 0)
        return label != NULL;
    return strcmp(operation, "DoesNotExist") == 0 && label == NULL;
}

bool distributor_selector_matches(const json_t *label_selector, const json_t *labels)
{
    if (!json_is_object(label_selector))
        return false;
    void *iter = json_object_iter(json_object_get(label_selector, "matchLabels"));
    for (json_t *all = json_object_get(label_selector, "matchLabels"); iter != NULL; iter = json_object_iter_next(all, iter)) {
        const char *want = distributor_json_text(json_object_iter_value(iter));
        if (want == NULL || !distributor_json_is(json_object_get(labels, json_object_iter_key(iter)), want))
            return false;
    }
    size_t i = 0;
    const json_t *expression = NULL;
    json_array_foreach(json_object_get(label_selector, "matchExpressions"), i, expression)
    {
        if (!selector_expression(expression, labels))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- jobs */

struct fact_job *distributor_job(const json_t *object, const json_t *label_selector)
{
    struct fact_job *job = dv_alloc(sizeof *job);
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *failed = distributor_json_condition(object, "Failed");
    const char *created = distributor_json_text(json_object_get(metadata, "creationTimestamp"));
    job->name = distributor_json_dup(json_object_get(metadata, "name"));
    job->uid = distributor_json_dup(json_object_get(metadata, "uid"));
    if (created == NULL || dv_time_parse(created, &job->created_ms) != 0)
        job->created_ms = 0;
    job->failed = failed != NULL;
    job->succeeded = failed == NULL && distributor_json_condition(object, "Complete") != NULL;
    const char *message = distributor_json_text(json_object_get(failed, "message"));
    if (message == NULL)
        message = distributor_json_text(json_object_get(failed, "reason"));
    job->message = dv_strdup(message);
    job->matches = distributor_selector_matches(label_selector, json_object_get(metadata, "labels"));
    return job;
}

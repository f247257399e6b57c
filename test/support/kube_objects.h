/* Objects of the component tests of pkg/kube, in a namespace of their own. */
#ifndef DV_TEST_KUBE_OBJECTS_H
#define DV_TEST_KUBE_OBJECTS_H

#include "kube_harness.h"

#define NS "kube-component"

static inline const char *lab_env(const char *name)
{
    const char *value = getenv(name);
    if (value == NULL)
        fail_msg("%s is not set: source the lab's env", name);
    return value;
}

static inline struct heard *with_body(struct harness *h, enum port_verb verb, struct port_resource resource, json_t *body)
{
    struct heard *answer = harness_call(h, &(struct port_call){.verb = verb, .resource = resource, .body = body});
    json_decref(body);
    return answer;
}

static inline struct heard *created(struct harness *h, struct port_resource resource, json_t *body)
{
    struct heard *answer = with_body(h, PORT_CREATE, resource, body);
    if (answer->err.kind != DV_ERR_NONE && answer->err.kind != DV_ERR_CONFLICT)
        fail_msg("create %s: %s", resource.plural, answer->err.text);
    return answer;
}

static inline struct heard *deleted(struct harness *h, struct port_resource resource)
{
    return harness_call(h, &(struct port_call){.verb = PORT_DELETE, .resource = resource});
}

static inline void ensure_namespace(struct harness *h)
{
    struct port_resource resource = {.group = "", .plural = "namespaces", .name = NS};
    (void)created(h, resource, json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata", "name", NS));
}

static inline struct harness *opened_by(const char *kubeconfig)
{
    struct harness *h = harness_new();
    harness_open(h, kubeconfig);
    return h;
}

/* As the lab's administrator, with the namespace there. */
static inline struct harness *opened(void)
{
    struct harness *h = opened_by(lab_env("KUBECONFIG"));
    ensure_namespace(h);
    return h;
}

static inline struct port_resource configmap(const char *name)
{
    return (struct port_resource){.group = "", .plural = "configmaps", .ns = NS, .name = name};
}

static inline json_t *configmap_body(const char *name, const char *value)
{
    return json_pack("{s:s,s:s,s:{s:s,s:s,s:{s:s}},s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap", "metadata", "name", name,
                     "namespace", NS, "labels", "test", "yes", "data", "value", value);
}

static inline const char *version_of(const json_t *object)
{
    return json_string_value(json_object_get(json_object_get(object, "metadata"), "resourceVersion"));
}

#endif

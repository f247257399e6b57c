/* Reading a kubeconfig's YAML: a document with lookups that refuse what is ambiguous. For kubeconfig.c only. */
#ifndef DV_KUBE_KUBECONFIG_YAML_H
#define DV_KUBE_KUBECONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include <yaml.h>

#include "base/err.h"

/* One document, no deeper than 32, no key twice in one mapping. */
int kubeconfig_yaml_load(const char *text, size_t len, yaml_document_t *doc, struct dv_err *err);

/* NULL: absent or null. */
yaml_node_t *kubeconfig_yaml_member(yaml_document_t *doc, yaml_node_t *map, const char *key);
/* Scalar text, borrowed; NULL: absent, null or empty. Anything but a scalar is refused: -1. */
int kubeconfig_yaml_text(yaml_document_t *doc, yaml_node_t *map, const char *key, const char **out, struct dv_err *err);
int kubeconfig_yaml_bool(yaml_document_t *doc, yaml_node_t *map, const char *key, bool *out, struct dv_err *err);
/* The entry called name of the list under `list` ("clusters"), its part `part` ("cluster"). A name that stands twice is refused. */
int kubeconfig_yaml_entry(yaml_document_t *doc, const char *list, const char *part, const char *name, yaml_node_t **out,
                          struct dv_err *err);

#endif

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kube/room.h"

static void path_segment(struct dv_buf *out, const char *segment)
{
    DV_CLEANUP_FREE char *escaped = http_escape(segment);
    (void)dv_buf_addf(out, "/%s", escaped);
}

void kube_path_add(struct dv_buf *out, const struct port_resource *resource, const char *version)
{
    bool core = resource->group == NULL || resource->group[0] == '\0';
    (void)dv_buf_adds(out, core ? "/api" : "/apis");
    if (!core)
        path_segment(out, resource->group);
    path_segment(out, version);
    if (resource->ns != NULL) {
        (void)dv_buf_adds(out, "/namespaces");
        path_segment(out, resource->ns);
    }
    path_segment(out, resource->plural);
    if (resource->name != NULL)
        path_segment(out, resource->name);
    if (resource->subresource != NULL)
        path_segment(out, resource->subresource);
}

void kube_query_add(struct dv_buf *out, const char *name, const char *value)
{
    if (value == NULL)
        return;
    DV_CLEANUP_FREE char *escaped = http_escape(value);
    bool first = strchr(dv_buf_text(out), '?') == NULL;
    (void)dv_buf_addf(out, "%c%s=%s", first ? '?' : '&', name, escaped);
}

const char *kube_resource_text(const struct port_resource *resource, char *out)
{
    bool core = resource->group == NULL || resource->group[0] == '\0';
    return dv_format(out, KUBE_RESOURCE_TEXT, "%s%s%s%s%s%s%s%s%s", resource->plural, resource->subresource != NULL ? "/" : "",
                     resource->subresource != NULL ? resource->subresource : "", core ? "" : ".", core ? "" : resource->group,
                     resource->ns != NULL || resource->name != NULL ? " " : "", resource->ns != NULL ? resource->ns : "",
                     resource->ns != NULL && resource->name != NULL ? "/" : "", resource->name != NULL ? resource->name : "");
}

struct port_resource kube_resource_copy(const struct port_resource *resource)
{
    return (struct port_resource){.group = dv_strdup(resource->group != NULL ? resource->group : ""),
                                  .version = dv_strdup(resource->version),
                                  .plural = dv_strdup(resource->plural),
                                  .ns = dv_strdup(resource->ns),
                                  .name = dv_strdup(resource->name),
                                  .subresource = dv_strdup(resource->subresource)};
}

/* The members are const since ports.h lends them; these copies are ours. */
static void path_free(const char *text)
{
    free((void *)(uintptr_t)text);
}

void kube_resource_free(struct port_resource *resource)
{
    path_free(resource->group);
    path_free(resource->version);
    path_free(resource->plural);
    path_free(resource->ns);
    path_free(resource->name);
    path_free(resource->subresource);
    *resource = (struct port_resource){0};
}

struct port_server kube_server_ref_copy(const struct port_server *server)
{
    return (struct port_server){.ns = dv_strdup(server->ns), .secret = dv_strdup(server->secret), .key = dv_strdup(server->key)};
}

void kube_server_ref_free(struct port_server *server)
{
    path_free(server->ns);
    path_free(server->secret);
    path_free(server->key);
    *server = (struct port_server){0};
}

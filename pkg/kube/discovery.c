#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/mem.h"
#include "kube/server.h"

#define VERSIONS_MAX 16
#define VERSION_TEXT 64
#define STRIMZI_GROUP "kafka.strimzi.io"

struct kube_discovery {
    struct kube_discovery_cache *entry;
    struct kube_discovery *prev, *next;
    kube_discovery_done *done;
    void *arg;
};

/* One (group, plural) of a server. */
struct kube_discovery_cache {
    struct kube_server *server;
    struct kube_discovery_cache *next;
    char *group, *plural;
    char *version; /* found; NULL: not known */
    char versions[VERSIONS_MAX][VERSION_TEXT];
    size_t count, at; /* candidates, best first, and which one is asked for now */
    struct kube_request *request;
    struct kube_discovery *waiters;
};

static bool discovery_is_core(const struct port_resource *resource)
{
    return resource->group == NULL || resource->group[0] == '\0';
}

/* ---------------------------------------------------------------- order of versions */

/* Kubernetes' order: v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > anything else. */
static int64_t version_rank(const char *version)
{
    static const struct {
        const char *word;
        int64_t base;
    } kinds[] = {{"", 2000000}, {"beta", 1000000}, {"alpha", 0}};
    char number[VERSION_TEXT];
    int64_t major = 0;
    int64_t minor = 0;
    if (version[0] != 'v')
        return -1;
    size_t digits = strspn(version + 1, "0123456789");
    (void)dv_format(number, sizeof number, "%.*s", (int)digits, version + 1);
    if (dv_parse_i64(number, 1, 999, &major) != 0)
        return -1;
    const char *rest = version + 1 + digits;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t len = strlen(kinds[i].word);
        if (len == 0 && rest[0] == '\0')
            return kinds[i].base + major * 1000;
        if (len > 0 && dv_starts_with(rest, kinds[i].word) && dv_parse_i64(rest + len, 1, 999, &minor) == 0)
            return kinds[i].base + major * 1000 + minor;
    }
    return -1;
}

static void discovery_sort(struct kube_discovery_cache *entry)
{
    for (size_t i = 1; i < entry->count; i++)
        for (size_t k = i; k > 0 && version_rank(entry->versions[k]) > version_rank(entry->versions[k - 1]); k--) {
            char swap[VERSION_TEXT];
            memcpy(swap, entry->versions[k], sizeof swap);
            memcpy(entry->versions[k], entry->versions[k - 1], sizeof swap);
            memcpy(entry->versions[k - 1], swap, sizeof swap);
        }
}

/* Of Strimzi only the versions whose shapes the program knows. */
static bool discovery_is_wanted(const struct kube_discovery_cache *entry, const char *version)
{
    return !dv_streq(entry->group, STRIMZI_GROUP) || dv_streq(version, "v1") || dv_streq(version, "v1beta2");
}

static void discovery_take_group(struct kube_discovery_cache *entry, const json_t *group)
{
    size_t i;
    json_t *item;
    entry->count = 0;
    json_array_foreach(json_object_get(group, "versions"), i, item)
    {
        const char *version = json_string_value(json_object_get(item, "version"));
        if (version != NULL && strlen(version) < VERSION_TEXT && entry->count < VERSIONS_MAX && discovery_is_wanted(entry, version))
            (void)dv_strlcpy(entry->versions[entry->count++], version, VERSION_TEXT);
    }
    discovery_sort(entry);
}

static bool discovery_lists(const struct kube_discovery_cache *entry, const json_t *resources)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(resources, "resources"), i, item)
    {
        if (dv_streq(json_string_value(json_object_get(item, "name")), entry->plural))
            return true;
    }
    return false;
}

/* ---------------------------------------------------------------- the questions */

static void discovery_ask(struct kube_discovery_cache *entry, const char *version, void (*done)(void *, const struct http_answer *));
static void discovery_try(struct kube_discovery_cache *entry);

static void discovery_tell(struct kube_discovery_cache *entry, const struct dv_err *err)
{
    DV_CLEANUP_FREE char *version = dv_strdup(entry->version); /* whoever is told may forget it again */
    size_t count = 0;
    struct kube_discovery *each = NULL;
    DL_COUNT(entry->waiters, each, count);
    for (; count > 0 && entry->waiters != NULL; count--) {
        struct kube_discovery waiter = *entry->waiters;
        kube_discovery_cancel(entry->waiters);
        waiter.done(waiter.arg, err, version);
    }
}

static struct port_resource discovery_resource(const struct kube_discovery_cache *entry)
{
    return (struct port_resource){.group = entry->group, .plural = entry->plural};
}

static int discovery_check(struct kube_discovery_cache *entry, const struct http_answer *answer, json_t **json, struct dv_err *err)
{
    struct port_resource resource = discovery_resource(entry);
    if (kube_answer_check(answer, kube_server_name(entry->server), "discover", &resource, err) != 0)
        return -1;
    *json = kube_json(answer->body, answer->body_len, err);
    return *json != NULL ? 0 : -1;
}

static void discovery_none(struct kube_discovery_cache *entry)
{
    struct dv_err err = DV_ERR_INIT;
    (void)dv_err_retry(&err, DV_ERR_UNSUPPORTED, "%s does not serve %s.%s in a version known here; install its CRD",
                       kube_server_name(entry->server), entry->plural, entry->group);
    err.code = 404;
    discovery_tell(entry, &err);
}

static void discovery_version_done(void *arg, const struct http_answer *answer)
{
    struct kube_discovery_cache *entry = arg;
    struct dv_err err = DV_ERR_INIT;
    json_t *json = NULL;
    entry->request = NULL;
    int rc = discovery_check(entry, answer, &json, &err);
    bool listed = rc == 0 && discovery_lists(entry, json);
    json_decref(json);
    if (rc != 0 && answer->status != 404) {
        discovery_tell(entry, &err);
    } else if (listed) {
        free(entry->version);
        entry->version = dv_strdup(entry->versions[entry->at]);
        discovery_tell(entry, &err);
    } else {
        entry->at++;
        discovery_try(entry);
    }
}

static void discovery_try(struct kube_discovery_cache *entry)
{
    if (entry->at < entry->count)
        discovery_ask(entry, entry->versions[entry->at], discovery_version_done);
    else
        discovery_none(entry);
}

static void discovery_group_done(void *arg, const struct http_answer *answer)
{
    struct kube_discovery_cache *entry = arg;
    struct dv_err err = DV_ERR_INIT;
    json_t *json = NULL;
    entry->request = NULL;
    if (discovery_check(entry, answer, &json, &err) == 0) {
        discovery_take_group(entry, json);
        json_decref(json);
        entry->at = 0;
        discovery_try(entry);
    } else if (answer->status == 404) {
        discovery_none(entry);
    } else {
        discovery_tell(entry, &err);
    }
}

static void discovery_ask(struct kube_discovery_cache *entry, const char *version, void (*done)(void *, const struct http_answer *))
{
    struct dv_buf target = DV_BUF_INIT(1024);
    DV_CLEANUP_FREE char *group = http_escape(entry->group);
    (void)dv_buf_addf(&target, "/apis/%s", group);
    if (version != NULL) {
        DV_CLEANUP_FREE char *escaped = http_escape(version);
        (void)dv_buf_addf(&target, "/%s", escaped);
    }
    struct kube_request_spec spec = {
        .method = "GET", .target = dv_buf_text(&target), .timeout_ms = KUBE_CALL_MS, .on_done = done, .arg = entry};
    entry->request = kube_request_start(entry->server, &spec);
    dv_buf_free(&target);
}

/* ---------------------------------------------------------------- outside */

static struct kube_discovery_cache *discovery_find(struct kube_server *server, const struct port_resource *resource)
{
    for (struct kube_discovery_cache *entry = *kube_server_discovery(server); entry != NULL; entry = entry->next)
        if (dv_streq(entry->group, resource->group) && dv_streq(entry->plural, resource->plural))
            return entry;
    return NULL;
}

const char *kube_discovery_known(struct kube_server *server, const struct port_resource *resource)
{
    if (resource->version != NULL)
        return resource->version;
    if (discovery_is_core(resource))
        return "v1";
    const struct kube_discovery_cache *entry = discovery_find(server, resource);
    return entry != NULL ? entry->version : NULL;
}

static struct kube_discovery_cache *discovery_new(struct kube_server *server, const struct port_resource *resource)
{
    struct kube_discovery_cache *entry = dv_alloc(sizeof *entry);
    struct kube_discovery_cache **head = kube_server_discovery(server);
    entry->server = server;
    entry->group = dv_strdup(resource->group);
    entry->plural = dv_strdup(resource->plural);
    entry->next = *head;
    *head = entry;
    return entry;
}

struct kube_discovery *kube_discovery_start(struct kube_server *server, const struct port_resource *resource, kube_discovery_done *done,
                                            void *arg)
{
    struct kube_discovery_cache *entry = discovery_find(server, resource);
    if (entry == NULL)
        entry = discovery_new(server, resource);
    struct kube_discovery *waiter = dv_alloc(sizeof *waiter);
    *waiter = (struct kube_discovery){.entry = entry, .done = done, .arg = arg};
    DL_APPEND(entry->waiters, waiter);
    if (entry->request == NULL)
        discovery_ask(entry, NULL, discovery_group_done);
    return waiter;
}

void kube_discovery_cancel(struct kube_discovery *waiter)
{
    if (waiter == NULL)
        return;
    DL_DELETE(waiter->entry->waiters, waiter);
    free(waiter);
}

void kube_discovery_forget(struct kube_server *server, const struct port_resource *resource)
{
    struct kube_discovery_cache *entry = discovery_is_core(resource) ? NULL : discovery_find(server, resource);
    if (entry == NULL)
        return;
    free(entry->version);
    entry->version = NULL;
}

void kube_discovery_free(struct kube_discovery_cache *cache)
{
    while (cache != NULL) {
        struct kube_discovery_cache *next = cache->next;
        kube_request_cancel(cache->request);
        while (cache->waiters != NULL)
            kube_discovery_cancel(cache->waiters);
        free(cache->group);
        free(cache->plural);
        free(cache->version);
        free(cache);
        cache = next;
    }
}

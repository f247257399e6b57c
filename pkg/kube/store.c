#include "kube/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NS_TEXT 64
#define KEY_TEXT 512

static size_t store_key(char *out, const char *ns, const char *name)
{
    return strlen(dv_format(out, KEY_TEXT, "%s/%s", ns, name));
}

struct kube_store_entry *kube_store_find(const struct kube_store *store, const char *ns, const char *name)
{
    char key[KEY_TEXT];
    size_t len = store_key(key, ns, name);
    struct kube_store_entry *entry = NULL;
    HASH_FIND(hh, store->entries, key, len, entry);
    return entry;
}

static struct kube_store_entry *store_add(struct kube_store *store, const char *ns, const char *name)
{
    char key[KEY_TEXT];
    size_t len = store_key(key, ns, name);
    struct kube_store_entry *entry = dv_alloc(sizeof *entry + len + 1);
    memcpy(entry->key, key, len + 1);
    entry->name_at = strlen(ns) + 1 <= len ? strlen(ns) + 1 : len;
    HASH_ADD_KEYPTR(hh, store->entries, entry->key, len, entry);
    return entry;
}

bool kube_store_put(struct kube_store *store, const char *ns, const char *name, const char *version, const json_t *object)
{
    struct kube_store_entry *entry = kube_store_find(store, ns, name);
    if (entry == NULL)
        entry = store_add(store, ns, name);
    entry->generation = store->generation;
    bool differs = !dv_streq(entry->version, version);
    if (differs) {
        free(entry->version);
        entry->version = dv_strdup(version);
    }
    if (store->keep_text && (differs || entry->text == NULL)) {
        free(entry->text);
        entry->text = json_dumps(object, JSON_COMPACT);
    }
    return differs;
}

void kube_store_remove(struct kube_store *store, struct kube_store_entry *entry)
{
    HASH_DEL(store->entries, entry);
    free(entry->version);
    free(entry->text);
    free(entry);
}

struct kube_store_entry *kube_store_old(const struct kube_store *store)
{
    for (struct kube_store_entry *entry = store->entries; entry != NULL; entry = entry->hh.next)
        if (entry->generation != store->generation)
            return entry;
    return NULL;
}

const char *kube_store_ns(const struct kube_store_entry *entry, char *out)
{
    return dv_format(out, NS_TEXT, "%.*s", (int)entry->name_at - 1, entry->key);
}

void kube_store_free(struct kube_store *store)
{
    while (store->entries != NULL)
        kube_store_remove(store, store->entries);
}

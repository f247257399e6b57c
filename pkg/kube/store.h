/* What a watch knows: per object its resourceVersion and, where several read it, its compact JSON text. */
#ifndef DV_KUBE_STORE_H
#define DV_KUBE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uthash.h>

struct kube_store_entry {
    UT_hash_handle hh;
    uint32_t generation;
    char *version;  /* resourceVersion */
    char *text;     /* NULL unless kept */
    size_t name_at; /* key + name_at is the name; key is "ns/name", "/name" for cluster-scoped ones */
    char key[];
};

struct kube_store {
    struct kube_store_entry *entries;
    bool keep_text;
    uint32_t generation; /* of the list under way: entries it did not meet are swept at its end */
};

/* True when the object is new or another version than before. ns may be "". */
bool kube_store_put(struct kube_store *store, const char *ns, const char *name, const char *version, const json_t *object);
struct kube_store_entry *kube_store_find(const struct kube_store *store, const char *ns, const char *name);
void kube_store_remove(struct kube_store *store, struct kube_store_entry *entry);
/* One entry of an older generation, NULL when there is none left. */
struct kube_store_entry *kube_store_old(const struct kube_store *store);
/* The namespace part of the key, "" when there is none; out holds 64 bytes. */
const char *kube_store_ns(const struct kube_store_entry *entry, char *out);
void kube_store_free(struct kube_store *store);

#endif

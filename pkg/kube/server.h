/* API servers by reference (the own one, or a kubeconfig in a Secret of it) and requests on them with credentials put in.
 *
 * Servers with one identity share one link: one pool of connections. A Secret is got by name on the first request, and again when the
 * server refuses the credentials (401), cannot be reached or verified, and when it was read five minutes ago; the own kubeconfig and
 * token file after a 401.
 */
#ifndef DV_KUBE_SERVER_H
#define DV_KUBE_SERVER_H

#include "kube/kubeconfig.h"
#include "kube/room.h"

struct kube_request;

struct kube_request_spec {
    const char *method;
    const char *target; /* copied */
    const char *accept; /* NULL: JSON */
    const char *content_type;
    const char *body; /* copied, wiped after use */
    size_t body_len;
    int64_t timeout_ms, stall_ms;
    bool urgent; /* never waits behind other requests */
    size_t max_body;
    void (*on_data)(void *arg, const char *bytes, size_t len); /* set: a stream */
    void (*on_head)(void *arg, int status, const char *content_type);
    /* answer.err may also say why there are no credentials: SECRET, INVALID, CERT, DENIED, ... */
    void (*on_done)(void *arg, const struct http_answer *answer);
    void *arg;
};

/* server lives as long as kube. ref->ns NULL: the own one. */
struct kube_server *kube_server_get(struct kube *kube, const struct port_server *ref);
const char *kube_server_name(const struct kube_server *server); /* "host:port", or the Secret as long as that is not known */
/* Goes up when the server is another one than before: resourceVersions from before mean nothing then. */
unsigned int kube_server_epoch(const struct kube_server *server);

/* Never calls back from within. The request is gone when on_done returns. */
struct kube_request *kube_request_start(struct kube_server *server, const struct kube_request_spec *spec);
void kube_request_cancel(struct kube_request *request); /* takes NULL; not from within its own on_done */

/* The own server, from kubeconfig or service account. */
int kube_server_own(struct kube *kube, struct dv_err *err);
/* A test's peer with this identity, which it takes over. */
int kube_server_own_identity(struct kube *kube, struct kube_identity *identity, struct dv_err *err);
void kube_servers_free(struct kube *kube);

/* ---------------------------------------------------------------- link.c: one identity, one pool */

struct kube_link {
    struct kube *kube;
    struct kube_link *next;
    size_t refs;
    struct kube_identity identity;
    struct http_peer *peer;
    char *token; /* of the token file */
    int64_t token_read_ms, token_looked_ms;
    int64_t token_mtime_ns;
    size_t token_inode;
};

/* Finds or makes; takes the identity over, also on failure. */
struct kube_link *kube_link_get(struct kube *kube, struct kube_identity *identity, struct dv_err *err);
void kube_link_unref(struct kube_link *link);
struct http_call *kube_link_start(struct kube_link *link, const struct kube_request_spec *spec);
/* Reads the token file at once; true when there is another token now. */
bool kube_link_renew_token(struct kube_link *link);

/* ---------------------------------------------------------------- discovery.c: which version is served */

struct kube_discovery;
/* Version of the resource that is known already, NULL when none is. A version given or the core group needs no discovery. */
const char *kube_discovery_known(struct kube_server *server, const struct port_resource *resource);
typedef void kube_discovery_done(void *arg, const struct dv_err *err, const char *version);
/* One question for all who ask the same at once. UNSUPPORTED (retry) when no version has the resource. */
struct kube_discovery *kube_discovery_start(struct kube_server *server, const struct port_resource *resource, kube_discovery_done *done,
                                            void *arg);
void kube_discovery_cancel(struct kube_discovery *waiter); /* takes NULL; not once done began */
/* The known version answered that it is not served: ask again next time. */
void kube_discovery_forget(struct kube_server *server, const struct port_resource *resource);
struct kube_discovery_cache;
struct kube_discovery_cache **kube_server_discovery(struct kube_server *server);
void kube_discovery_free(struct kube_discovery_cache *cache);

#endif

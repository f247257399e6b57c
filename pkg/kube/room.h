/* What the files of this room share: the root object, periods, back-off, addresses of resources, answers as errors. */
#ifndef DV_KUBE_ROOM_H
#define DV_KUBE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "loop/http.h"
#include "loop/loop.h"
#include "model/ports.h"

struct kube_server;
struct kube_link;
struct kube_watcher;
struct kube_lease;
struct kube_calls;
struct kube_logs;

struct kube {
    struct loop *loop;
    char *user_agent;
    char *kubeconfig; /* path, or NULL: in-cluster */
    char *account_dir;
    char *ns;
    port_kube_sink *sink;
    void *arg;
    int64_t periods_div; /* 1 in release builds */
    struct kube_server *own, *servers;
    struct kube_link *links;
    struct kube_watcher *watchers;
    struct kube_subscriptions *subscriptions;
    struct kube_calls *calls;
    struct kube_logs *logs;
    struct kube_lease *lease;
    struct port_kube port;
    struct port_secrets secrets;
    struct kube_secret_get *secret_gets;
};

/* ---------------------------------------------------------------- periods.c */

#define KUBE_CALL_MS 30000 /* for an ordinary request */

/* Shortened by DISTVERIFY_PERIODS_DIV in test builds, at least 1. Not for stall timers and the Lease. */
int64_t kube_period(const struct kube *kube, int64_t ms);
int64_t kube_periods_div_from_env(void);

/* Between 0.5 s and 30 s, doubling, up to half more at random so that many clients spread; at least what the server asked for, of
 * which a minute counts at most. */
struct kube_backoff {
    unsigned int tries; /* set to 0 after a success */
};
int64_t kube_backoff_next(const struct kube *kube, struct kube_backoff *backoff, int64_t retry_after_ms);

/* ---------------------------------------------------------------- path.c */

/* "/apis/group/version/namespaces/ns/plural/name/sub"; version must be known. */
void kube_path_add(struct dv_buf *out, const struct port_resource *resource, const char *version);
/* "?a=b" or "&a=b", the value escaped; nothing when value is NULL. */
void kube_query_add(struct dv_buf *out, const char *name, const char *value);
/* "kafkaconnects.kafka.strimzi.io kafka/dc1" for messages. */
#define KUBE_RESOURCE_TEXT 256
const char *kube_resource_text(const struct port_resource *resource, char *out);

/* Owned copies of what a caller lent. */
struct port_resource kube_resource_copy(const struct port_resource *resource);
void kube_resource_free(struct port_resource *resource);
struct port_server kube_server_ref_copy(const struct port_server *server);
void kube_server_ref_free(struct port_server *server);

/* ---------------------------------------------------------------- answer.c */

/* 0 when the answer is a 2xx of an API server in JSON; else err says what was asked of whom (verb: "get", "watch", ...), with the HTTP
 * status as code. UNSUPPORTED: the resource type is not served there (now). */
int kube_answer_check(const struct http_answer *answer, const char *server, const char *verb, const struct port_resource *resource,
                      struct dv_err *err);
/* The same for a Status that came as an ERROR event of a watch; status is its JSON text. */
void kube_status_error(const char *status, size_t len, const char *server, const char *verb, const struct port_resource *resource,
                       struct dv_err *err);
bool kube_is_json(const char *content_type);
/* Integers beyond 64 bits become reals, duplicates are refused. NULL with err. */
json_t *kube_json(const char *text, size_t len, struct dv_err *err);

#endif

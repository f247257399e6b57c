/* The Kubernetes port: requests, shared watches, logs, Secrets and the Lease, all on the loop. See model/ports.h for the contract.
 *
 * Beyond that contract: TROUBLE of a watch comes once for each kind of trouble, and SYNCED comes again when the watch is open again.
 * A call that is refused by a busy server (429, 503 with Retry-After) is tried again within its 30 s.
 */
#ifndef DV_KUBE_KUBE_H
#define DV_KUBE_KUBE_H

#include "base/err.h"
#include "loop/loop.h"
#include "model/ports.h"

struct kube;

struct kube_options {
    const char *kubeconfig;  /* path; NULL or "": the service account of the pod. $KUBECONFIG is not looked at */
    const char *account_dir; /* NULL: where Kubernetes mounts it */
    const char *user_agent;  /* "distverify/1.0" */
};

/* Reads the credentials and opens nothing yet. NULL with one sentence (INVALID, CERT). The sink is called from the loop only. */
struct kube *kube_new(struct loop *loop, const struct kube_options *options, port_kube_sink *sink, void *arg, struct dv_err *err);
/* Ends everything without a callback; releases no Lease (kube_lease_stop() first). Not from within the sink. Takes NULL. */
void kube_free(struct kube *kube);

const struct port_kube *kube_port(struct kube *kube);
const struct port_secrets *kube_secrets(struct kube *kube);
/* Namespace of the context or of the service account; NULL when neither says one. */
const char *kube_namespace(const struct kube *kube);
const char *kube_server_address(const struct kube *kube); /* "host:port" of the own API server */

struct kube_lease_options {
    const char *ns;
    const char *name;
    const char *identity; /* who we are, unique per process */
    /* acquired: once. lost: once, after acquired, when it was not renewed for 10 s or somebody else holds it: end the process. */
    void (*on_acquired)(void *arg);
    void (*on_lost)(void *arg, const struct dv_err *err);
    /* While waiting, when it changes: who holds it, or why the Lease cannot be read or written (holder NULL; the same again every
     * minute). May be NULL. */
    void (*on_waiting)(void *arg, const char *holder, const struct dv_err *err);
    void *arg;
};

/* 15 s long, renewed every 2 s. From here on port lease_left_ms says how long it surely lasts. Once per kube. */
void kube_lease_start(struct kube *kube, const struct kube_lease_options *options);
/* Gives it back when it is ours, so that the next one need not wait; done comes once, later, at most 3 s from now; at
 * once when there is no Lease. */
void kube_lease_stop(struct kube *kube, void (*done)(void *arg), void *arg);

#endif

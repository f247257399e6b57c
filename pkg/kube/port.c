/* The room's front: one root object behind struct port_kube and struct port_secrets. */
#include <stdlib.h>

#include "base/mem.h"
#include "kube/call.h"
#include "kube/kube.h"
#include "kube/lease.h"
#include "kube/podlog.h"
#include "kube/room.h"
#include "kube/secrets.h"
#include "kube/server.h"
#include "kube/watcher.h"

static void port_call_start(void *impl, port_id id, const struct port_call *call)
{
    kube_call_start(impl, id, call);
}

static void port_watch_start(void *impl, port_id id, const struct port_watch *watch)
{
    kube_watch_start(impl, id, watch);
}

static void port_watch_stop(void *impl, port_id id)
{
    kube_watch_stop(impl, id);
}

static void port_log_start(void *impl, port_id id, const struct port_log *log)
{
    kube_log_start(impl, id, log);
}

static void port_log_stop(void *impl, port_id id)
{
    kube_log_stop(impl, id);
}

static int64_t port_lease_left(void *impl)
{
    return kube_lease_left_ms(impl);
}

static void port_secrets_get(void *impl, const char *ns, const struct port_secret_item *items, size_t count, port_secret_done *done,
                             void *arg)
{
    (void)kube_secret_get_start(impl, ns, items, count, done, arg);
}

struct kube *kube_new(struct loop *loop, const struct kube_options *options, port_kube_sink *sink, void *arg, struct dv_err *err)
{
    struct kube *kube = dv_alloc(sizeof *kube);
    bool has_file = options->kubeconfig != NULL && options->kubeconfig[0] != '\0';
    kube->loop = loop;
    kube->sink = sink;
    kube->arg = arg;
    kube->user_agent = dv_strdup(options->user_agent);
    kube->kubeconfig = has_file ? dv_strdup(options->kubeconfig) : NULL;
    kube->account_dir = dv_strdup(options->account_dir);
    kube->periods_div = kube_periods_div_from_env();
    kube->port = (struct port_kube){.impl = kube,
                                    .call = port_call_start,
                                    .watch = port_watch_start,
                                    .watch_stop = port_watch_stop,
                                    .log = port_log_start,
                                    .log_stop = port_log_stop,
                                    .lease_left_ms = port_lease_left};
    kube->secrets = (struct port_secrets){.impl = kube, .get = port_secrets_get};
    if (kube_server_own(kube, err) == 0)
        return kube;
    kube_free(kube);
    return NULL;
}

void kube_free(struct kube *kube)
{
    if (kube == NULL)
        return;
    kube_lease_free(kube);
    kube_logs_free(kube);
    kube_watchers_free(kube);
    kube_calls_free(kube);
    kube_secret_gets_free(kube);
    kube_servers_free(kube);
    free(kube->user_agent);
    free(kube->kubeconfig);
    free(kube->account_dir);
    free(kube->ns);
    free(kube);
}

const struct port_kube *kube_port(struct kube *kube)
{
    return &kube->port;
}

const struct port_secrets *kube_secrets(struct kube *kube)
{
    return &kube->secrets;
}

const char *kube_namespace(const struct kube *kube)
{
    return kube->ns;
}

const char *kube_server_address(const struct kube *kube)
{
    return kube_server_name(kube->own);
}

/* The controller program: flags, wiring, exit code. 0 clean stop, 1 configuration, 2 lost lease, 3 internal. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "controller/controller.h"
#include "kafka/kafka.h"
#include "kube/kube.h"
#include "loop/loop.h"
#include "web/web.h"

#ifndef DV_VERSION
#define DV_VERSION "unversioned"
#endif

enum exit_code { EXIT_CLEAN = 0, EXIT_CONFIGURATION = 1, EXIT_LOST_LEASE = 2, EXIT_INTERNAL = 3 };

struct flags {
    const char *kubeconfig;
    const char *ns;
    const char *lease; /* "namespace/name" or "name"; NULL: none */
    const char *metrics_addr;
    int64_t max_runs;
    enum dv_log_level log_level;
    bool json;
    bool allow_cross_namespace;
    bool version;
};

struct program {
    struct flags flags;
    struct loop *loop;
    struct loop_timer *timer;
    struct kube *kube;
    struct kafka *kafka;
    struct web *web;
    struct controller *controller;
    uv_signal_t term, interrupt;
    char instance[128];
    char lease_ns[128];
    enum exit_code code;
    bool stopping;
};

static const char usage[] =
    "distverify-controller: verifies Axual distribution between Kafka clusters, one DistributionVerification at a time\n"
    "  --kubeconfig <file>       credentials; without it those of the pod\n"
    "  --namespace <name>        watch this namespace only; without it all\n"
    "  --lease <[ns/]name>       hold this Lease before doing anything, so that only one controller works\n"
    "  --max-runs <n>            runs at a time (8)\n"
    "  --metrics-addr <ip:port>  /healthz, /readyz and /metrics (127.0.0.1:8080); :port for every address, \"\" for none\n"
    "  --log-level <level>       debug, info, warn or error (info)\n"
    "  --log-format <format>     text or json (text)\n"
    "  --allow-cross-namespace   a resource may name values in other namespaces that allow it\n"
    "  --version                 print the version\n";

/* ---------------------------------------------------------------- flags */

enum option_id {
    OPT_KUBECONFIG = 256,
    OPT_NAMESPACE,
    OPT_LEASE,
    OPT_MAX_RUNS,
    OPT_METRICS,
    OPT_LEVEL,
    OPT_FORMAT,
    OPT_CROSS,
    OPT_VERSION,
    OPT_HELP
};

static int main_bad(const char *flag, const char *value, const char *want)
{
    (void)fprintf(stderr, "distverify-controller: --%s %s: must be %s\n", flag, value, want);
    return -1;
}

/* "[namespace/]name", each a name that an API server takes. */
static bool main_name_usable(const char *lease)
{
    const char *slash = strchr(lease, '/');
    const char *name = slash != NULL ? slash + 1 : lease;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    bool ns_good = slash == NULL || (slash > lease && strspn(lease, letters) == (size_t)(slash - lease));
    return ns_good && name[0] != '\0' && strspn(name, letters) == strlen(name);
}

static int main_flag(struct flags *flags, int option)
{
    switch (option) {
    case OPT_KUBECONFIG: flags->kubeconfig = optarg; return 0;
    case OPT_NAMESPACE:
        flags->ns = optarg;
        return main_name_usable(optarg) && strchr(optarg, '/') == NULL ? 0 : main_bad("namespace", optarg, "the name of a namespace");
    case OPT_LEASE:
        flags->lease = optarg;
        return main_name_usable(optarg) ? 0 : main_bad("lease", optarg, "[namespace/]name, each in lower case");
    case OPT_METRICS: flags->metrics_addr = optarg; return 0;
    case OPT_CROSS: flags->allow_cross_namespace = true; return 0;
    case OPT_VERSION: flags->version = true; return 0;
    case OPT_MAX_RUNS:
        return dv_parse_i64(optarg, 1, 1000, &flags->max_runs) == 0 ? 0 : main_bad("max-runs", optarg, "a number from 1 to 1000");
    case OPT_LEVEL:
        return dv_log_level_parse(optarg, &flags->log_level) == 0 ? 0 : main_bad("log-level", optarg, "debug, info, warn or error");
    case OPT_FORMAT:
        flags->json = dv_streq(optarg, "json");
        return flags->json || dv_streq(optarg, "text") ? 0 : main_bad("log-format", optarg, "text or json");
    default: (void)fputs(usage, stderr); return -1;
    }
}

static int main_flags(int argc, char **argv, struct flags *flags)
{
    static const struct option options[] = {
        {"kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
        {"namespace", required_argument, NULL, OPT_NAMESPACE},
        {"lease", required_argument, NULL, OPT_LEASE},
        {"max-runs", required_argument, NULL, OPT_MAX_RUNS},
        {"metrics-addr", required_argument, NULL, OPT_METRICS},
        {"log-level", required_argument, NULL, OPT_LEVEL},
        {"log-format", required_argument, NULL, OPT_FORMAT},
        {"allow-cross-namespace", no_argument, NULL, OPT_CROSS},
        {"version", no_argument, NULL, OPT_VERSION},
        {"help", no_argument, NULL, OPT_HELP},
        {NULL, 0, NULL, 0},
    };
    for (int option = 0; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == OPT_HELP) {
            (void)fputs(usage, stdout);
            exit(EXIT_CLEAN);
        }
        if (main_flag(flags, option) != 0)
            return -1;
    }
    if (optind == argc)
        return 0;
    (void)fprintf(stderr, "distverify-controller: unknown argument %s\n", argv[optind]);
    return -1;
}

/* ---------------------------------------------------------------- wiring */

static struct dv_now main_clock(void *arg)
{
    (void)arg;
    return dv_clock_now();
}

static void main_turn(void *arg)
{
    struct program *program = arg;
    int64_t next = controller_run(program->controller);
    if (next == INT64_MAX)
        return;
    int64_t after = next - dv_clock_now().mono_ms;
    loop_timer_set(program->timer, after > 0 ? after : 0);
}

static void main_wake(void *arg)
{
    struct program *program = arg;
    loop_timer_set(program->timer, 0);
}

static void main_ready(void *arg, bool ready, const char *why)
{
    struct program *program = arg;
    if (program->web != NULL)
        web_set_ready(program->web, ready, why);
}

static void main_end(struct program *program, enum exit_code code)
{
    program->code = code;
    loop_stop(program->loop);
}

static void main_released(void *arg)
{
    main_end(arg, EXIT_CLEAN);
}

static void main_signal(uv_signal_t *handle, int signum)
{
    struct program *program = handle->data;
    (void)signum;
    if (program->stopping) {
        main_end(program, EXIT_CLEAN);
        return;
    }
    program->stopping = true;
    dv_log(DV_LOG_INFO, "stopping", NULL);
    if (program->flags.lease != NULL)
        kube_lease_stop(program->kube, main_released, program);
    else
        main_end(program, EXIT_CLEAN);
}

static void main_acquired(void *arg)
{
    struct program *program = arg;
    dv_log(DV_LOG_INFO, "lease acquired", "lease", program->flags.lease, "identity", program->instance, NULL);
    main_ready(program, false, "reading the DistributionVerifications");
    controller_start(program->controller);
}

static void main_lost(void *arg, const struct dv_err *err)
{
    dv_log(DV_LOG_ERROR, "lease lost", "error", err->text, NULL);
    _exit(EXIT_LOST_LEASE); /* nothing may be done any more, not even cleaning up */
    (void)arg;
}

/* A stand-by is in order while it sees who leads. One that cannot even look would never take over. */
static void main_waiting(void *arg, const char *holder, const struct dv_err *err)
{
    struct program *program = arg;
    if (holder != NULL) {
        dv_log(DV_LOG_INFO, "waiting for the lease", "holder", holder, NULL);
        main_ready(program, true, NULL);
    } else if (err->kind == DV_ERR_CONFLICT) {
        dv_log(DV_LOG_INFO, "another one was faster", "error", err->text, NULL); /* the next look names it */
    } else {
        dv_log(DV_LOG_WARN, "cannot read or write the lease", "lease", program->flags.lease, "error", err->text, NULL);
        main_ready(program, false, err->text);
    }
}

static void main_on_kube(void *arg, const struct port_kube_event *event)
{
    struct program *program = arg;
    controller_on_kube(program->controller, event);
}

static void main_on_kafka(void *arg, const struct port_kafka_event *event)
{
    struct program *program = arg;
    controller_on_kafka(program->controller, event);
}

static void main_instance(struct program *program)
{
    char host[96] = "controller";
    char id[11];
    (void)gethostname(host, sizeof host - 1);
    dv_random_id(id, sizeof id);
    (void)dv_format(program->instance, sizeof program->instance, "%s_%s", host, id);
}

static void main_start_lease(struct program *program)
{
    const char *slash = program->flags.lease != NULL ? strchr(program->flags.lease, '/') : NULL;
    if (program->flags.lease == NULL) {
        controller_start(program->controller);
        return;
    }
    const char *ns = kube_namespace(program->kube);
    if (slash != NULL)
        (void)dv_format(program->lease_ns, sizeof program->lease_ns, "%.*s", (int)(slash - program->flags.lease), program->flags.lease);
    else
        (void)dv_strlcpy(program->lease_ns, ns != NULL ? ns : "default", sizeof program->lease_ns);
    struct kube_lease_options options = {.ns = program->lease_ns,
                                         .name = slash != NULL ? slash + 1 : program->flags.lease,
                                         .identity = program->instance,
                                         .on_acquired = main_acquired,
                                         .on_lost = main_lost,
                                         .on_waiting = main_waiting,
                                         .arg = program};
    kube_lease_start(program->kube, &options);
}

static int main_open(struct program *program, struct dv_err *err)
{
    struct kube_options options = {.kubeconfig = program->flags.kubeconfig, .user_agent = "distverify/" DV_VERSION};
    program->loop = loop_new();
    program->timer = loop_timer_new(program->loop, main_turn, program);
    program->kube = kube_new(program->loop, &options, main_on_kube, program, err);
    if (program->kube == NULL)
        return -1;
    if (program->flags.metrics_addr[0] != '\0') {
        program->web = web_new(program->loop, program->flags.metrics_addr, err);
        if (program->web == NULL)
            return dv_err_wrap(err, "--metrics-addr %s", program->flags.metrics_addr);
    }
    program->kafka = kafka_new(program->loop, *kube_secrets(program->kube), main_on_kafka, program);
    main_instance(program);
    struct controller_options controller = {.ns = program->flags.ns,
                                            .max_runs = (int)program->flags.max_runs,
                                            .allow_cross_namespace = program->flags.allow_cross_namespace,
                                            .instance = program->instance,
                                            .clock = main_clock,
                                            .wake = main_wake,
                                            .ready = main_ready,
                                            .arg = program};
    program->controller = controller_new(&controller, *kube_port(program->kube), kafka_port(program->kafka));
    return 0;
}

static void main_listen(uv_signal_t *handle, struct program *program, int signum)
{
    handle->data = program;
    (void)uv_signal_init(loop_uv(program->loop), handle);
    (void)uv_signal_start(handle, main_signal, signum);
}

static void main_close(struct program *program)
{
    controller_free(program->controller);
    if (program->kafka != NULL)
        kafka_free(program->kafka);
    web_free(program->web);
    if (program->kube != NULL)
        kube_free(program->kube);
    loop_timer_free(program->timer);
    if (program->loop != NULL)
        loop_free(program->loop);
    dv_metrics_free();
}

#ifdef DV_FAILPOINTS
/* DISTVERIFY_FAIL_AT=<Stage>.<Step>/<before|after>: the process ends there as if it were killed. */
static void main_failpoint(const char *name)
{
    const char *at = getenv("DISTVERIFY_FAIL_AT");
    dv_log(DV_LOG_DEBUG, "failpoint passed", "at", name, NULL);
    if (!dv_streq(at, name))
        return;
    dv_log(DV_LOG_ERROR, "failpoint", "at", name, NULL);
    (void)kill(getpid(), SIGKILL);
}
#endif

int main(int argc, char **argv)
{
    struct program program = {
        .flags = {.metrics_addr = "127.0.0.1:8080", .max_runs = 8, .log_level = DV_LOG_INFO},
    };
    struct dv_err err = DV_ERR_INIT;
    if (main_flags(argc, argv, &program.flags) != 0)
        return EXIT_CONFIGURATION;
    if (program.flags.version) {
        (void)puts("distverify-controller " DV_VERSION);
        return EXIT_CLEAN;
    }
    dv_log_setup((struct dv_log_config){.level = program.flags.log_level, .json = program.flags.json, .fd = 2});
    (void)signal(SIGPIPE, SIG_IGN);
#ifdef DV_FAILPOINTS
    controller_failpoint = main_failpoint;
#endif
    if (main_open(&program, &err) != 0) {
        (void)fprintf(stderr, "distverify-controller: %s\n", err.text);
        main_close(&program);
        return EXIT_CONFIGURATION;
    }
    main_listen(&program.term, &program, SIGTERM);
    main_listen(&program.interrupt, &program, SIGINT);
    dv_log(DV_LOG_INFO, "started", "version", DV_VERSION, "server", kube_server_address(program.kube), "instance", program.instance, NULL);
    main_start_lease(&program);
    loop_run(program.loop);
    uv_close((uv_handle_t *)&program.term, NULL);
    uv_close((uv_handle_t *)&program.interrupt, NULL);
    main_close(&program);
    return (int)program.code;
}

/* The controller: keeps what is seen of every DistributionVerification, asks verify_decide() what follows, writes the status, then acts
 * through the ports. Driven from outside: events come in, controller_run() does what is due and says when to be called again. It touches
 * no clock and no descriptor (but it logs). */
#ifndef DV_CONTROLLER_CONTROLLER_H
#define DV_CONTROLLER_CONTROLLER_H

#include "base/timefmt.h"
#include "model/ports.h"

struct controller;

struct controller_options {
    const char *ns; /* watch this namespace only; NULL: all */
    int max_runs;   /* runs with open Kafka clients at a time */
    bool allow_cross_namespace;
    const char *instance; /* name of this process in events */
    struct dv_now (*clock)(void *arg);
    void (*wake)(void *arg);                               /* something became due: call controller_run() soon */
    void (*ready)(void *arg, bool ready, const char *why); /* may be NULL */
    void *arg;
};

#define CONTROLLER_GROUP "distverify.io"
#define CONTROLLER_VERSION "v1alpha1"
#define CONTROLLER_PLURAL "distributionverifications"
#define CONTROLLER_FINALIZER "distverify.io/finalizer"

struct controller *controller_new(const struct controller_options *options, struct port_kube kube, struct port_kafka kafka);
/* Stops what it started on the ports; they must still be there. Takes NULL. */
void controller_free(struct controller *ctl);

/* Starts watching the resources. */
void controller_start(struct controller *ctl);
/* Does what is due; returns the monotonic time in ms to be called at the latest, INT64_MAX: only after an event. */
int64_t controller_run(struct controller *ctl);

/* Sinks for the ports; arg is the controller. */
void controller_on_kube(void *arg, const struct port_kube_event *event);
void controller_on_kafka(void *arg, const struct port_kafka_event *event);

#ifdef DV_FAILPOINTS
/* Called right before and right after an unsafe effect with "<step>/before" or "<step>/after"; tests end the process there. */
extern void (*controller_failpoint)(const char *name);
#endif

#endif

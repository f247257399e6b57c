/* Container logs of struct port_log: followed across cut connections without repeating lines. */
#ifndef DV_KUBE_PODLOG_H
#define DV_KUBE_PODLOG_H

#include "kube/room.h"

void kube_log_start(struct kube *kube, port_id id, const struct port_log *wanted);
void kube_log_stop(struct kube *kube, port_id id);
void kube_logs_free(struct kube *kube);

#endif

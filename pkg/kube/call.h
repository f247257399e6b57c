/* Single requests of struct port_call: one answer each. */
#ifndef DV_KUBE_CALL_H
#define DV_KUBE_CALL_H

#include "kube/room.h"

void kube_call_start(struct kube *kube, port_id id, const struct port_call *call);
void kube_calls_free(struct kube *kube);

#endif

/* The Lease of kube.h; what port and kube need of it. */
#ifndef DV_KUBE_LEASE_H
#define DV_KUBE_LEASE_H

#include "kube/room.h"

int64_t kube_lease_left_ms(const struct kube *kube);
void kube_lease_free(struct kube *kube);

#endif

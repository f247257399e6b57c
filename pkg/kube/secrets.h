/* Secret bytes of the own API server: got by name, never listed, wiped after use. Behind struct port_secrets and credentials of servers. */
#ifndef DV_KUBE_SECRETS_H
#define DV_KUBE_SECRETS_H

#include "kube/room.h"

struct kube_secret_get;

/* done comes later, once, from the loop, in every case. What fails: SECRET (Secret or key missing), DENIED, UNREACHABLE, ... */
struct kube_secret_get *kube_secret_get_start(struct kube *kube, const char *ns, const struct port_secret_item *items, size_t count,
                                              port_secret_done *done, void *arg);
void kube_secret_get_cancel(struct kube_secret_get *get); /* takes NULL; not from within done */
void kube_secret_gets_free(struct kube *kube);

#endif

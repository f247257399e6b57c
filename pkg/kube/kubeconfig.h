/* How an API server is reached and as whom: from a kubeconfig or from a pod's service account.
 *
 * A kubeconfig that could only be used in part (a plugin, two answers to one question, a CA that does not read) is refused as a whole:
 * half of it would talk to the wrong server, without verification or as somebody else.
 */
#ifndef DV_KUBE_KUBECONFIG_H
#define DV_KUBE_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Texts are owned, NULL when not given; secret ones are wiped on free. */
struct kube_identity {
    char *server; /* URL */
    char *ca;     /* PEM */
    bool insecure;
    char *server_name; /* to check the certificate for; NULL: the URL's host */
    char *cert, *key;  /* PEM */
    char *token;
    char *token_file; /* read again as it changes; wins over token */
    char *user, *password;
    char *as, *as_uid;
    char **as_groups;
    size_t as_group_count;
    char *ns; /* of the context or service account */
};

void kube_identity_free(struct kube_identity *identity); /* what it holds; takes NULL, and an inert one */
bool kube_identity_equal(const struct kube_identity *a, const struct kube_identity *b);

#define KUBECONFIG_MAX (256u * 1024)

/* dir: of the file, for relative paths. NULL: it comes from a Secret, and neither paths nor exec nor auth-provider are taken.
 * err INVALID, or CERT for certificates and keys; one sentence, without what the file says in secret places. */
int kubeconfig_parse(const char *text, size_t len, const char *dir, struct kube_identity *out, struct dv_err *err);
int kubeconfig_load(const char *path, struct kube_identity *out, struct dv_err *err);

/* Service account of the pod; dir NULL: the usual one. Address from KUBERNETES_SERVICE_HOST and _PORT. */
int kube_incluster_load(const char *dir, struct kube_identity *out, struct dv_err *err);

/* Whole file, at most max bytes, NUL behind. NULL with INVALID. The caller wipes and frees. */
char *kube_file_read(const char *path, size_t max, size_t *len, struct dv_err *err);

#endif

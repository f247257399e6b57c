#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/b64.h"
#include "kube/kubeconfig.h"

static void identity_wipe(char *text)
{
    dv_wipe(text, text != NULL ? strlen(text) : 0);
}

void kube_identity_free(struct kube_identity *id)
{
    if (id == NULL)
        return;
    for (size_t i = 0; i < id->as_group_count; i++)
        free(id->as_groups[i]);
    free(id->as_groups);
    free(id->as);
    free(id->as_uid);
    free(id->server);
    free(id->ca);
    free(id->server_name);
    free(id->cert);
    identity_wipe(id->key);
    identity_wipe(id->token);
    free(id->token_file);
    free(id->user);
    identity_wipe(id->password);
    free(id->ns);
    *id = (struct kube_identity){0};
}

static bool identity_equal_as(const struct kube_identity *a, const struct kube_identity *b)
{
    if (!dv_streq(a->as, b->as) || !dv_streq(a->as_uid, b->as_uid) || a->as_group_count != b->as_group_count)
        return false;
    for (size_t i = 0; i < a->as_group_count; i++)
        if (!dv_streq(a->as_groups[i], b->as_groups[i]))
            return false;
    return true;
}

bool kube_identity_equal(const struct kube_identity *a, const struct kube_identity *b)
{
    return dv_streq(a->server, b->server) && dv_streq(a->ca, b->ca) && a->insecure == b->insecure &&
           dv_streq(a->server_name, b->server_name) && dv_streq(a->cert, b->cert) && dv_streq(a->key, b->key) &&
           dv_streq(a->token, b->token) && dv_streq(a->token_file, b->token_file) && dv_streq(a->user, b->user) &&
           dv_streq(a->password, b->password) && identity_equal_as(a, b);
}

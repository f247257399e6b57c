#include "kube/kubeconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/b64.h"

#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define CA_MAX (1024u * 1024)

char *kube_file_read(const char *path, size_t max, size_t *len, struct dv_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        (void)dv_err_set(err, DV_ERR_INVALID, "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    char *data = dv_alloc(max + 2);
    size_t used = 0;
    ssize_t n = 0;
    while (used <= max && (n = read(fd, data + used, max + 1 - used)) > 0)
        used += (size_t)n;
    int failed = n < 0 ? errno : 0;
    (void)close(fd);
    if (failed == 0 && used <= max) {
        data[used] = '\0';
        *len = used;
        return dv_realloc(data, used + 1);
    }
    dv_wipe(data, used);
    (void)dv_err_set(err, DV_ERR_INVALID, "cannot read %s: %s", path, failed != 0 ? strerror(failed) : "it is too large");
    return NULL;
}

static char *incluster_read(const char *dir, const char *name, struct dv_err *err)
{
    DV_CLEANUP_FREE char *path = dv_asprintf("%s/%s", dir, name);
    size_t len = 0;
    return kube_file_read(path, CA_MAX, &len, err);
}

int kube_incluster_load(const char *dir, struct kube_identity *out, struct dv_err *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    if (host == NULL || host[0] == '\0')
        return dv_err_set(err, DV_ERR_INVALID,
                          "no API server: not in a pod (KUBERNETES_SERVICE_HOST is not set) and no --kubeconfig given");
    if (dir == NULL)
        dir = SERVICE_ACCOUNT_DIR;
    struct kube_identity id = {0};
    id.ca = incluster_read(dir, "ca.crt", err);
    if (id.ca == NULL)
        return dv_err_wrap(err, "service account of the pod");
    id.ns = incluster_read(dir, "namespace", NULL);
    if (id.ns != NULL)
        id.ns[strcspn(id.ns, " \r\n")] = '\0';
    bool v6 = strchr(host, ':') != NULL && host[0] != '[';
    id.server = dv_asprintf("https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port != NULL && port[0] != '\0' ? port : "443");
    id.token_file = dv_asprintf("%s/token", dir);
    *out = id;
    return 0;
}

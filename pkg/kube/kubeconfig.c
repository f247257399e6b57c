#include "kube/kubeconfig.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/b64.h"
#include "kube/kubeconfig_yaml.h"

#define FILE_MAX (1024u * 1024)
#define GROUPS_MAX 32

struct reading {
    yaml_document_t doc;
    const char *dir; /* NULL: from a Secret */
    const char *cluster_name, *user_name;
    yaml_node_t *cluster, *user;
    struct kube_identity *id;
};

static int reading_text(struct reading *reading, yaml_node_t *map, const char *key, char **out, struct dv_err *err)
{
    const char *text = NULL;
    if (kubeconfig_yaml_text(&reading->doc, map, key, &text, err) != 0)
        return -1;
    *out = dv_strdup(text);
    return 0;
}

/* ---------------------------------------------------------------- certificates and keys: in place or in a file */

struct pem_source {
    const char *data_key, *file_key, *what, *marker, *marker_name;
};

static const struct pem_source pem_ca = {"certificate-authority-data", "certificate-authority", "CA", "-----BEGIN CERTIFICATE-----",
                                         "certificate"};
static const struct pem_source pem_cert = {"client-certificate-data", "client-certificate", "client certificate",
                                           "-----BEGIN CERTIFICATE-----", "certificate"};
static const struct pem_source pem_key = {"client-key-data", "client-key", "client key", "PRIVATE KEY-----", "private key"};

static char *reading_path(const struct reading *reading, const char *path)
{
    return path[0] == '/' ? dv_strdup(path) : dv_asprintf("%s/%s", reading->dir, path);
}

static char *pem_load(struct reading *reading, const struct pem_source *source, const char *data, const char *file, size_t *len,
                      struct dv_err *err)
{
    if (data == NULL) {
        DV_CLEANUP_FREE char *path = reading_path(reading, file);
        char *text = kube_file_read(path, FILE_MAX, len, err);
        if (text == NULL)
            (void)dv_err_wrap(err, "%s", source->what);
        return text;
    }
    char *text = dv_b64_decode(data, strlen(data), len);
    if (text == NULL)
        (void)dv_err_set(err, DV_ERR_CERT, "%s data is not base64", source->what);
    return text;
}

static int reading_pem(struct reading *reading, yaml_node_t *map, const struct pem_source *source, char **out, struct dv_err *err)
{
    const char *data = NULL;
    const char *file = NULL;
    if (kubeconfig_yaml_text(&reading->doc, map, source->data_key, &data, err) != 0 ||
        kubeconfig_yaml_text(&reading->doc, map, source->file_key, &file, err) != 0)
        return -1;
    if (file != NULL && reading->dir == NULL)
        return dv_err_set(err, DV_ERR_INVALID, "%s names a file; in a Secret only %s can be used", source->file_key, source->data_key);
    if (data == NULL && file == NULL)
        return 0;
    size_t len = 0;
    char *text = pem_load(reading, source, data, file, &len, err);
    if (text == NULL)
        return -1;
    if (strlen(text) == len && strstr(text, source->marker) != NULL) {
        *out = text;
        return 0;
    }
    dv_wipe(text, len);
    return dv_err_set(err, DV_ERR_CERT, "%s data holds no PEM %s", source->what, source->marker_name);
}

/* ---------------------------------------------------------------- cluster */

static int reading_cluster(struct reading *reading, struct dv_err *err)
{
    struct kube_identity *id = reading->id;
    yaml_node_t *cluster = reading->cluster;
    if (reading_text(reading, cluster, "server", &id->server, err) != 0 ||
        reading_text(reading, cluster, "tls-server-name", &id->server_name, err) != 0 ||
        kubeconfig_yaml_bool(&reading->doc, cluster, "insecure-skip-tls-verify", &id->insecure, err) != 0)
        return -1;
    if (id->server == NULL)
        return dv_err_set(err, DV_ERR_INVALID, "cluster %s has no server", reading->cluster_name);
    if (!dv_starts_with(id->server, "https://") && !dv_starts_with(id->server, "http://"))
        return dv_err_set(err, DV_ERR_INVALID, "the server of cluster %s is not of the form https://host:port", reading->cluster_name);
    if (kubeconfig_yaml_member(&reading->doc, cluster, "proxy-url") != NULL)
        return dv_err_set(err, DV_ERR_INVALID, "proxy-url is not supported; give an address that is reachable from here");
    if (reading_pem(reading, cluster, &pem_ca, &id->ca, err) != 0)
        return -1;
    if (id->insecure && id->ca != NULL)
        return dv_err_set(err, DV_ERR_INVALID, "a CA together with insecure-skip-tls-verify is refused; remove one of them");
    return 0;
}

/* ---------------------------------------------------------------- user */

static int reading_groups(struct reading *reading, struct dv_err *err)
{
    yaml_node_t *list = kubeconfig_yaml_member(&reading->doc, reading->user, "as-groups");
    if (list == NULL)
        return 0;
    if (list->type != YAML_SEQUENCE_NODE)
        return dv_err_set(err, DV_ERR_INVALID, "as-groups is no list");
    struct kube_identity *id = reading->id;
    size_t count = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
    if (count > GROUPS_MAX)
        return dv_err_set(err, DV_ERR_LIMIT, "as-groups has more than %d entries", GROUPS_MAX);
    id->as_groups = dv_calloc(count, sizeof *id->as_groups);
    for (yaml_node_item_t *item = list->data.sequence.items.start; item < list->data.sequence.items.top; item++) {
        yaml_node_t *group = yaml_document_get_node(&reading->doc, *item);
        if (group->type != YAML_SCALAR_NODE || strpbrk((const char *)group->data.scalar.value, "\r\n") != NULL)
            return dv_err_set(err, DV_ERR_INVALID, "as-groups holds something that is no name");
        id->as_groups[id->as_group_count++] = dv_strdup((const char *)group->data.scalar.value);
    }
    return 0;
}

static int reading_impersonation(struct reading *reading, struct dv_err *err)
{
    struct kube_identity *id = reading->id;
    if (reading_text(reading, reading->user, "as", &id->as, err) != 0 ||
        reading_text(reading, reading->user, "as-uid", &id->as_uid, err) != 0 || reading_groups(reading, err) != 0)
        return -1;
    if (kubeconfig_yaml_member(&reading->doc, reading->user, "as-user-extra") != NULL)
        return dv_err_set(err, DV_ERR_INVALID, "as-user-extra of user %s is not supported", reading->user_name);
    if ((id->as != NULL && strpbrk(id->as, "\r\n") != NULL) || (id->as_uid != NULL && strpbrk(id->as_uid, "\r\n") != NULL))
        return dv_err_set(err, DV_ERR_INVALID, "as of user %s holds a line break", reading->user_name);
    if (id->as == NULL && (id->as_uid != NULL || id->as_group_count > 0))
        return dv_err_set(err, DV_ERR_INVALID, "user %s impersonates groups or a uid without a user (as)", reading->user_name);
    return 0;
}

/* exec beside a stored token: kubectl uses the token and runs nothing, and so do we. */
static int reading_plugins(struct reading *reading, struct dv_err *err)
{
    bool exec = kubeconfig_yaml_member(&reading->doc, reading->user, "exec") != NULL;
    if (kubeconfig_yaml_member(&reading->doc, reading->user, "auth-provider") != NULL)
        return dv_err_set(err, DV_ERR_INVALID, "auth-provider of user %s is not supported; use a token or a client certificate",
                          reading->user_name);
    if (exec && (reading->dir == NULL || (reading->id->token == NULL && reading->id->token_file == NULL)))
        return dv_err_set(err, DV_ERR_INVALID, "exec credential plugins are not run (user %s); use a token or a client certificate",
                          reading->user_name);
    return 0;
}

static int reading_token(struct reading *reading, struct dv_err *err)
{
    const char *file = NULL;
    if (reading_text(reading, reading->user, "token", &reading->id->token, err) != 0 ||
        kubeconfig_yaml_text(&reading->doc, reading->user, "tokenFile", &file, err) != 0)
        return -1;
    if (file != NULL && reading->dir == NULL)
        return dv_err_set(err, DV_ERR_INVALID, "tokenFile names a file; in a Secret only token can be used");
    if (file != NULL)
        reading->id->token_file = reading_path(reading, file);
    if (reading->id->token != NULL && strpbrk(reading->id->token, "\r\n") != NULL)
        return dv_err_set(err, DV_ERR_INVALID, "the token of user %s holds a line break", reading->user_name);
    return 0;
}

static int reading_user(struct reading *reading, struct dv_err *err)
{
    struct kube_identity *id = reading->id;
    yaml_node_t *user = reading->user;
    if (reading_token(reading, err) != 0 || reading_plugins(reading, err) != 0 ||
        reading_text(reading, user, "username", &id->user, err) != 0 || reading_text(reading, user, "password", &id->password, err) != 0 ||
        reading_pem(reading, user, &pem_cert, &id->cert, err) != 0 || reading_pem(reading, user, &pem_key, &id->key, err) != 0 ||
        reading_impersonation(reading, err) != 0)
        return -1;
    bool bearer = id->token != NULL || id->token_file != NULL;
    if ((id->cert == NULL) != (id->key == NULL))
        return dv_err_set(err, DV_ERR_CERT, "user %s has a client %s without its %s", reading->user_name,
                          id->cert != NULL ? "certificate" : "key", id->cert != NULL ? "key" : "certificate");
    if (bearer && id->user != NULL)
        return dv_err_set(err, DV_ERR_INVALID, "user %s has both a token and a username; remove one of them", reading->user_name);
    if (dv_starts_with(id->server, "http://") && (bearer || id->user != NULL || id->cert != NULL))
        return dv_err_set(err, DV_ERR_INVALID, "the server is http:// and the credentials would go in clear; use https://");
    return 0;
}

/* ---------------------------------------------------------------- whole */

static int reading_context(struct reading *reading, struct dv_err *err)
{
    const char *name = NULL;
    yaml_node_t *context = NULL;
    yaml_document_t *doc = &reading->doc;
    if (kubeconfig_yaml_text(doc, yaml_document_get_root_node(doc), "current-context", &name, err) != 0)
        return -1;
    if (name == NULL)
        return dv_err_set(err, DV_ERR_INVALID, "no current context set (current-context is empty)");
    if (kubeconfig_yaml_entry(doc, "contexts", "context", name, &context, err) != 0 ||
        kubeconfig_yaml_text(doc, context, "cluster", &reading->cluster_name, err) != 0 ||
        kubeconfig_yaml_text(doc, context, "user", &reading->user_name, err) != 0 ||
        reading_text(reading, context, "namespace", &reading->id->ns, err) != 0)
        return -1;
    if (reading->cluster_name == NULL)
        return dv_err_set(err, DV_ERR_INVALID, "context %s names no cluster", name);
    if (reading->user_name == NULL)
        return dv_err_set(err, DV_ERR_INVALID, "context %s names no user", name);
    if (kubeconfig_yaml_entry(doc, "clusters", "cluster", reading->cluster_name, &reading->cluster, err) != 0 ||
        kubeconfig_yaml_entry(doc, "users", "user", reading->user_name, &reading->user, err) != 0)
        return -1;
    return 0;
}

int kubeconfig_parse(const char *text, size_t len, const char *dir, struct kube_identity *out, struct dv_err *err)
{
    struct kube_identity id = {0};
    struct reading reading = {.dir = dir, .id = &id};
    if (len > KUBECONFIG_MAX)
        return dv_err_set(err, DV_ERR_LIMIT, "it is larger than %u bytes", KUBECONFIG_MAX);
    if (memchr(text, '\0', len) != NULL)
        return dv_err_set(err, DV_ERR_INVALID, "it is no text");
    if (kubeconfig_yaml_load(text, len, &reading.doc, err) != 0)
        return -1;
    int rc = reading_context(&reading, err) == 0 && reading_cluster(&reading, err) == 0 && reading_user(&reading, err) == 0 ? 0 : -1;
    yaml_document_delete(&reading.doc);
    if (rc == 0)
        *out = id;
    else
        kube_identity_free(&id);
    return rc;
}

int kubeconfig_load(const char *path, struct kube_identity *out, struct dv_err *err)
{
    size_t len = 0;
    char *text = kube_file_read(path, KUBECONFIG_MAX, &len, err);
    if (text == NULL)
        return dv_err_wrap(err, "kubeconfig");
    DV_CLEANUP_FREE char *copy = dv_strdup(path);
    int rc = kubeconfig_parse(text, len, dirname(copy), out, err);
    dv_wipe(text, len);
    return rc == 0 ? 0 : dv_err_wrap(err, "kubeconfig %s", path);
}

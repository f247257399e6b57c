/* Trust, identities, Secrets and API servers of Secrets against a real API server. */
#include "../support/kube_objects.h"

#include <unistd.h>

#include "base/buf.h"

/* ---------------------------------------------------------------- kubeconfigs made from the lab's */

/* The lab's kubeconfig as text with the first `from` replaced; NULL from: as it is. Caller frees. */
static char *kubeconfig_with(const char *from, const char *to)
{
    char *text = test_read_file(lab_env("KUBECONFIG"), NULL);
    char *at = from != NULL ? strstr(text, from) : NULL;
    assert_true(from == NULL || at != NULL);
    char *changed = from != NULL ? dv_asprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) : dv_strdup(text);
    free(text);
    return changed;
}

/* Without the lines that hold `what`. */
static char *kubeconfig_without(const char *what)
{
    char *text = kubeconfig_with(NULL, NULL);
    struct dv_buf out = DV_BUF_INIT(100000);
    for (char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n") + 1;
        char *copy = dv_strndup(line, len);
        if (strstr(copy, what) == NULL)
            (void)dv_buf_adds(&out, copy);
        free(copy);
        line += len;
    }
    free(text);
    return dv_buf_take(&out);
}

static struct heard *get_by(struct harness **h, char *kubeconfig, const char *name)
{
    char path[] = "/tmp/kube-component-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, kubeconfig, strlen(kubeconfig)), strlen(kubeconfig));
    (void)close(fd);
    free(kubeconfig);
    *h = opened_by(path);
    (void)unlink(path);
    struct port_resource resource = {.group = "", .plural = "namespaces", .name = name};
    return harness_call(*h, &(struct port_call){.verb = PORT_GET, .resource = resource});
}

static void expect_by(char *kubeconfig, enum dv_err_kind kind, const char *part)
{
    struct harness *h = NULL;
    struct heard *answer = get_by(&h, kubeconfig, "default");
    if (answer->err.kind != kind || (part != NULL && strstr(answer->err.text, part) == NULL))
        fail_msg("%s: %s", dv_err_kind_name(answer->err.kind), answer->err.text);
    harness_free(h);
}

static void trust(void **state)
{
    (void)state;
    expect_by(kubeconfig_with(NULL, NULL), DV_ERR_NONE, NULL);
    /* The system's CAs, which do not know this one; and they are not trusted beside the one that is given. */
    expect_by(kubeconfig_without("certificate-authority-data"), DV_ERR_CERT, "not trusted");
    expect_by(kubeconfig_with("server: https", "tls-server-name: kubernetes\n    server: https"), DV_ERR_NONE, NULL);
    expect_by(kubeconfig_with("server: https", "tls-server-name: other.example\n    server: https"), DV_ERR_CERT, "host name");
    expect_by(kubeconfig_with("https://127.0.0.1", "https://localhost"), DV_ERR_NONE, NULL);
    char *blind = kubeconfig_without("certificate-authority-data");
    char *at = strstr(blind, "server: https");
    expect_by(dv_asprintf("%.*sinsecure-skip-tls-verify: true\n    %s", (int)(at - blind), blind, at), DV_ERR_NONE, NULL);
    free(blind);
}

static void a_ca_of_somebody_else(void **state)
{
    (void)state;
    char *dir = dv_strdup("/tmp/kube-component-ca-XXXXXX");
    assert_non_null(mkdtemp(dir));
    char *command =
        dv_asprintf("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=other -days 2 -keyout %s/k -out "
                    "%s/c >/dev/null 2>&1",
                    dir, dir);
    assert_int_equal(system(command), 0);
    free(command);
    char *plain = kubeconfig_without("certificate-authority-data");
    char *at = strstr(plain, "server: https");
    expect_by(dv_asprintf("%.*scertificate-authority: %s/c\n    %s", (int)(at - plain), plain, dir, at), DV_ERR_CERT, "not trusted");
    free(plain);
    command = dv_asprintf("rm -r %s", dir);
    assert_int_equal(system(command), 0);
    free(command);
    free(dir);
}

static void identities(void **state)
{
    (void)state;
    char *anonymous = kubeconfig_without("client-");
    char *at = strrchr(anonymous, ':'); /* "  user:" is the last line now */
    expect_by(dv_asprintf("%.*s: {token: nonsense}\n", (int)(at - anonymous), anonymous), DV_ERR_AUTH, "HTTP 401");
    expect_by(dv_asprintf("%.*s: {as: nobody-special}\n", (int)(at - anonymous), anonymous), DV_ERR_DENIED, "anonymous");
    free(anonymous);
    expect_by(kubeconfig_with("client-certificate-data", "as: nobody-special\n    client-certificate-data"), DV_ERR_DENIED,
              "nobody-special");
}

static void somebody_elses_port(void **state)
{
    (void)state;
    char *text = kubeconfig_with(NULL, NULL);
    char *server = strstr(text, "https://127.0.0.1:");
    size_t len = strcspn(server, "\n");
    expect_by(dv_asprintf("%.*shttps://127.0.0.1:1%s", (int)(server - text), text, server + len), DV_ERR_UNREACHABLE,
              "127.0.0.1:1: no connection");
    free(text);
}

/* ---------------------------------------------------------------- Secrets */

static struct port_resource secret(const char *name)
{
    return (struct port_resource){.group = "", .plural = "secrets", .ns = NS, .name = name};
}

static void put_secret(struct harness *h, const char *name, const char *key, const char *value)
{
    json_t *body = json_pack("{s:s,s:s,s:{s:s,s:s},s:{s:s}}", "apiVersion", "v1", "kind", "Secret", "metadata", "name", name, "namespace",
                             NS, "stringData", key, value);
    (void)deleted(h, secret(name));
    struct heard *answer = with_body(h, PORT_CREATE, secret(name), body);
    assert_int_equal(answer->err.kind, DV_ERR_NONE);
}

struct got {
    struct dv_err err;
    char *values[3];
    size_t lens[3], count;
    bool done;
};

static void got_secret(void *arg, const struct dv_err *err, const char *const *values, const size_t *lens, size_t count)
{
    struct got *got = arg;
    got->err = *err;
    got->count = count;
    for (size_t i = 0; i < count; i++) {
        got->values[i] = dv_strdup(values[i]);
        got->lens[i] = lens[i];
    }
    got->done = true;
}

static bool has_got(struct harness *h, void *arg)
{
    (void)h;
    return ((struct got *)arg)->done;
}

static struct got get_secret(struct harness *h, const struct port_secret_item *items, size_t count)
{
    struct got got = {.err = DV_ERR_INIT};
    const struct port_secrets *secrets = kube_secrets(h->kube);
    secrets->get(secrets->impl, NS, items, count, got_secret, &got);
    assert_true(harness_wait(h, has_got, &got, 10000));
    return got;
}

static void secret_bytes(void **state)
{
    (void)state;
    struct harness *h = opened();
    put_secret(h, "one", "user", "somebody");
    put_secret(h, "two", "password", "p\xc3\xa4ss\nword");
    const struct port_secret_item items[] = {{"one", "user"}, {"two", "password"}, {"one", "user"}};
    struct got got = get_secret(h, items, 3);
    assert_int_equal(got.err.kind, DV_ERR_NONE);
    assert_int_equal(got.count, 3);
    assert_string_equal(got.values[0], "somebody");
    assert_string_equal(got.values[1], "p\xc3\xa4ss\nword");
    assert_int_equal(got.lens[1], 10);
    for (size_t i = 0; i < 3; i++)
        free(got.values[i]);
    const struct port_secret_item no_key[] = {{"one", "user"}, {"two", "other"}};
    got = get_secret(h, no_key, 2);
    assert_int_equal(got.err.kind, DV_ERR_SECRET);
    assert_string_equal(got.err.text, "Secret " NS "/two has no key other");
    const struct port_secret_item no_secret[] = {{"absent", "user"}};
    got = get_secret(h, no_secret, 1);
    assert_int_equal(got.err.kind, DV_ERR_SECRET);
    assert_string_equal(got.err.text, "Secret " NS "/absent does not exist");
    harness_free(h);
}

/* ---------------------------------------------------------------- API servers of Secrets */

static struct heard *call_remote(struct harness *h, struct port_server server, struct port_resource resource)
{
    return harness_call(h, &(struct port_call){.server = server, .verb = PORT_GET, .resource = resource});
}

static void servers_of_secrets(void **state)
{
    (void)state;
    struct harness *h = opened();
    struct port_server server = {.ns = NS, .secret = "remote", .key = "kubeconfig"};
    (void)deleted(h, secret("remote"));
    struct heard *answer = call_remote(h, server, configmap("kube-root-ca.crt"));
    assert_int_equal(answer->err.kind, DV_ERR_SECRET);

    char *kubeconfig = kubeconfig_with(NULL, NULL);
    put_secret(h, "remote", "kubeconfig", kubeconfig);
    free(kubeconfig);
    harness_wait(h, NULL, NULL, 500); /* a failure stands for a moment (PERIODS_DIV 10) */
    answer = call_remote(h, server, (struct port_resource){.group = "", .plural = "namespaces", .name = NS});
    if (answer->err.kind != DV_ERR_NONE)
        fail_msg("%s", answer->err.text);

    struct port_watch watch = {.server = server, .resource = configmap(NULL), .label_selector = "test=yes"};
    h->port->watch(h->port->impl, 1, &watch);
    assert_true(harness_expect(h, PORT_KUBE_SYNCED, 1, 1, NULL, 10000));
    (void)deleted(h, configmap("remote-seen"));
    (void)created(h, configmap("remote-seen"), configmap_body("remote-seen", "x"));
    assert_true(harness_expect(h, PORT_KUBE_ITEM, 1, 1, "remote-seen", 5000));

    /* Changed under us to one that is refused: known at the latest when the Secret is read again (5 min / 10). */
    put_secret(h, "remote", "kubeconfig", "current-context: ''\n");
    answer = call_remote(h, server, configmap("kube-root-ca.crt"));
    assert_int_equal(answer->err.kind, DV_ERR_NONE);
    (void)deleted(h, configmap("remote-seen"));
    harness_free(h);
}

static void credentials_are_renewed(void **state)
{
    (void)state;
    struct harness *h = opened();
    struct port_server server = {.ns = NS, .secret = "renewed", .key = "kubeconfig"};
    char *anonymous = kubeconfig_without("client-");
    char *at = strrchr(anonymous, ':');
    char *wrong = dv_asprintf("%.*s: {token: revoked}\n", (int)(at - anonymous), anonymous);
    put_secret(h, "renewed", "kubeconfig", wrong);
    struct heard *answer = call_remote(h, server, configmap("kube-root-ca.crt"));
    assert_int_equal(answer->err.kind, DV_ERR_AUTH);
    char *right = kubeconfig_with(NULL, NULL);
    put_secret(h, "renewed", "kubeconfig", right);
    harness_wait(h, NULL, NULL, 1100); /* read again no sooner than after 10 s / 10 */
    answer = call_remote(h, server, configmap("kube-root-ca.crt"));
    if (answer->err.kind != DV_ERR_NONE && answer->err.kind != DV_ERR_NOT_FOUND)
        fail_msg("%s", answer->err.text);
    free(right);
    free(wrong);
    free(anonymous);
    harness_free(h);
}

/* ---------------------------------------------------------------- own credentials that change */

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static enum dv_err_kind get_default(struct harness *h)
{
    struct port_resource resource = {.group = "", .plural = "namespaces", .name = "default"};
    return harness_call(h, &(struct port_call){.verb = PORT_GET, .resource = resource})->err.kind;
}

static void own_kubeconfig_is_read_again(void **state)
{
    (void)state;
    char path[] = "/tmp/kube-component-XXXXXX";
    (void)close(mkstemp(path));
    char *anonymous = kubeconfig_without("client-");
    char *wrong = dv_asprintf("%.*s: {token: revoked}\n", (int)(strrchr(anonymous, ':') - anonymous), anonymous);
    char *right = kubeconfig_with(NULL, NULL);
    put_file(path, wrong);
    struct harness *h = opened_by(path);
    assert_int_equal(get_default(h), DV_ERR_AUTH);
    put_file(path, "half a file");
    assert_int_equal(get_default(h), DV_ERR_AUTH);
    put_file(path, right);
    assert_int_equal(get_default(h), DV_ERR_NONE);
    harness_free(h);
    (void)unlink(path);
    free(anonymous);
    free(wrong);
    free(right);
}

/* A token of the API server for the default service account of our namespace. Caller frees. */
static char *account_token(struct harness *h)
{
    struct port_resource account = {.group = "", .plural = "serviceaccounts", .ns = NS, .name = "tester"};
    (void)created(h, account, json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind", "ServiceAccount", "metadata", "name", "tester"));
    account.subresource = "token";
    json_t *body =
        json_pack("{s:s,s:s,s:{s:i}}", "apiVersion", "authentication.k8s.io/v1", "kind", "TokenRequest", "spec", "expirationSeconds", 600);
    const json_t *status = json_object_get(with_body(h, PORT_CREATE, account, body)->json, "status");
    assert_non_null(status);
    return dv_strdup(json_string_value(json_object_get(status, "token")));
}

static void token_file_is_read_again(void **state)
{
    (void)state;
    char dir[] = "/tmp/kube-component-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char *token_path = dv_asprintf("%s/token", dir);
    char *ca_path = dv_asprintf("%s/ca.crt", dir);
    char *text = kubeconfig_with(NULL, NULL);
    char *ca = strstr(text, "certificate-authority-data: ");
    char *command = dv_asprintf("echo '%.*s' | base64 -d > %s", (int)strcspn(ca + 28, "\n"), ca + 28, ca_path);
    assert_int_equal(system(command), 0);
    char *server = strstr(text, "https://127.0.0.1:") + 18;
    char *port = dv_strndup(server, strcspn(server, "\n"));
    (void)setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1);
    (void)setenv("KUBERNETES_SERVICE_PORT", port, 1);
    put_file(token_path, "expired");

    struct harness *admin = opened();
    char *token = account_token(admin);
    struct harness *h = harness_new();
    struct dv_err err = DV_ERR_INIT;
    h->kube = kube_new(h->loop, &(struct kube_options){.account_dir = dir, .user_agent = "in-cluster/0"}, harness_sink, h, &err);
    assert_non_null(h->kube);
    h->port = kube_port(h->kube);
    assert_int_equal(get_default(h), DV_ERR_AUTH);
    put_file(token_path, token);
    assert_int_equal(get_default(h), DV_ERR_DENIED); /* known now, without rights */
    harness_free(h);
    harness_free(admin);
    (void)unsetenv("KUBERNETES_SERVICE_HOST");
    (void)unlink(token_path);
    (void)unlink(ca_path);
    (void)rmdir(dir);
    free(token);
    free(port);
    free(command);
    free(text);
    free(ca_path);
    free(token_path);
}

int main(void)
{
    (void)setenv("DISTVERIFY_PERIODS_DIV", "10", 1);
    (void)setenv("https_proxy", "http://127.0.0.1:1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trust),
        cmocka_unit_test(a_ca_of_somebody_else),
        cmocka_unit_test(identities),
        cmocka_unit_test(somebody_elses_port),
        cmocka_unit_test(secret_bytes),
        cmocka_unit_test(servers_of_secrets),
        cmocka_unit_test(credentials_are_renewed),
        cmocka_unit_test(own_kubeconfig_is_read_again),
        cmocka_unit_test(token_file_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

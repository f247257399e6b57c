/* Kubeconfigs, taken or refused: test/unit/cases/kubeconfig/cases.json. And the service account of a pod. */
#include "../support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "kube/kubeconfig.h"

static char *scratch_dir(void)
{
    char *dir = dv_strdup("/tmp/kube-unit-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return dir;
}

static void put_file(const char *dir, const char *name, const char *text)
{
    char *path = dv_asprintf("%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
    free(path);
}

static void drop_dir(char *dir)
{
    static const char *const names[] = {"ca.pem", "token", "ca.crt", "namespace"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = dv_asprintf("%s/%s", dir, names[i]);
        (void)unlink(path);
        free(path);
    }
    (void)rmdir(dir);
    free(dir);
}

static void check_text(const json_t *want, const char *key, const char *have, const char *dir, const char *why)
{
    const json_t *value = json_object_get(want, key);
    const char *text = json_string_value(value);
    char *full = dv_starts_with(text, "${DIR}") ? dv_asprintf("%s%s", dir, text + 6) : dv_strdup(text);
    if (value != NULL && !dv_streq(full, have))
        fail_msg("%s: %s is %s", why, key, have != NULL ? have : "absent");
    free(full);
}

static void check_identity(const json_t *want, const struct kube_identity *id, const char *dir, const char *why)
{
    check_text(want, "server", id->server, dir, why);
    check_text(want, "ca", id->ca, dir, why);
    check_text(want, "server_name", id->server_name, dir, why);
    check_text(want, "token", id->token, dir, why);
    check_text(want, "token_file", id->token_file, dir, why);
    check_text(want, "user", id->user, dir, why);
    check_text(want, "password", id->password, dir, why);
    check_text(want, "key", id->key, dir, why);
    check_text(want, "as", id->as, dir, why);
    check_text(want, "ns", id->ns, dir, why);
    const json_t *insecure = json_object_get(want, "insecure");
    assert_true(insecure == NULL || json_is_true(insecure) == id->insecure);
    const json_t *groups = json_object_get(want, "as_groups");
    assert_int_equal(json_array_size(groups), groups != NULL ? id->as_group_count : 0);
    for (size_t i = 0; i < json_array_size(groups); i++)
        assert_string_equal(json_string_value(json_array_get(groups, i)), id->as_groups[i]);
}

static void check_case(const json_t *test, const char *dir)
{
    const char *why = json_string_value(json_object_get(test, "why"));
    const char *text = json_string_value(json_object_get(test, "text"));
    const char *refused = json_string_value(json_object_get(test, "refused"));
    bool file = dv_streq(json_string_value(json_object_get(test, "source")), "file");
    struct kube_identity id = {0};
    struct dv_err err = DV_ERR_INIT;
    int rc = kubeconfig_parse(text, strlen(text), file ? dir : NULL, &id, &err);
    if (refused == NULL) {
        if (rc != 0)
            fail_msg("%s: refused: %s", why, err.text);
        check_identity(json_object_get(test, "want"), &id, dir, why);
    } else {
        if (rc == 0 || strstr(err.text, refused) == NULL)
            fail_msg("%s: %s", why, rc == 0 ? "was taken" : err.text);
        assert_string_equal(dv_err_kind_name(err.kind), json_string_value(json_object_get(test, "kind")));
        assert_null(id.server); /* outputs stay untouched */
    }
    kube_identity_free(&id);
}

static void cases(void **state)
{
    (void)state;
    char *dir = scratch_dir();
    put_file(dir, "ca.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    json_t *tests = test_read_json("test/unit/cases/kubeconfig/cases.json");
    size_t i;
    json_t *test;
    json_array_foreach(tests, i, test) check_case(test, dir);
    assert_true(i > 40);
    json_decref(tests);
    drop_dir(dir);
}

static void too_large(void **state)
{
    (void)state;
    struct kube_identity id = {0};
    struct dv_err err = DV_ERR_INIT;
    char *text = dv_alloc(KUBECONFIG_MAX + 2);
    memset(text, '#', KUBECONFIG_MAX + 1);
    assert_int_equal(kubeconfig_parse(text, KUBECONFIG_MAX + 1, NULL, &id, &err), -1);
    assert_int_equal(err.kind, DV_ERR_LIMIT);
    err = DV_ERR_INIT;
    assert_int_equal(kubeconfig_parse("a\0b", 3, NULL, &id, &err), -1);
    free(text);
}

static void in_cluster(void **state)
{
    (void)state;
    char *dir = scratch_dir();
    struct kube_identity id = {0};
    struct dv_err err = DV_ERR_INIT;
    (void)unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(kube_incluster_load(dir, &id, &err), -1);
    assert_non_null(strstr(err.text, "--kubeconfig"));
    (void)setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    (void)setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    err = DV_ERR_INIT;
    assert_int_equal(kube_incluster_load(dir, &id, &err), -1);
    assert_non_null(strstr(err.text, "ca.crt"));
    put_file(dir, "ca.crt", "-----BEGIN CERTIFICATE-----\n");
    put_file(dir, "namespace", "kafka\n");
    assert_int_equal(kube_incluster_load(dir, &id, NULL), 0);
    assert_string_equal(id.server, "https://10.0.0.1:443");
    assert_string_equal(id.ns, "kafka");
    assert_true(dv_ends_with(id.token_file, "/token"));
    kube_identity_free(&id);
    (void)setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    assert_int_equal(kube_incluster_load(dir, &id, NULL), 0);
    assert_string_equal(id.server, "https://[fd00::1]:443");
    kube_identity_free(&id);
    (void)unsetenv("KUBERNETES_SERVICE_HOST");
    drop_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),
        cmocka_unit_test(too_large),
        cmocka_unit_test(in_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kafka/internal.h"

/* The librdkafka configuration that comes out of a spec and Secret bytes. */

static const struct kafka_where security_where = {"dc1", "broker:9093", MODEL_A};

#define PEM_A "-----BEGIN CERTIFICATE-----\nQUFB\n-----END CERTIFICATE-----"
#define PEM_B "-----BEGIN CERTIFICATE-----\nQkJC\n-----END CERTIFICATE-----\n"
#define PEM_KEY "-----BEGIN PRIVATE KEY-----\nS0VZ\n-----END PRIVATE KEY-----\n"

static struct model_trusted security_trusted[2] = {{(char[]){"ca"}, (char[]){"a.crt"}}, {(char[]){"ca"}, (char[]){"b.crt"}}};

static struct model_kafka security_spec(enum model_auth_type auth, bool tls)
{
    struct model_kafka spec = {.tls = tls, .auth = auth};
    static char bootstrap[] = "broker:9093", user[] = "me", secret[] = "user", key[] = "password", cert[] = "user.crt",
                private[] = "user.key";
    spec.bootstrap = bootstrap;
    spec.username = user;
    spec.password_secret = secret;
    spec.password_key = key;
    spec.cert_secret = secret;
    spec.cert_certificate = cert;
    spec.cert_key = private;
    return spec;
}

static rd_kafka_conf_t *security_build(const struct model_kafka *spec, const char *const *values, struct dv_err *err)
{
    size_t lens[8] = {0};
    for (size_t i = 0; i < 8 && values[i] != NULL; i++)
        lens[i] = strlen(values[i]);
    return kafka_security_conf(spec, values, lens, security_where, err);
}

static void security_expect(const rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char text[2048] = "";
    size_t size = sizeof text;
    rd_kafka_conf_res_t result = rd_kafka_conf_get(conf, name, text, &size);
    if (value == NULL) {
        assert_true(result != RD_KAFKA_CONF_OK || text[0] == '\0');
        return;
    }
    assert_int_equal(result, RD_KAFKA_CONF_OK);
    assert_string_equal(text, value);
}

static void mechanisms(void **state)
{
    (void)state;
    static const struct {
        enum model_auth_type auth;
        bool tls;
        const char *protocol, *mechanism;
    } cases[] = {
        {MODEL_AUTH_NONE, false, "plaintext", NULL},
        {MODEL_AUTH_NONE, true, "ssl", NULL},
        {MODEL_AUTH_PLAIN, true, "sasl_ssl", "PLAIN"},
        {MODEL_AUTH_SCRAM_SHA_256, true, "sasl_ssl", "SCRAM-SHA-256"},
        {MODEL_AUTH_SCRAM_SHA_512, true, "sasl_ssl", "SCRAM-SHA-512"},
        {MODEL_AUTH_SCRAM_SHA_512, false, "sasl_plaintext", "SCRAM-SHA-512"},
    };
    const char *values[8] = {"pa ss\"=,word"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dv_err err = DV_ERR_INIT;
        struct model_kafka spec = security_spec(cases[i].auth, cases[i].tls);
        spec.allow_plaintext_credentials = true;
        rd_kafka_conf_t *conf = security_build(&spec, values, &err);
        assert_non_null(conf);
        security_expect(conf, "security.protocol", cases[i].protocol);
        security_expect(conf, "bootstrap.servers", "broker:9093");
        security_expect(conf, "enable.ssl.certificate.verification", "true");
        security_expect(conf, "ssl.endpoint.identification.algorithm", "https");
        security_expect(conf, "allow.auto.create.topics", "false");
        security_expect(conf, "ssl.ca.pem", NULL);
        if (cases[i].mechanism != NULL) {
            security_expect(conf, "sasl.mechanisms", cases[i].mechanism);
            security_expect(conf, "sasl.username", "me");
            security_expect(conf, "sasl.password", "pa ss\"=,word");
        } else {
            security_expect(conf, "sasl.password", NULL);
        }
        rd_kafka_conf_destroy(conf);
    }
}

static void certificates_by_value(void **state)
{
    (void)state;
    struct dv_err err = DV_ERR_INIT;
    struct model_kafka spec = security_spec(MODEL_AUTH_TLS, true);
    spec.trusted = security_trusted;
    spec.trusted_count = 2;
    const char *values[8] = {PEM_A, PEM_B, PEM_A, PEM_KEY};
    struct port_secret_item *items = NULL;
    assert_int_equal(kafka_security_items(&spec, &items), 4);
    assert_string_equal(items[1].key, "b.crt");
    assert_string_equal(items[2].key, "user.crt");
    assert_string_equal(items[3].key, "user.key");
    free(items);
    rd_kafka_conf_t *conf = security_build(&spec, values, &err);
    assert_non_null(conf);
    security_expect(conf, "ssl.ca.pem", PEM_A "\n" PEM_B "\n"); /* one that lacks its line end does not swallow the next */
    security_expect(conf, "ssl.certificate.pem", PEM_A "\n");
    security_expect(conf, "ssl.key.pem", PEM_KEY "\n");
    security_expect(conf, "sasl.mechanisms", "GSSAPI"); /* librdkafka's default, unused without SASL */
    rd_kafka_conf_destroy(conf);
}

static void trusted_certificates_without_tls_are_not_asked_for(void **state)
{
    (void)state;
    struct model_kafka spec = security_spec(MODEL_AUTH_NONE, false);
    struct port_secret_item *items = NULL;
    spec.trusted = security_trusted;
    spec.trusted_count = 2;
    assert_int_equal(kafka_security_items(&spec, &items), 0);
    free(items);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        enum model_auth_type auth;
        bool tls, no_user;
        const char *value;
        enum dv_err_kind kind;
        const char *part;
    } cases[] = {
        {MODEL_AUTH_PLAIN, false, false, "secret", DV_ERR_INVALID, "allowPlaintextCredentials"},
        {MODEL_AUTH_SCRAM_SHA_512, false, false, "secret", DV_ERR_INVALID, "allowPlaintextCredentials"},
        {MODEL_AUTH_TLS, false, false, PEM_A, DV_ERR_INVALID, "needs TLS"},
        {MODEL_AUTH_PLAIN, true, true, "secret", DV_ERR_INVALID, "username"},
        {MODEL_AUTH_PLAIN, true, false, "", DV_ERR_SECRET, "key password of Secret user is empty"},
        {MODEL_AUTH_TLS, true, false, "secret bytes", DV_ERR_CERT, "key user.crt of Secret user is not in PEM format"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dv_err err = DV_ERR_INIT;
        struct model_kafka spec = security_spec(cases[i].auth, cases[i].tls);
        const char *values[8] = {cases[i].value, PEM_KEY};
        if (cases[i].no_user)
            spec.username = NULL;
        assert_null(security_build(&spec, values, &err));
        assert_int_equal(err.kind, cases[i].kind);
        assert_non_null(strstr(err.text, cases[i].part));
        assert_non_null(strstr(err.text, "Kafka cluster dc1 (broker:9093): "));
        assert_null(strstr(err.text, "secret bytes"));
    }
    struct dv_err err = DV_ERR_INIT;
    struct model_kafka spec = security_spec(MODEL_AUTH_PLAIN, true);
    const char *value = "a\0b";
    size_t len = 3;
    assert_null(kafka_security_conf(&spec, &value, &len, security_where, &err));
    assert_int_equal(err.kind, DV_ERR_SECRET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mechanisms),
        cmocka_unit_test(certificates_by_value),
        cmocka_unit_test(trusted_certificates_without_tls_are_not_asked_for),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

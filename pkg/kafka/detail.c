#include "kafka/internal.h"

#include <ctype.h>
#include <string.h>

#include "base/err.h"

/* librdkafka's sentences about a connection, as a person can use them. */

/* "sasl_ssl://host:9093/bootstrap: ", "host:9093/1: ", "GroupCoordinator: ": the reader was told the cluster already. */
static const char *detail_after_broker(const char *text)
{
    for (;;) {
        size_t len = strcspn(text, " ");
        if (len < 2 || text[len] == '\0' || text[len - 1] != ':')
            return text;
        bool address = memchr(text, '/', len) != NULL || memchr(text, ':', len - 1) != NULL;
        if (!address && !dv_starts_with(text, "GroupCoordinator:"))
            return text;
        text += len + 1;
    }
}

static const char *detail_after_words(const char *text)
{
    static const char *const words[] = {"SSL handshake failed: ",
                                        "Receive failed: ",
                                        "Send failed: ",
                                        "SASL authentication error: ",
                                        "Authentication failed: ",
                                        "Authentication failed during authentication due to ",
                                        "Connect to ipv4#",
                                        "Connect to ipv6#",
                                        "Local: ",
                                        "Broker: "};
    const char *mechanism = dv_starts_with(text, "SASL ") ? strstr(text, " mechanism handshake failed: ") : NULL;
    if (mechanism != NULL)
        text = mechanism + strlen(" mechanism handshake failed: ");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (dv_starts_with(text, words[i]))
            text += strlen(words[i]);
    return text;
}

static void detail_cut_out(char *text, const char *from, size_t len)
{
    size_t at = (size_t)(from - text);
    memmove(text + at, text + at + len, strlen(text + at + len) + 1);
}

/* "error:0A000412:SSL routines::sslv3 alert bad certificate": what comes before the reason. */
static void detail_drop_openssl(char *text)
{
    const char *error;
    while ((error = strstr(text, "error:")) != NULL) {
        const char *end = error;
        for (int colons = 0; colons < 4 && end != NULL; colons++)
            end = strchr(end + (colons > 0), ':');
        if (end == NULL || !isxdigit((unsigned char)error[6]))
            return;
        detail_cut_out(text, error, (size_t)(end + 1 - error));
    }
}

/* How long the connection had been in which state is another text each time; librdkafka's own advice is about its own options. */
static void detail_drop_tails(char *text)
{
    static const char *const tails[] = {" (after ",          ": probably due to ", ": broker certificate could not ", ": SSL alert number ",
                                        ": client SSL auth", " (see api.version"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char *tail = strstr(text, tails[i]);
        if (tail != NULL)
            *tail = '\0';
    }
    static const char failed[] = " failed: Connection refused", refuses[] = " refuses the connection"; /* the shorter one */
    char *refused = strstr(text, failed);
    if (refused != NULL && refused[sizeof failed - 1] == '\0')
        memcpy(refused, refuses, sizeof refuses);
}

/* OpenSSL names an alert with the protocol version that had it first. */
static void detail_alert(char *out, size_t size, const char *text)
{
    const char *alert = strstr(text, " alert ");
    if (alert == NULL)
        (void)dv_shorten(out, text, size);
    else if (strstr(alert, "certificate required") != NULL)
        (void)dv_shorten(out, "the broker wants a client certificate", size);
    else if (strstr(alert, "bad certificate") != NULL) /* also where there is none */
        (void)dv_shorten(out, "the broker refuses our certificate, or wants one", size);
    else if (strstr(alert, "certificate") != NULL || strstr(alert, "unknown ca") != NULL)
        (void)dv_format(out, size, "the broker refuses our certificate: %s", alert + strlen(" alert "));
    else
        (void)dv_format(out, size, "the broker ends the TLS handshake: %s", alert + strlen(" alert "));
}

const char *kafka_detail(char *out, size_t size, const char *detail)
{
    char text[512];
    (void)dv_strlcpy(text, detail_after_words(detail_after_broker(detail)), sizeof text);
    detail_drop_openssl(text);
    detail_drop_tails(text);
    detail_alert(out, size, text);
    return out;
}

/* A client and a listener of different kinds. Where a broker that goes down looks the same, it is waited for. */
static const struct detail_known {
    const char *words, *also;
    struct kafka_known known;
} detail_known[] = {
    {"connecting to a SSL listener?", "", {DV_ERR_UNREACHABLE, "the listener seems to want TLS; set ", "tls or correct the port"}},
    {"connecting to a PLAINTEXT broker listener?",
     "",
     {DV_ERR_UNREACHABLE, "the listener seems not to speak TLS; correct the port or remove ", "tls"}},
    {"SSL handshake failed",
     "unexpected eof",
     {DV_ERR_UNREACHABLE, "the listener seems not to speak TLS; correct the port or remove ", "tls"}},
    {"wrong version number", "", {DV_ERR_CERT, "the listener does not speak TLS; correct the port or remove ", "tls"}},
    {"packet length too long", "", {DV_ERR_CERT, "the listener does not speak TLS; correct the port or remove ", "tls"}},
    {"might require SASL",
     "",
     {DV_ERR_UNREACHABLE, "the listener seems to want a user name and password; set ", "authentication or correct the port"}},
    {"not valid in current SASL state",
     "",
     {DV_ERR_AUTH, "the listener takes no user name and password; correct the port or remove ", "authentication"}},
};

const struct kafka_known *kafka_known(const char *detail)
{
    for (size_t i = 0; detail != NULL && i < sizeof detail_known / sizeof detail_known[0]; i++)
        if (strstr(detail, detail_known[i].words) != NULL && strstr(detail, detail_known[i].also) != NULL)
            return &detail_known[i].known;
    return NULL;
}

const char *kafka_place(char *out, size_t size, struct kafka_where where)
{
    int more = 0;
    for (const char *comma = strchr(where.bootstrap, ','); comma != NULL; comma = strchr(comma + 1, ','))
        more++;
    if (more == 0 || strlen(where.bootstrap) <= KAFKA_PLACE_LONG)
        return dv_format(out, size, "Kafka cluster %s (%s)", where.cluster, where.bootstrap);
    int first = (int)strcspn(where.bootstrap, ",");
    return dv_format(out, size, "Kafka cluster %s (%.*s and %d more)", where.cluster, first, where.bootstrap, more);
}

/* The phrases are those of Kafka's clients 3.x and 4.x. */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "distributor/subject.h"
#include "distributor/text.h"

static void subject_add(char *out, size_t size, const char *name, size_t len)
{
    if (len == 0)
        return;
    if (out[0] != '\0')
        distributor_text_append(out, size, ", ", 2);
    distributor_text_append(out, size, name, len);
}

void distributor_subject_errors(const char *text, const char *error, char *out, size_t size)
{
    size_t error_len = strlen(error);
    for (const char *hit = strstr(text, error); hit != NULL; hit = strstr(hit + error_len, error)) {
        const char *name = hit;
        while (name > text && strchr("{, \n", name[-1]) == NULL)
            name--;
        subject_add(out, size, name, (size_t)(hit - name));
    }
}

/* Length of the topic in "t-0", 0 when there is no partition. */
static size_t subject_topic_len(const char *name)
{
    size_t len = strcspn(name, " ,;)]}\n");
    while (len > 0 && !isdigit((unsigned char)name[len - 1])) /* a full stop */
        len--;
    size_t digits = len;
    while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
        digits--;
    return digits > 1 && digits < len && name[digits - 1] == '-' ? digits - 1 : 0;
}

void distributor_subject_partition(const char *text, const char *intro, char *out, size_t size)
{
    for (const char *hit = strstr(text, intro); hit != NULL; hit = strstr(hit + 1, intro)) {
        const char *name = hit + strlen(intro);
        size_t len = subject_topic_len(name);
        if (len > 0) {
            subject_add(out, size, name, len);
            return;
        }
    }
}

/* The names in "topics: [t1, t2]", "topics [t]". */
static void subject_topics(const char *text, char *out, size_t size)
{
    for (const char *at = strstr(text, "topics"); at != NULL; at = strstr(at + 1, "topics")) {
        const char *list = at + 6;
        if (*list == ':')
            list++;
        if (dv_starts_with(list, " [")) {
            subject_add(out, size, list + 2, strcspn(list + 2, "]\n"));
            return;
        }
    }
}

static void subject_group(const char *text, char *out, size_t size)
{
    static const char *const intros[] = {"access group: ", "groupId=", NULL};
    for (size_t i = 0; intros[i] != NULL; i++) {
        const char *name = strstr(text, intros[i]);
        if (name != NULL) {
            name += strlen(intros[i]);
            subject_add(out, size, name, strcspn(name, " ,]\n"));
            return;
        }
    }
}

static enum fact_acl_resource subject_resource(const char *text)
{
    static const char *const group[] = {"GroupAuthorization", "GROUP_AUTHORIZATION", "Group authorization", "access group", NULL};
    static const char *const cluster[] = {"ClusterAuthorization", "CLUSTER_AUTHORIZATION", "Cluster authorization", NULL};
    static const char *const transaction[] = {"TransactionalIdAuthorization", "TRANSACTIONAL_ID_AUTHORIZATION",
                                              "Transactional Id authorization", NULL};
    static const char *const topic[] = {"TopicAuthorization", "TOPIC_AUTHORIZATION", "opic authorization",
                                        "access topic",       "Not authorized to ",  NULL};
    if (distributor_text_has(text, group))
        return FACT_ACL_GROUP;
    if (distributor_text_has(text, transaction))
        return FACT_ACL_TRANSACTIONAL_ID;
    if (distributor_text_has(text, cluster))
        return FACT_ACL_CLUSTER;
    return distributor_text_has(text, topic) ? FACT_ACL_TOPIC : FACT_ACL_OTHER;
}

bool distributor_denial_of(const char *text, struct distributor_denial *out)
{
    if (text == NULL || (distributor_text_marks(text) & DISTRIBUTOR_MARK_AUTHORIZATION) == 0)
        return false;
    struct distributor_denial denial = {.resource = subject_resource(text)};
    if (denial.resource == FACT_ACL_GROUP)
        subject_group(text, denial.name, sizeof denial.name);
    if (denial.resource == FACT_ACL_TOPIC) {
        distributor_subject_errors(text, "=TOPIC_AUTHORIZATION_FAILED", denial.name, sizeof denial.name);
        if (denial.name[0] == '\0')
            subject_topics(text, denial.name, sizeof denial.name);
        if (denial.name[0] == '\0')
            distributor_subject_partition(text, "partition ", denial.name, sizeof denial.name);
    }
    *out = denial;
    return true;
}

void distributor_subject_unknown_topic(const char *text, char *out, size_t size)
{
    distributor_subject_errors(text, "=UNKNOWN_TOPIC_OR_PARTITION", out, size);
    if (out[0] == '\0')
        distributor_subject_partition(text, "partition ", out, size);
}

void distributor_subject_peer(const char *text, char *out, size_t size)
{
    const char *node = strstr(text, "node ");
    const char *peer = node != NULL ? strchr(node, '(') : NULL;
    if (peer != NULL && peer - node < 20) {
        subject_add(out, size, peer + 1, strcspn(peer + 1, " )\n"));
        return;
    }
    static const char *const intros[] = {"authentication with ", "connection to ", "onnect to ", NULL};
    for (size_t i = 0; intros[i] != NULL; i++) {
        peer = strstr(text, intros[i]);
        size_t len = peer != NULL ? strcspn(peer + strlen(intros[i]), " ,;)\n") : 0;
        if (len > 0 && memchr(peer + strlen(intros[i]), '/', len) != NULL) {
            subject_add(out, size, peer + strlen(intros[i]), len);
            return;
        }
    }
}

void distributor_subject_mechanism(const char *text, char *out, size_t size)
{
    static const char intro[] = "SASL mechanism ";
    const char *name = strstr(text, intro);
    if (name != NULL)
        subject_add(out, size, name + sizeof intro - 1, strspn(name + sizeof intro - 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"));
}

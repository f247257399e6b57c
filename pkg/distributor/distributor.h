/* What the objects and logs of an Axual Distributor say, as facts, and what follows from one fact alone. Pure: no clock, no descriptor.
 *
 * Objects come as the Kubernetes API gives them (kafka.strimzi.io v1 and v1beta2, core, batch). Everything read here is tolerant: a
 * missing, null or oddly typed field reads as absent, and NULL as an object without fields. No function here fails.
 */
#ifndef DV_DISTRIBUTOR_DISTRIBUTOR_H
#define DV_DISTRIBUTOR_DISTRIBUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "model/facts.h"

/* ---------------------------------------------------------------- objects */

/* The caller frees with fact_*_free(). Strings are never NULL unless facts.h says so. A connector whose reconciliation is paused has
 * not_ready_reason DISTRIBUTOR_PAUSED although Strimzi gives it no NotReady condition. */
struct fact_connector *distributor_connector(const json_t *object);
struct fact_connect *distributor_connect(const json_t *object);
struct fact_pod *distributor_pod(const json_t *object);
/* label_selector: a metav1.LabelSelector (matchLabels, matchExpressions) over the Job's labels. NULL matches nothing, {} everything; an
 * operator that is not known matches nothing. */
struct fact_job *distributor_job(const json_t *object, const json_t *label_selector);
bool distributor_selector_matches(const json_t *label_selector, const json_t *labels);

#define DISTRIBUTOR_PAUSED "ReconciliationPaused"

/* Reasons of an object's Warning conditions, joined with ", "; NULL when there are none. The caller frees. */
char *distributor_warnings(const json_t *object);

/* ---------------------------------------------------------------- judgement of one object */

enum distributor_health {
    DISTRIBUTOR_WAIT,    /* not yet, no fault */
    DISTRIBUTOR_HEALTHY, /* on, as wanted: at its generation, RUNNING, at least one task and all RUNNING */
    DISTRIBUTOR_FAILED,  /* what says how */
    DISTRIBUTOR_BLOCKED, /* a person has to act first */
    DISTRIBUTOR_OFF,     /* not working, as wanted */
};

enum distributor_fault {
    DISTRIBUTOR_FINE,
    DISTRIBUTOR_CONNECTOR_FAILED,
    DISTRIBUTOR_TASK_FAILED,
    DISTRIBUTOR_PLUGIN_MISSING,
    DISTRIBUTOR_AUTO_RESTARTED,    /* everything may look RUNNING again */
    DISTRIBUTOR_CONNECT_NOT_READY, /* of a KafkaConnect */
};

struct distributor_judgement {
    enum distributor_health health;
    enum distributor_fault fault; /* FINE unless health is FAILED */
    int32_t task;                 /* first failed one; -1 */
    char why[FACT_CAUSE_MAX];     /* for people; "" when healthy */
};

/* connector NULL: the object is not there. auto_restarts_at_start: fact_connector.auto_restarts when the stage began (a count that fell is
 * Strimzi forgetting old restarts, not a restart). Whether a HEALTHY is fresh, held and alive is the caller's to find out: Strimzi writes
 * a status only when it changes. A FAILED with connector->authorization is a missing ACL to the caller. */
void distributor_judge_connector(const struct fact_connector *connector, bool wanted_on, int64_t auto_restarts_at_start,
                                 struct distributor_judgement *out);
/* HEALTHY: Ready at its generation. Its pods are to be looked at besides. */
void distributor_judge_connect(const struct fact_connect *connect, struct distributor_judgement *out);

/* ---------------------------------------------------------------- causes */

/* Root cause of a Java stack trace: the last "Caused by:" of its own chain (not of what was suppressed), else the first exception, else
 * the first line; class names without their package. */
void distributor_root_cause(const char *trace, char *out, size_t size);

/* What a denied right is about, from an exception's or log record's text. */
struct distributor_denial {
    enum fact_acl_resource resource; /* FACT_ACL_OTHER when the text does not say */
    char name[160];                  /* topics ("t1, t2" when there are more), group; "" when the text does not say */
};
/* False when the text does not speak of authorization; then out is untouched. */
bool distributor_denial_of(const char *text, struct distributor_denial *out);

/* ---------------------------------------------------------------- logs */

/* Reads one container's log and keeps its dirty records, folded. Levels decide, never words in an INFO line. Memory is bounded whatever
 * comes in. Understands Strimzi's and Kafka's text layouts and JSON, one object per line. */
struct distributor_log;

#define DISTRIBUTOR_LOG_FINDINGS 64 /* beyond it new ones are counted with the last of their kind and severity */

/* allow: substrings of a record's first line or exception lines that make it clean, besides the built-in ones; copied. */
struct distributor_log *distributor_log_new(const char *pod, char *const *allow, size_t allow_count);
void distributor_log_free(struct distributor_log *log); /* takes NULL */
/* Bytes as they come, cut anywhere. */
void distributor_log_feed(struct distributor_log *log, const char *bytes, size_t len);
/* Whole lines without the last line break, as PORT_KUBE_LINES brings them. */
void distributor_log_lines(struct distributor_log *log, const char *text, size_t len);
/* Takes the open record (and a line without its break) into the findings: for when nothing more came for a moment, and at the end. A trace
 * that goes on afterwards is still its own, but may turn the finding into another, milder one: do not flush after every chunk. */
void distributor_log_flush(struct distributor_log *log);
/* In order of first appearance; borrowed until the next call with this log. line of a JSON record is its message. The same record right
 * behind itself extends last_line. */
size_t distributor_log_findings(const struct distributor_log *log, const struct fact_log_finding **out);

/* Whether a finding fails the check by itself: not a retried exception, and not an unknown topic, or a connection that ended during
 * authentication, in WARN lines for no longer than arrival_ms. What happened around it (init job, disturbance) is the caller's to weigh. */
bool distributor_log_is_dirty(const struct fact_log_finding *finding, int64_t arrival_ms);
/* One sentence without its full stop. Returns out. */
char *distributor_log_text(const struct fact_log_finding *finding, char *out, size_t size);

/* ---------------------------------------------------------------- effective ACLs */

enum distributor_acl_verdict {
    DISTRIBUTOR_ACL_NONE,         /* nothing allows it */
    DISTRIBUTOR_ACL_ALLOWED,      /* from every host */
    DISTRIBUTOR_ACL_DENIED,       /* a deny rule wins */
    DISTRIBUTOR_ACL_HOST_DENIED,  /* a deny rule for some hosts may win */
    DISTRIBUTOR_ACL_HOST_LIMITED, /* allowed from some hosts only */
};

/* As Kafka's StandardAuthorizer decides (literal, prefixed, "*", "User:*"; Read, Write, Delete and Alter imply Describe, AlterConfigs
 * implies DescribeConfigs when they allow, not when they deny). Super users and allow.everyone.if.no.acl.found are not known here. */
enum distributor_acl_verdict distributor_acl_check(const struct fact_acl *acls, size_t count, const char *principal,
                                                   enum fact_acl_resource resource, const char *name, enum fact_acl_operation operation,
                                                   const struct fact_acl **deciding);
/* True for ALLOWED alone. deciding (may be NULL): the rule that decided, NULL when none did; borrowed. */
bool distributor_acl_allows(const struct fact_acl *acls, size_t count, const char *principal, enum fact_acl_resource resource,
                            const char *name, enum fact_acl_operation operation, const struct fact_acl **deciding);
/* "deny User:x Write on topic demo- (prefixed) from host *". Returns out. */
char *distributor_acl_text(const struct fact_acl *acl, char *out, size_t size);
const char *distributor_acl_operation_name(enum fact_acl_operation operation);
const char *distributor_acl_resource_name(enum fact_acl_resource resource);

#endif

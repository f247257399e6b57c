/* decide(): the whole judgement of a verification as one pure function, snapshot in, plan out. */
#ifndef DV_VERIFY_VERIFY_H
#define DV_VERIFY_VERIFY_H

#include "base/timefmt.h"
#include "model/facts.h"
#include "model/status.h"
#include "verify/probes.h"

/* ---------------------------------------------------------------- facts in the snapshot */

/* Facts of one side. The first ones are asked for; those from VF_VALUES on are watched and come by themselves. */
enum verify_fact {
    VF_CLUSTER_ID,
    VF_TEST_TOPIC,
    VF_TS_TOPIC,
    VF_TEST_LOG,
    VF_TS_LOG,
    VF_READ_RIGHT,
    VF_TS_READ_RIGHT,
    VF_ACLS,
    VF_GROUPS,
    VF_MD_COMMITS,   /* of the Message Distributor's group on the test topic */
    VF_TEST_COMMITS, /* of the test group on the test topic */
    VF_GROUP_LAG,    /* of the Message Distributor's group over all topics: reported, never judged, and so its failure decides nothing */
    VF_DISTANCE,
    VF_ACCESS, /* own rights on the API server of this side */
    VF_ASKED_COUNT,
    VF_VALUES = VF_ASKED_COUNT,
    VF_CONNECT,
    VF_CONNECTORS,
    VF_PODS,
    VF_JOBS,
    VF_LOGS,
    VF_COUNT,
};

const char *verify_fact_text(enum verify_fact fact); /* for people: "the test topic's log end" */

struct verify_stamp {
    int64_t as_of_ms;  /* monotonic: what is known was true at this time or later; 0: nothing known yet */
    int64_t failed_ms; /* monotonic: the last failure, 0: none since as_of */
    struct dv_err err; /* of that failure */
};

enum verify_declared { VERIFY_ABSENT, VERIFY_OFF, VERIFY_ON, VERIFY_UNREADABLE };

/* The object that holds a Distributor's values, as read by pkg/values. */
struct verify_values {
    bool found;
    bool key_found;
    bool key_binary;   /* it is there under binaryData: no UTF-8 text */
    bool immutable;    /* the object */
    bool readable;     /* the text parses */
    struct dv_err why; /* with readable false, or of the first path with which something is wrong */
    char why_path[48]; /* its place in the Distributor's spec, "principalsPath"; "": why is about the text as a whole */
    enum verify_declared declared[MODEL_SWITCHES];
    bool settable; /* all five can be set safely, and no path is most likely mistyped */
    char **principals;
    size_t principal_count;
    bool principals_readable;
    bool principals_absent;
    struct dv_err principals_why; /* with principals_readable false */
    char manager[64];             /* field manager of the last change */
    char version[32];             /* resourceVersion */
};

enum verify_health { VERIFY_WAIT, VERIFY_HEALTHY, VERIFY_FAILED, VERIFY_BLOCKED };

struct verify_connector {
    const struct fact_connector *fact;
    enum verify_health health; /* as wanted on, apart from automatic restarts */
    char why[256];
};

/* Effective rights of the Distributors' principals on one Kafka cluster. */
struct verify_right {
    bool allowed;
    bool denied;         /* by a deny rule that wins */
    char principal[200]; /* the first that lacks it */
};

/* Data records in [from, to) of a partition with a timestamp below before_ms; counting ends at the limit (0: none). */
struct verify_distance {
    int32_t partition;
    int64_t from, to, before_ms;
    int64_t limit;
    int64_t records;
};
#define VERIFY_DISTANCES (2 * MODEL_PARTITIONS_MAX) /* at most two of each partition are of use at a time */
#define VERIFY_QUESTIONS 8                          /* as many are asked for at a time */

bool verify_distance_same(const struct verify_distance *a, const struct verify_distance *b); /* as questions */

#define VERIFY_GROUPS 4 /* by enum model_connector, then the test group */
#define VERIFY_TEST_GROUP 3

struct verify_side {
    struct verify_stamp stamp[VF_COUNT];
    /* Kafka */
    char cluster_id[64];
    struct fact_topic test_topic, ts_topic;
    const struct fact_offsets *test_log, *ts_log, *md_commits, *test_commits; /* NULL until known */
    const struct fact_group *groups;                                          /* VERIFY_GROUPS of them, NULL until known */
    struct fact_group_lag group_lag;
    struct verify_right write_test;                   /* the far side's principals: Write on the test topic here */
    struct verify_right write_ts;                     /* the far side's principals: Write on the timestamps topic here */
    struct verify_right read_group[MODEL_CONNECTORS]; /* this side's principals: Read on their groups here */
    const struct verify_distance *distances;          /* answered ones */
    size_t distance_count;
    /* Kubernetes */
    char access_missing[600]; /* all that is missing, "list pods, watch pods"; "" when nothing is */
    const struct verify_values *values;
    const struct fact_connect *connect;        /* NULL: not there */
    const struct verify_connector *connectors; /* all that are labelled for this KafkaConnect */
    size_t connector_count;
    const struct fact_pod *const *pods;
    size_t pod_count;
    const struct fact_job *const *jobs; /* those that match the init job's selector */
    size_t job_count;
    const struct fact_log_finding *findings; /* since the stage began, over all Connect pods */
    const bool *finding_dirty;
    size_t finding_count;
    /* readers */
    int64_t reader_at_ms;       /* monotonic: the probe reader last stood at the end of every partition; 0: never */
    const int64_t *reader_next; /* next offset to read, by partition; NULL */
    const int64_t *reader_high; /* high watermark seen */
    const int64_t *reader_stable;
    int64_t ts_reader_at_ms;
    int64_t ts_seen;    /* timestamps records of ours since the reader was positioned */
    int64_t ts_last_ms; /* monotonic time of the last one */
};

/* ---------------------------------------------------------------- what a run remembers in memory only */

enum verify_effect_state { EFFECT_NONE, EFFECT_ASKED, EFFECT_DONE, EFFECT_FAILED };

struct verify_memory {
    char run[11];
    enum model_stage stage;
    char step[32];
    int64_t step_since_ms; /* monotonic here and below */
    int64_t stage_since_ms;
    int64_t retry_ms;   /* the next attempt begins then; 0: now */
    int64_t ts_last_ms; /* last timestamps record of our group behind our commit; 0: none yet */
    bool resumed;       /* taken up after a restart in this stage: what happened before is not known */
    int64_t progress_ms;
    int64_t idle_before_ms; /* time without progress before a restart, until there is progress again */
    int applied_row;        /* row of the switch table whose set of connectors was seen complete */
    int64_t best_score;     /* of pods, connectors and tasks in this step */
    int64_t best_commit;    /* of the Message Distributors' commits below what is waited for */
    int64_t best_copies;
    int64_t best_ts;
    int64_t ts_base;        /* timestamps records of ours that came before our commit */
    int64_t hold_since_ms;  /* 0: what must hold does not hold now */
    int64_t look_ms;        /* first of two looks */
    int64_t extra_since_ms; /* first extra copy; 0: none */
    int64_t stuck_since_ms; /* a reader stands below the high watermark here; 0: none does */
    enum model_side stuck_side;
    int32_t stuck_partition;
    int64_t stuck_offset;
    int64_t paused_since_ms;              /* suspended; 0: not */
    int64_t run_wall_offset_ms;           /* wall - monotonic when the run was taken up */
    int64_t written_ms[MODEL_SIDES];      /* our last write of the values; 0: none in this process */
    int64_t job_done_ms[MODEL_SIDES];     /* this revision's init job was seen finished; 0: not */
    int64_t rights_given_ms[MODEL_SIDES]; /* when this revision's rights are there at the latest, and from when findings about them count */
    int64_t rights_due_ms[MODEL_SIDES];
    bool restarts_known[MODEL_SIDES][MODEL_CONNECTORS];
    int64_t restarts[MODEL_SIDES][MODEL_CONNECTORS];
    int64_t pod_lives[MODEL_SIDES];                  /* which pods and containers there are; -1: unknown */
    uint64_t workers[MODEL_SIDES][MODEL_CONNECTORS]; /* where the tasks were placed */
    int64_t disturbed_ms; /* last restart of a pod or move of a task, or broker out of reach; 0: none in this stage */
    /* effects */
    char effect_id[16]; /* intent this process opened or took up */
    enum verify_effect_state effect;
    struct dv_err effect_err;
    int64_t effect_ms;      /* when it was done */
    int64_t write_after_ms; /* no write of values before: the last one failed */
    int64_t refused_ms;     /* since when the API server refuses our patch; 0: it does not */
    /* offsets, by partition */
    int32_t partitions;
    int64_t mark[MODEL_SIDES][MODEL_PARTITIONS_MAX];
    int64_t before[MODEL_PARTITIONS_MAX]; /* far side's */
    int64_t last[MODEL_SIDES][MODEL_PARTITIONS_MAX];
    int64_t changed_ms[MODEL_SIDES];
    int64_t changes[MODEL_SIDES];
    int64_t right_ms;           /* the far offset was right; 0: not yet */
    unsigned probes_generation; /* raised to read the topic again */
    int64_t logs_since_wall_ms; /* findings count from here */
    int64_t reread_ms;
    int64_t values_gone_ms[MODEL_SIDES]; /* since when the values\' object or key is not there; 0: it is */
    int64_t dirty_ms;                    /* since when a log line is there that is not clean; 0: none is */
    uint64_t abort_told;                 /* hash of an abort annotation that names another run, once that was told */
};

/* ---------------------------------------------------------------- snapshot and plan */

struct verify_snapshot {
    struct dv_now now;
    /* the resource */
    const char *uid;
    int64_t generation;
    bool deleting;
    bool has_finalizer;
    const struct model_spec *spec; /* NULL when it cannot be used */
    const struct dv_err *spec_err;
    const struct model_status *status;
    const char *reverify; /* annotations; NULL when absent */
    const char *abort;
    const char *new_run_id;  /* random; used when a run starts */
    const char *crd_too_old; /* why the status cannot be written in full; NULL */
    const char *conflict;    /* key of another verification that drives one of the Distributors; NULL */
    const char *goes_first;  /* with a run in Preflight: one of these whose run goes before it; NULL */
    bool may_run;            /* a place among --max-runs is free or held */
    const struct verify_memory *memory;
    const struct probe_table *probes;
    struct verify_side side[MODEL_SIDES];
};

struct verify_event {
    char run[11]; /* that it is about */
    bool warning;
    char reason[48];
    char note[512];
};
#define VERIFY_EVENTS_MAX 12

/* What must be watched while the plan holds; the controller starts and stops what differs. */
struct verify_observe {
    bool watches;                /* both Distributors' objects */
    bool clients;                /* Kafka clients, jobs, logs */
    bool readers;                /* probe readers from run.startOffsets on both sides */
    bool ts_reader[MODEL_SIDES]; /* timestamps reader, positioned at the log end when it is started */
    unsigned probes_generation;
    int64_t logs_since_ms; /* wall */
};

struct verify_plan {
    struct model_status status;
    struct verify_memory memory;
    struct verify_observe observe;
    uint32_t ask[MODEL_SIDES];                                       /* bits of enum verify_fact */
    struct verify_distance distances[MODEL_SIDES][VERIFY_QUESTIONS]; /* the questions, with VF_DISTANCE */
    size_t distance_count[MODEL_SIDES];
    /* The effect of status.run.intent, to be started once the status is written. */
    bool act;
    struct model_switches act_switches; /* INTENT_VALUES */
    size_t act_batch;                   /* INTENT_RECORDS */
    int64_t act_spacing_ms;             /* INTENT_RECORDS: between the timestamps of one partition's records */
    bool finalizer;                     /* wanted */
    bool release;                       /* the run is over: give its place back */
    struct verify_event events[VERIFY_EVENTS_MAX];
    size_t event_count;
    int64_t wake_ms;     /* monotonic: look again at the latest then; INT64_MAX: only on an event */
    char waits_for[240]; /* open wait, for people */
};

/* Fills plan (which must be zeroed memory or uninitialised); free with verify_plan_clear. */
void verify_decide(const struct verify_snapshot *snapshot, struct verify_plan *plan);
void verify_plan_clear(struct verify_plan *plan);

/* All stage tables as text, for the golden file. Caller frees. */
char *verify_dump_tables(void);

/* Commit interval and arrival in force: spec, else the longer flush interval of both KafkaConnects, else 60 s; that + 30 s. */
int64_t verify_commit_interval_ms(const struct verify_snapshot *snapshot);
int64_t verify_arrival_ms(const struct verify_snapshot *snapshot);

/* Command that repeats the check of a group's offsets by hand. */
#endif

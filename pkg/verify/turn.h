/* Inside pkg/verify: one turn of decide() over an active run, the tables it walks, and the helpers that guards and acts share. */
#ifndef DV_VERIFY_TURN_H
#define DV_VERIFY_TURN_H

#include "verify/verify.h"

#define TURN_REFUSED_MS 30000 /* what an API server allowed before and refuses now, it refuses for good after so long */

#define EACH_SIDE(side) for (int side = 0; side < MODEL_SIDES; side++)
#define EACH_CONNECTOR(c) for (int c = 0; c < MODEL_CONNECTORS; c++)

struct turn {
    const struct verify_snapshot *s;
    const struct model_spec *spec;
    struct verify_plan *p;
    struct model_status *st; /* p->status */
    struct verify_memory *m; /* p->memory */
    enum model_stage stage;
    enum model_side near, far; /* as the stage sees them: the side that sends and the side that receives; here = near */
    const struct verify_step *step;
    int64_t now;    /* monotonic */
    bool unseen;    /* the stage could pass, were it not for what cannot be seen or is not so any more */
    bool unknown;   /* a fact that was looked at since this was last cleared is not known yet */
    char said[900]; /* the sentence a guard found */
};

/* Rows of the normative switch table. */
enum switch_row {
    ROW_NOTHING,
    ROW_INIT_A,
    ROW_INIT_B,
    ROW_MESSAGES_A,
    ROW_MESSAGES_B,
    ROW_OFFSETS_7A,
    ROW_OFFSETS_7B,
    ROW_OFFSETS_8A,
    ROW_OFFSETS_8B,
    ROW_PERSIST_9A,
    ROW_PERSIST_9B,
    ROW_FINALLY,
    ROW_LOOP_OFF, /* row in force, but the Message Distributor that was switched on last is off */
};

/* One step of a stage. The stage waits in it for one thing. */
struct verify_step {
    const char *name;
    const char *what;       /* what is waited for, for people */
    bool demanded;          /* the wait is asked for by the spec (settle, held, window); else the world takes the time */
    enum switch_row row;    /* switches that are in force from this step on */
    enum model_reason late; /* reason when the stage's deadline ends here; None: StageDeadlineExceeded */
    const char *resume;     /* step to take up after a restart; NULL: this one */
};

/* OUT_UNSURE: as OUT_STOP, but Inconclusive whatever the reason says elsewhere. */
enum row_outcome { OUT_WAIT, OUT_GO, OUT_PASS, OUT_STOP, OUT_UNSURE };

/* First match of a step wins; the last row of each step is unconditional. */
struct verify_row {
    const char *step; /* NULL: every step */
    const char *guard_name;
    bool (*guard)(struct turn *t);
    const char *act_name;
    void (*act)(struct turn *t);
    enum row_outcome outcome;
    enum model_reason reason;
    const char *next;
};

#define ROW(step, guard, act, outcome, reason, next)                   \
    {                                                                  \
        step, #guard, guard, #act, act, outcome, REASON_##reason, next \
    }

struct verify_table {
    const struct verify_step *steps;
    size_t step_count;
    const struct verify_row *rows;
    size_t row_count;
    const char *retry; /* step from which an inconclusive stage tries again */
};

extern const struct verify_table verify_tables[MODEL_STAGES];

const struct verify_step *table_step(enum model_stage stage, const char *name);
/* What a row of the normative table wants of one side; false: nothing yet. */
bool table_switches(const struct model_spec *spec, enum switch_row row, enum model_side side, struct model_switches *out);

/* ---------------------------------------------------------------- helpers of a turn */

bool always(struct turn *t);
void nothing(struct turn *t);

void turn_say(struct turn *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void turn_wake(struct turn *t, int64_t at_ms);
void turn_go(struct turn *t, const char *step);
void turn_event(struct turn *t, bool warning, const char *reason, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void turn_note(struct turn *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void turn_progress(struct turn *t);

const struct verify_side *turn_side(const struct turn *t, enum model_side side);
const struct model_cluster *turn_cluster(const struct turn *t, enum model_side side);
const char *turn_name(const struct turn *t, enum model_side side); /* the cluster's name; "a" or "b" where the spec cannot be used */
int64_t turn_poll_ms(const struct turn *t);
const char *turn_what(const struct turn *t); /* what the step waits for, never NULL */
const char *turn_open_wait(struct turn *t);  /* the same with what is open of it, or with why the last effect failed */

/* Known as of `since` or later? Asks when it is not, and again when what is known is older than the poll interval. */
bool turn_fresh(struct turn *t, enum model_side side, enum verify_fact fact, int64_t since_ms);
/* Continuous truth: true when ok has held for for_ms. While something is unknown (t->unknown) it neither ends nor completes. */
bool turn_held(struct turn *t, bool ok, int64_t for_ms);
int64_t turn_step_age(const struct turn *t);
/* From when a wait for something that must come counts: since, or the end of the last disturbance (pod restart, cluster out of reach). */
int64_t turn_undisturbed(const struct turn *t, int64_t since_ms);
int64_t turn_arrival_due(const struct turn *t); /* when nothing moved for arrival in this step, disturbances left out */
int64_t turn_stage_due(const struct turn *t);   /* when nothing moved for as long as a stage may wait */

/* Switches wanted of a side in this step; false: nothing yet. */
bool turn_want(const struct turn *t, enum model_side side, struct model_switches *out);
bool turn_wants_connector(const struct turn *t, enum model_side side, enum model_connector connector);
/* First switch that the values do not declare so; -1: they hold all of them. */
int turn_undeclared(const struct verify_values *values, const struct model_switches *want);
bool turn_declared(const struct turn *t, enum model_side side, const struct model_switches *want);
/* Records that the question counts, its limit when there are as many or more; -1: asked for, not known yet. */
int64_t turn_distance(struct turn *t, enum model_side side, const struct verify_distance *question);
const struct verify_connector *turn_connector_named(const struct verify_side *facts, const char *name); /* NULL: not there */
const struct verify_connector *turn_connector(const struct turn *t, enum model_side side, enum model_connector connector);
const struct fact_group *turn_group(const struct turn *t, enum model_side side, int which);
bool turn_group_hidden(const struct fact_group *group); /* listed but Dead: of the new protocol, and who is in it is not known */

/* Opens an intent; the effect is started once the status that holds it is written. */
void intent_values(struct turn *t, enum model_side side);
void intent_records(struct turn *t, enum model_side side, int32_t per_partition);
void intent_commit(struct turn *t, enum model_side side, const int64_t *offsets, const int64_t *before, int32_t partitions);

/* Drives an open intent. OUT_WAIT: stay; OUT_GO: none is open, rows may be tried; OUT_STOP: t->said and *reason are set. */
enum row_outcome intent_drive(struct turn *t, enum model_reason *reason);

void evidence_wait(struct turn *t, const char *what, bool demanded, int64_t ms);
void evidence_values(struct turn *t, enum model_side side, bool written);
void evidence_stage(struct turn *t); /* connectors, records, lag as seen at the end of a stage */
#define EVIDENCE_UNCOUNTED INT64_MAX /* a distance that is left out */
void evidence_offset(struct turn *t, enum model_side side, int32_t partition, int64_t before, int64_t set, int64_t expected, int64_t actual,
                     int64_t distance);

/* Current batch: the last one of this stage on a side; batch_count when there is none. */
size_t turn_batch(const struct turn *t, enum model_side side);

/* "<stage>: <text>", cut with an ellipsis between characters when it does not fit. */
void texts_top(char *out, size_t size, const char *stage, const char *text);
void texts_end(char *out, size_t size, const char *stage, const char *text, enum model_reason reason); /* with what to do */
/* Conditions, top message and history from the rest of the status. */
void texts_conditions(const struct verify_snapshot *s, struct model_status *st);

#endif

/* Inside pkg/verify: the guards and acts that rows name. A guard returns whether its row applies; one that ends a stage leaves its sentence
 * with turn_say(). An act changes the plan. */
#ifndef DV_VERIFY_GUARDS_H
#define DV_VERIFY_GUARDS_H

#include "verify/turn.h"

/* every step: guards_global.c, guards_values.c, guards_connect.c */
const struct verify_stamp *world_out_of_reach(struct turn *t); /* a question or watch that cannot be served now; NULL */
bool secret_missing(struct turn *t);
bool credentials_refused(struct turn *t);
bool certificate_unusable(struct turn *t);
bool right_missing(struct turn *t);
bool values_gone(struct turn *t);
bool values_open(struct turn *t);
bool values_unusable(struct turn *t);
bool values_reverted(struct turn *t);
bool values_changed(struct turn *t);
bool connector_unexpected(struct turn *t);
bool acls_open(struct turn *t);
bool acl_missing(struct turn *t);
bool plugin_missing(struct turn *t);
bool connector_failed(struct turn *t);
bool task_failed(struct turn *t);
bool logs_open(struct turn *t);
bool logs_disturbed(struct turn *t);
bool logs_dirty(struct turn *t);
bool loop_seen(struct turn *t);
bool redelivery_suspected(struct turn *t);
bool records_duplicated(struct turn *t);
bool extra_watched(struct turn *t);
bool record_altered(struct turn *t);
bool transaction_open(struct turn *t);
bool group_active(struct turn *t);
bool unreachable_late(struct turn *t);
bool connect_late(struct turn *t);
bool values_late(struct turn *t);
bool drain_late(struct turn *t);
bool run_late(struct turn *t);
bool stage_late(struct turn *t);

/* Preflight and Init: guards_init.c */
bool access_missing(struct turn *t);
bool connect_unusable(struct turn *t);
bool plugin_not_listed(struct turn *t);
bool flush_too_long(struct turn *t);
bool cluster_same(struct turn *t);
bool topic_not_found(struct turn *t);
bool partitions_differ(struct turn *t, int32_t a, int32_t b); /* the test topic's, on A and on B */
bool topic_unsuitable(struct turn *t);
bool partitions_too_many(struct turn *t);
bool group_not_empty(struct turn *t);
bool distribution_on(struct turn *t);
bool preflight_unknown(struct turn *t);
void remember_before(struct turn *t);
void tell_missing_switches(struct turn *t, enum model_side side);
bool principals_unreadable(struct turn *t);
bool principal_not_listed(struct turn *t);
/* "init.principals": where the values of side list the principals. */
#define PRINCIPALS_PATH_TEXT 160
const char *principals_path(const struct turn *t, enum model_side side, char out[PRINCIPALS_PATH_TEXT]);
bool values_unknown(struct turn *t);
void own_principal_note(struct turn *t);
bool init_job_failed(struct turn *t);
bool init_job_open(struct turn *t);
bool init_job_runs(const struct turn *t, enum model_side side);
void init_jobs_look(struct turn *t); /* once a turn */
void job_seen(struct turn *t);
bool connect_not_ready(struct turn *t);
bool not_quiet(struct turn *t);
bool quiet_held(struct turn *t);
bool quiet_ended(struct turn *t);
bool acls_effective(struct turn *t);
bool acls_late(struct turn *t);

/* Values and connectors of any stage: guards_apply.c */
bool declared_all(struct turn *t);
void write_values(struct turn *t);
bool applied(struct turn *t);
bool connectors_on(struct turn *t);
bool connectors_fell(struct turn *t);
bool connectors_away(struct turn *t, int64_t since_ms); /* as seen since then; true as well while that is asked */
bool connectors_held(struct turn *t);
bool partition_unassigned(struct turn *t);
bool committer_elsewhere(struct turn *t);
bool connector_off(struct turn *t, enum model_side side, enum model_connector connector);
/* Its group is of the new protocol and cannot be described: the object, held one reconcile interval, is the evidence. */
bool connector_blind(const struct turn *t, enum model_side side, enum model_connector connector);
int64_t unsubscribed_partition(struct turn *t, enum model_side side);

/* Messages: guards_messages.c */
bool marks_taken(struct turn *t);
bool records_deleted(struct turn *t);
bool log_cut_off(struct turn *t);
bool partitions_changed(struct turn *t);
void take_marks(struct turn *t);
bool readers_ready(struct turn *t);
void produce_near(struct turn *t);
void produce_far(struct turn *t);
bool replicated_while_off(struct turn *t);
bool control_settled(struct turn *t);
bool near_arrived(struct turn *t);
bool far_arrived(struct turn *t);
bool both_arrived(struct turn *t);
bool both_counted(struct turn *t); /* of each side there are records that can be counted */
bool near_passed(struct turn *t);
bool records_missing(struct turn *t);
bool commits_passed(struct turn *t);
bool commits_behind(struct turn *t);
bool settled(struct turn *t);
bool distribution_stalled(struct turn *t);
bool mark_known(struct turn *t);
void set_mark(struct turn *t);
bool mark_reached(struct turn *t);
bool second_mark_late(struct turn *t);
void read_again(struct turn *t);
bool read_again_complete(struct turn *t);
bool read_again_missing(struct turn *t);
bool read_again_and_lag_asked(struct turn *t);
void note_group_lag(struct turn *t);

/* Offsets: guards_offsets.c. "near" is the side on which we commit. */
bool ts_topic_missing(struct turn *t);
bool ts_topic_ready(struct turn *t);
bool before_steady(struct turn *t);
void start_before(struct turn *t);
bool ts_reader_ready(struct turn *t);
void produce_barrier(struct turn *t);
bool barrier_known(struct turn *t);
void commit_barrier(struct turn *t);
bool near_reset(struct turn *t);
bool offset_beyond_end(struct turn *t);
bool offset_ahead(struct turn *t);
bool offset_right(struct turn *t);
bool ts_seen(struct turn *t);
bool near_moved_disturbed(struct turn *t);
bool near_moved(struct turn *t);
bool ts_not_seen_late(struct turn *t);
bool ts_missing_late(struct turn *t);
bool offset_not_moved_late(struct turn *t);
bool timestamps_out_of_order(struct turn *t);
bool offset_behind_late(struct turn *t);
void note_offsets(struct turn *t);
void produce_equal(struct turn *t);
void commit_equal(struct turn *t);
void note_equal(struct turn *t);
bool equal_late(struct turn *t);
void note_equal_late(struct turn *t);
bool echo_ahead(struct turn *t);
bool echo_behind_disturbed(struct turn *t);
bool echo_behind(struct turn *t);
bool echo_moving(struct turn *t);
bool echo_quiet(struct turn *t);
bool offset_rewound(struct turn *t);
bool values_not_persisted(struct turn *t);

#endif

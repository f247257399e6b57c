/* What people do to resources: more than one of them, changes, requests, deletion. */
#ifndef DV_SIM_PEOPLE_H
#define DV_SIM_PEOPLE_H

void people_spec_change_in_mid_run(void **state);
void people_spec_change_is_no_end(void **state);
void people_spec_change_during_a_patch(void **state);
void people_unusable_spec_during_a_patch(void **state);
void people_allow_a_line_while_suspended(void **state);
void people_stale_then_reverify(void **state);
void people_reverify_during_a_run(void **state);
void people_reverify_with_a_long_token(void **state);
void people_are_told_once(void **state);
void people_delete_in_mid_run(void **state);
void people_delete_while_unreachable(void **state);
void people_two_on_one_distributor(void **state);
void people_one_place_for_two(void **state);
void people_two_from_the_start(void **state);
void people_two_by_other_kubeconfigs(void **state);
void people_one_place_from_the_start(void **state);
void people_waiting_over_a_restart(void **state);
void people_invalid_spec_is_corrected(void **state);
void people_run_again_after_failure(void **state);
void people_suspended_from_the_start(void **state);
void people_crd_too_old(void **state);
void people_recreated(void **state);
void people_lag_of_the_whole_group(void **state);
void people_store_from_a_backup(void **state);
void people_other_cluster_behind_the_kubeconfig(void **state);

#endif

# The controller is killed at each failpoint of a line of kills.txt, one after the other in one run, and started again: the run passes, each
# stage at the latest at its second attempt; nothing is produced twice, no offset is set twice, the values are those of a healthy run.
lab=fast
timeout=400
play() {
  local point line=${CASE#kill-} applied=''
  [[ $line != kill ]] || line=1
  for point in $(sed -n "${line}p" "$E2E/kills.txt"); do
    say "until $point"
    controller_start "DISTVERIFY_FAIL_AT=$point"
    [[ $applied ]] || { apply_resource; applied=yes; }
    poll "the controller to reach the failpoint $point" "$timeout" controller_gone
    same "end of the controller at $point" 137 "$killed"
  done
  say "to the end"
  verify_resumed
}

controller_gone() {
  kill -0 "$CONTROLLER_PID" 2> /dev/null && return 1
  killed=0
  wait "$CONTROLLER_PID" || killed=$?
  CONTROLLER_PID=''
}

verify_resumed() {
  controller_start
  wait_finished
  controller_alive
  collect
  expect_end
  expect_values
  expect_rights
  same "stages with more than two attempts" '' "$(status '.stages[] | select(.attempts > 2) | "\(.name): \(.attempts)"' | paste -sd' ')"
  records_read a
  records_read b
  expect_once
  expect_commits a OffsetsAtoB
  expect_commits b OffsetsBtoA
  figure "attempts $(status '[.stages[].attempts | tostring] | join(" ")'), resumed $(grep -c RunResumed "$OUT/events.txt") times"
}

# While the Offset Committer of the near side has nothing to follow, all commits of the test group there are ours.
expect_commits() { # SIDE STAGE
  local from to twice
  from=$(status ".stages[] | select(.name == \"$2\") | .startedAt | sub(\"\\\\.[0-9]+\"; \"\") | fromdate")
  to=$(status ".stages[] | select(.name == \"$2\") | .finishedAt | sub(\"\\\\.[0-9]+\"; \"\") | fromdate")
  commits_read "$1" "$from" "$to" | sort > "$OUT/commits-$2.txt"
  [[ -s $OUT/commits-$2.txt ]] || fail "no commit of the test group on $1 was found in stage $2"
  twice=$(uniq -d < "$OUT/commits-$2.txt" | head -n 3 | paste -sd' ')
  [[ ! $twice ]] || fail "offset set twice on $1 in stage $2 (partition, offset): $twice"
}

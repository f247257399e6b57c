# shellcheck shell=bash
# What lies on the topics, read with Kafka's own tools.

end_of() { tool "$1" kafka-get-offsets --topic "$2" --time "${3:--1}" | awk -F: '{ sum += $3 } END { print sum + 0 }'; } # SIDE TOPIC

# Every record of the run on the test topic of a side, as $OUT/records-SIDE.jsonl: one probe id a line, as often as it is there.
records_read() { # SIDE
  local side=$1 count run
  run=$(status .run.id)
  count=$(($(end_of "$side" "$TEST_TOPIC") - $(end_of "$side" "$TEST_TOPIC" -2)))
  ((count > 0)) || fail "nothing on the test topic of $side"
  tool "$side" kafka-console-consumer --topic "$TEST_TOPIC" --from-beginning --max-messages "$count" --timeout-ms 30000 > "$OUT/topic-$side.txt"
  jq -Rr --arg run "$run" 'fromjson? | objects | select(.distverify == $run) | .probe' "$OUT/topic-$side.txt" > "$OUT/records-$side.txt"
}

# copies BORN ON: how often each record born on BORN lies on ON; "1", or "1 2" when not all alike.
copies() {
  local ids
  ids=$(status ".run.batches[] | select(.side == \"$1\") | .id" | paste -sd'|')
  [[ $ids ]] || return 0
  grep -E "^($ids)-" "$OUT/records-$2.txt" | sort | uniq -c | awk '{ print $1 }' | sort -nu | paste -sd' '
}

# Nothing was produced twice, and what was produced arrived once.
expect_once() {
  local born far twice
  for born in a b; do
    far=$([[ $born == a ]] && echo b || echo a)
    twice=$(sort "$OUT/records-$born.txt" | uniq -d | head -n 3 | paste -sd' ')
    [[ ! $twice ]] || fail "more than once on $born: $twice"
    diff <(sort "$OUT/records-$born.txt") <(sort "$OUT/records-$far.txt") > "$OUT/records.diff" || fail "not the same records on both sides: $(head -n 3 "$OUT/records.diff" | paste -sd' ')"
  done
}

# The commits of the test group on a side between two times (seconds), "partition offset" a line.
commits_read() { # SIDE FROM TO
  local count
  count=$(($(end_of "$1" __consumer_offsets) - $(end_of "$1" __consumer_offsets -2))) # it grows while it is read
  tool "$1" kafka-console-consumer --topic __consumer_offsets --from-beginning --max-messages "$count" --timeout-ms 10000 \
    --formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter > "$OUT/commits-$1.json"
  jq -r --arg group "$TEST_GROUP" --argjson from "$2" --argjson to "$3" 'select(.key.data.group == $group and .value.data != null)
    | select(.value.data.commitTimestamp >= $from * 1000 and .value.data.commitTimestamp <= ($to + 1) * 1000)
    | "\(.key.data.partition) \(.value.data.offset)"' "$OUT/commits-$1.json"
}

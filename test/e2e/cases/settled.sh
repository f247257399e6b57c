# After a pass nothing is written and nothing asked for: 60 s of the API server's audit log, with all periods but the Lease's divided by 60.
lab=fast
controller_env=(DISTVERIFY_PERIODS_DIV=60)
controller_args=(--lease "$NAMESPACE_OURS/distverify")
check() {
  local watched other
  audit_mark
  sleep 60 # the minute that is looked at
  audit_ours > "$OUT/audit.jsonl"
  other=$(jq -r 'select(.verb != "watch") | select(.objectRef.resource != "leases" or (.verb != "update" and .verb != "get")) | "\(.verb) \(.requestURI)"' \
    "$OUT/audit.jsonl" | sort | uniq -c | head -n 5 | tr '\n' ';')
  [[ ! $other ]] || fail "a settled resource caused: $other"
  watched=$(jq -r 'select(.verb == "watch" and .stage == "ResponseComplete") | .objectRef.resource' "$OUT/audit.jsonl" | sort -u | paste -sd' ')
  same "watches that began anew within the minute" "configmaps distributionverifications kafkaconnectors kafkaconnects pods" "$watched"
  figure "requests in 60 s: $(jq -r 'select(.stage == "ResponseComplete" or .verb != "watch") | "\(.verb) \(.objectRef.resource)"' "$OUT/audit.jsonl" \
    | sort | uniq -c | awk '{ print $2, $3, $1 }' | paste -sd, | sed 's/,/, /g')"
}

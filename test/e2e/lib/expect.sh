# shellcheck shell=bash
# What must be so when a run has ended.

same() { # WHAT WANTED FOUND
  [[ $2 == "$3" ]] || fail "$1 is '$3', not '$2'"
}

condition() { status ".conditions[] | select(.type == \"$1\") | .status"; }

expect_end() {
  local passed=$result
  same result "$result" "$(status .result)"
  same stage "$stage" "$(status .stage)"
  same Finished True "$(condition Finished)"
  same Reconciling '' "$(condition Reconciling)"
  if [[ $passed == Passed ]]; then
    same Ready True "$(condition Ready)"
    same progress 9/9 "$(status .progress)"
    return
  fi
  same Ready False "$(condition Ready)"
  same reason "$reason" "$(status '.stage as $s | .stages[] | select(.name == $s) | .reason')"
  same "reason of Ready" "$reason" "$(status '.conditions[] | select(.type == "Ready") | .reason')"
  expect_message
}

# ---- the message ----------------------------------------------------------------------------

# Numbers and ids that differ from run to run become N and ID; names such as dc1 and level-1 stay.
normalised() {
  sed -E -e 's/\b[a-z0-9]{10}-b[0-9]+\b/ID/g' -e 's/run [a-z0-9]{10}/run ID/g' -e 's/127\.0\.0\.1:[0-9]+/127.0.0.1:PORT/g' \
    -e 's/(^|[^-A-Za-z0-9._])[0-9]+(\.[0-9]+)?($|[^-A-Za-z0-9._=])/\1N\3/g' -e 's/(^|[^-A-Za-z0-9._])[0-9]+(\.[0-9]+)?($|[^-A-Za-z0-9._=])/\1N\3/g'
}

# A case may have several rows: how far a slow loop has come when it is seen differs from run to run.
expect_message() {
  local key=$CASE${VARIANT:+/$VARIANT} message row
  message=$(status .message)
  ((${#message} <= 200)) || fail "the message has ${#message} characters"
  message=$(normalised <<< "$message")
  row=$(printf '%s\t%s\t%s\t%s\t%s' "$key" "$result" "$stage" "$reason" "$message")
  if [[ $UPDATE ]]; then
    { grep -v "^$key	" "$GOLDEN" 2> /dev/null || true; echo "$row"; } | LC_ALL=C sort > "$GOLDEN.new"
    mv "$GOLDEN.new" "$GOLDEN"
    return
  fi
  grep -qxF "$row" "$GOLDEN" || fail "message is not the one in golden/messages.tsv: $message"
}

# ---- values ---------------------------------------------------------------------------------

# Both texts are those from before the run with the five switches changed, and nothing else. left_X=same: untouched.
expect_values() {
  expect_text a "$left_a"
  expect_text b "$left_b"
  expect_writes
}

expect_text() { # SIDE SWITCHES
  local base=$OUT/base-$1.yaml found=$OUT/values-$1.yaml
  if [[ $2 == same ]]; then
    cmp -s "$base" "$found" || fail "the values of $1 were changed: $(diff "$base" "$found" | head -n 5)"
  elif ! switched "$2" < "$base" | cmp -s - "$found"; then
    fail "the values of $1 have the switches $(switches_of "$found"), not $2, or more was changed: $(switched "$2" < "$base" | diff - "$found" | head -n 6 | tr '\n' '|')"
  fi
}

# The way there: each row of the switch table is one write, so a switch that was touched and put back would show.
writes_of() { # SIDE SWITCHES
  case $1-$2 in
    *-01000 | *-same) echo 0 ;;
    *-11100) echo 1 ;;
    a-11110 | b-11101 | b-11000) echo 2 ;;
    a-11101 | b-11110) echo 3 ;;
    *-11111) echo 4 ;;
    *) echo "${writes[$1]:-?}" ;;
  esac
}
expect_writes() {
  local side found left
  for side in a b; do
    left=left_$side
    found=$(audit_ours $side | jq -c "select(.verb == \"patch\" and .objectRef.resource == \"configmaps\" and .objectRef.name == \"$(release_of $side)-values\")
      | select(.responseStatus.code == 200)" | wc -l)
    same "number of writes of the values of $side" "$(writes_of $side "${!left}")" "$found"
  done
}

expect_helm_agrees() {
  local side
  for side in a b; do
    poll "helm get values of $side as declared" 20 values_applied $side
  done
}

# ---- our rights -----------------------------------------------------------------------------

# The controller had the chart's rights and no others: nothing it asked for was refused.
expect_rights() {
  local refused
  refused=$({ audit_ours a; audit_ours b; } | jq -r 'select(.responseStatus.code == 403) | "\(.verb) \(.requestURI)"' | sort -u | head -n 3 | tr '\n' ' ')
  [[ ! $refused ]] || fail "the chart's rights do not allow: $refused"
}

# ---- what a run that passed leaves ----------------------------------------------------------

# Length of the run beside the waits that its evidence names.
expect_waits() {
  local sums
  sums=$(status '[.stages[] | .evidence.waits // [] | .[]] as $w
    | ((.run.finishedAt | sub("\\.[0-9]+"; "") | fromdate) - (.run.startedAt | sub("\\.[0-9]+"; "") | fromdate)) as $length
    | ($w | map(select(.kind == "demanded").seconds) | add) as $demanded | ($w | map(select(.kind == "world").seconds) | add) as $world
    | "run \($length) s, waits \($demanded + $world | . * 10 | round / 10) s (demanded \($demanded * 10 | round / 10), world \($world * 10 | round / 10))"')
  figure "$sums"
  same "stages without waits" '' "$(status '.stages[] | select((.evidence.waits // []) | length == 0) | .name' | tr '\n' ' ')"
}

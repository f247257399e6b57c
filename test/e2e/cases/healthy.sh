# Two Distributors that work: all nine stages pass, and both are left on.
lab=fast
check() {
  expect_helm_agrees
  expect_waits
  [[ $MODE == release ]] || expect_kills
  records_read a
  records_read b
  expect_once
}

# kills.txt names every failpoint that a healthy run passes, so that no effect is left out of the sweep.
expect_kills() {
  grep -o 'failpoint passed at=[^ ]*' "$OUT/controller.log" | sed 's/.*at=//' | sort -u > "$OUT/failpoints.txt"
  diff <(tr ' ' '\n' < "$E2E/kills.txt" | sort) "$OUT/failpoints.txt" > "$OUT/kills.diff" || fail "kills.txt and the failpoints of a healthy run differ: $(paste -sd' ' < "$OUT/kills.diff")"
}

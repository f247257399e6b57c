# What the schema lets through and cannot be used: each object becomes Stalled, InvalidSpec, with the path of the field, and starts nothing;
# a healthy resource is served meanwhile.
lab=fast
play() {
  local i count
  controller_start
  apply_resource
  count=$(jq length "$E2E/invalid-spec.json")
  for ((i = 0; i < count; i++)); do invalid_apply $i; done
  for ((i = 0; i < count; i++)); do invalid_stalled $i; done
  same "Finished while the invalid ones are there" '' "$(resource_json | jq -r '.status.result // ""')"
  wait_finished
  collect
  expect_end
  expect_values
  expect_rights
  figure "$count invalid objects"
}

invalid_apply() { # INDEX
  NAME=invalid-$1 "$E2E/resource.sh" "$(jq -r ".[$1].change" "$E2E/invalid-spec.json")" > "$OUT/invalid-$1.json"
  kubectl apply -f "$OUT/invalid-$1.json" > /dev/null || fail "the schema refuses it already: $(jq -r ".[$1].what" "$E2E/invalid-spec.json")"
}

invalid_stalled() { # INDEX
  local what path found
  what=$(jq -r ".[$1].what" "$E2E/invalid-spec.json") path=$(jq -r ".[$1].path" "$E2E/invalid-spec.json")
  kubectl -n "$LAB_NAMESPACE" wait --for=condition=Stalled "distverification/invalid-$1" --timeout=30s > /dev/null || fail "not Stalled: $what"
  found=$(kubectl -n "$LAB_NAMESPACE" get distverification "invalid-$1" -o json)
  same "reason ($what)" InvalidSpec "$(jq -r '.status.conditions[] | select(.type == "Stalled") | .reason' <<< "$found")"
  [[ $(jq -r '.status.conditions[] | select(.type == "Stalled") | .message' <<< "$found") == "$path: "* ]] ||
    fail "the message does not begin with $path: $(jq -r '.status.conditions[] | select(.type == "Stalled") | .message' <<< "$found")"
  same "run of an object that cannot be used" null "$(jq -r '.status.run.id' <<< "$found")"
}

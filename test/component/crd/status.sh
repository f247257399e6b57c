# The status: what the controller writes is accepted with PUT on /status, and nothing beside it.

# put_status: the object's status from stdin, answer in $WORK/answer.json.
put_status() { # QUERY
    jq --slurpfile object "$WORK/object.json" '$object[0] + {status: .}' |
        api PUT "$OBJECTS/dc1-dc2/status?fieldValidation=Strict$1" > "$WORK/answer.json"
}

# The answer is the object with exactly this status.
status_taken() { # STATUS-FILE
    jq -e --slurpfile status "$1" '.status == $status[0]' "$WORK/answer.json" > /dev/null
}

accepted_status() { # CASE
    jq '.status' <<< "$1" > "$WORK/status.json"
    put_status "&dryRun=All" < "$WORK/status.json"
    status_taken "$WORK/status.json"
}

refused_status() { # CASE
    crd_jq '{status: .full} | changed($case.set) | .status' --argjson case "$1" "$CASES/status.json" | put_status "&dryRun=All"
    crd_jq 'fits($case)' -e --argjson case "$1" "$WORK/answer.json" > /dev/null
}

# refuses_unknown PATH: a field that nobody knows, in the object at that path of the full status.
refuses_unknown() {
    jq --argjson path "$1" '.full | setpath($path + ["unheard"]; 1)' "$CASES/status.json" | put_status "&dryRun=All"
    jq -e '.code == 400 and (.message | test("unknown field \"status[^\"]*unheard\""))' "$WORK/answer.json" > /dev/null
}

# Statuses that other tests recorded from the controller, one a file in STATUS_SAMPLES, must be taken as well.
test_status_samples() {
    local sample
    for sample in "${STATUS_SAMPLES:?}"/*.json; do
        put_status "&dryRun=All" < "$sample"
        check "recorded status $sample" status_taken "$sample" || jq -c '{code, message}' "$WORK/answer.json"
    done
}

test_status() {
    local case path
    api POST "$OBJECTS" < "$CASES/base.json" > "$WORK/object.json"
    check "a new object has no status that looks finished" jq -e '.status == {observedGeneration: -1}' \
        <(api GET "$OBJECTS/dc1-dc2" < /dev/null)
    while IFS= read -r case; do
        check_case "status accepted" "$case" accepted_status "$case"
    done < <(jq -c '.accepted[]' "$CASES/status.json")
    while IFS= read -r case; do
        check_case "status refused" "$case" refused_status "$case"
    done < <(jq -c '.refused[]' "$CASES/status.json")
    while IFS= read -r path; do
        check "status: an unknown field in $path is refused" refuses_unknown "$path"
    done < <(jq -c '.full | [], paths(objects)' "$CASES/status.json")
}

# Last, for it is really written: the full status, which has every field of the schema, and the table that kubectl shows of it.
test_status_full() {
    jq .full "$CASES/status.json" > "$WORK/status.json"
    check "the full status has every field of the schema" crd_jq '
        [all_places.path | select(startswith("status"))] - ({status: $cases[0].full} | document_places)
        | if . == [] then true else error(tostring) end' -e --slurpfile cases "$CASES/status.json" "$WORK/crd.json"
    put_status "" < "$WORK/status.json"
    check "the full status is written" status_taken "$WORK/status.json"
    api GET "$OBJECTS/dc1-dc2" "Accept: application/json;as=Table;v=v1;g=meta.k8s.io" < /dev/null > "$WORK/table.json"
    check "columns" jq -e '
        [.columnDefinitions[] | select(.priority == 0).name] == ["Name", "Ready", "Stage", "Progress", "Result", "Message", "Age"]' "$WORK/table.json"
    check "wide columns" jq -e '
        [.columnDefinitions[] | select(.priority == 1).name] == ["A", "B", "A→B", "B→A", "Lag", "Last-Run", "Suspended", "Run"]' "$WORK/table.json"
    check "no column is empty" jq -e '.rows[0].cells | all(. != null and . != "")' "$WORK/table.json"
    check "what the columns show" jq -e --slurpfile cases "$CASES/status.json" '
        [[.columnDefinitions[].name], .rows[0].cells] | transpose | map({(.[0]): .[1]}) | add as $row
        | $cases[0].columns | to_entries | all($row[.key] == .value)' "$WORK/table.json"
}

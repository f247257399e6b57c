# DistributionVerifications: the ones that must be accepted, and one that must be refused for each rule and pattern of the schema.

test_schema() {
    local findings
    findings=$(crd_jq findings -r "$WORK/crd.json")
    check "the schema bounds and describes every field" [ -z "$findings" ] || echo "$findings"
}

# accepted_case CASE: created (dry run), and holds what the case expects.
accepted_case() {
    crd_jq 'changed($case.set)' --argjson case "$1" "$CASES/base.json" |
        api POST "$OBJECTS?dryRun=All&fieldValidation=Strict" > "$WORK/answer.json"
    crd_jq '.kind == "DistributionVerification" and holds($case.expect // {})' -e --argjson case "$1" "$WORK/answer.json" > /dev/null
}

refused_case() {
    crd_jq 'changed($case.set)' --argjson case "$1" "$CASES/base.json" |
        api POST "$OBJECTS?dryRun=All&fieldValidation=Strict" > "$WORK/answer.json"
    crd_jq 'causes[] | select(unreadable | not) | .message' -r "$WORK/answer.json" >> "$WORK/refusals"
    crd_jq 'fits($case)' -e --argjson case "$1" "$WORK/answer.json" > /dev/null
}

test_objects() {
    local case
    : > "$WORK/refusals"
    while IFS= read -r case; do check_case accepted "$case" accepted_case "$case"; done < <(jq -c '.[]' "$CASES/valid.json")
    while IFS= read -r case; do check_case refused "$case" refused_case "$case"; done < <(jq -c '.[]' "$CASES/refused.json")
}

# Each rule and each pattern must have been the reason of a refusal above.
test_every_rule_refused() {
    local text
    while IFS= read -r text; do
        check "a refused object for the rule: $text" grep -qF -- "$text" "$WORK/refusals"
    done < <(crd_jq 'rules[]' -r "$WORK/crd.json")
    while IFS= read -r text; do
        check "a refused object for the pattern: $text" grep -qF -- "should match '$text'" "$WORK/refusals"
    done < <(crd_jq 'patterns[]' -r "$WORK/crd.json")
}

# The list of all resources, from which kubectl learns short names, follows a new CRD by a moment.
explained() {
    local deadline=$((SECONDS + 30))
    until kubectl explain distver.spec.checks 2>&1 | grep "behindTolerance"; do
        ((SECONDS < deadline)) || return 1
        rm -rf "$KUBECACHEDIR"
        read -r -t 0.3 <> <(:) || true
    done
}

test_names() {
    api GET /apis/distverify.io/v1alpha1 > "$WORK/answer.json"
    check "short names and categories" jq -e '.resources[] | select(.name == "distributionverifications")
        | .namespaced and (.shortNames | sort) == ["distver", "distverification", "distverifications"]
        and (.categories | sort) == ["distverify", "strimzi"]' "$WORK/answer.json"
    check "kubectl explain" explained
    kubectl create -n "$NAMESPACE" --dry-run=server -f "$ROOT/deploy/example/verification.yaml" > "$WORK/out" 2>&1
    check "the example is accepted" grep -q "created (server dry run)" "$WORK/out"
}

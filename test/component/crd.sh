#!/usr/bin/env bash
# Tests crds/, charts/distverify and deploy/ on the API server that KUBECONFIG names; kubectl and helm are taken from LAB_BIN or PATH.
# Leaves the CRD there, and nothing else. STATUS_SAMPLES=<directory> adds recorded statuses to what must be accepted.
set -uo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
HERE=$ROOT/test/component/crd
CASES=$HERE/cases
CRD=$ROOT/crds/distverify.io_distributionverifications.yaml
: "${KUBECONFIG:?names no API server; source the env file of a lab}"
PATH=${LAB_BIN:+$LAB_BIN:}$PATH
NAMESPACE=crd-test-$$
OBJECTS=/apis/distverify.io/v1alpha1/namespaces/$NAMESPACE/distributionverifications
WORK=$(mktemp -d)
export KUBECACHEDIR=$WORK/kube-cache # what was discovered on another server at this address is not asked
passed=0 failed=0

# check WHAT COMMAND...: counts, and names what failed.
check() {
    local what=$1
    shift
    if "$@" > "$WORK/check.out" 2>&1; then
        passed=$((passed + 1))
        return 0
    fi
    failed=$((failed + 1))
    echo "FAILED: $what"
    head -c 2000 "$WORK/check.out"
    return 1
}

# check_case KIND CASE COMMAND...: the same for a case of a corpus; shows the API server's answer.
check_case() {
    local kind=$1 case=$2
    shift 2
    check "$kind: $(jq -r .name <<< "$case")" "$@" || jq -c '{code, message, causes: .details.causes}' "$WORK/answer.json"
}

# crd_jq FILTER ARGUMENT...: jq with the definitions of crd.jq.
crd_jq() {
    local filter=$1
    shift
    jq -L "$HERE" "include \"crd\"; $filter" "$@"
}

# api METHOD PATH [HEADER]: body from stdin, answer on stdout.
api() {
    local body=()
    [ "$1" = GET ] || body=(--data-binary @- -H 'Content-Type: application/json')
    curl -s --max-time 30 --unix-socket "$WORK/api.sock" -X "$1" "${body[@]}" ${3:+-H "$3"} "http://localhost$2"
}

for part in objects status chart; do . "$HERE/$part.sh"; done

setup() {
    coproc PROXY { exec kubectl proxy --unix-socket="$WORK/api.sock" 2>&1; }
    read -r _ <&"${PROXY[0]}" # it serves
    kubectl apply --server-side --force-conflicts -f "$CRD" > /dev/null &&
        kubectl wait --for=condition=Established --timeout=30s crd/distributionverifications.distverify.io > "$WORK/wait.out" 2>&1 &&
        kubectl create namespace "$NAMESPACE" > /dev/null &&
        kubectl label namespace "$NAMESPACE" pod-security.kubernetes.io/enforce=restricted > /dev/null &&
        kubectl create --dry-run=client -o json -f "$CRD" > "$WORK/crd.json"
}

teardown() {
    kubectl delete namespace "$NAMESPACE" "${made_namespaces[@]}" --timeout=60s > /dev/null 2>&1 # waits: the next test may want them
    [ -z "${PROXY_PID:-}" ] || kill "$PROXY_PID"
    rm -rf "$WORK"
}

trap teardown EXIT
setup || { echo "crd: could not set up on the API server of $KUBECONFIG"; exit 1; }
test_schema
test_objects
test_every_rule_refused
test_names
test_status
[ -z "${STATUS_SAMPLES:-}" ] || test_status_samples
test_status_full
test_chart
test_chart_names
test_chart_dots
test_chart_nulls
test_deploy
test_rights
echo "crd: $passed passed, $failed failed"
[ "$failed" -eq 0 ]

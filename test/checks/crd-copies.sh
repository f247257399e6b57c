#!/usr/bin/env bash
# The CRD in crds/ is the source; the chart and deploy/ hold copies of it. --write makes them, --check fails when one differs.
set -euo pipefail
cd "$(dirname "$0")/../.."
source=crds/distverify.io_distributionverifications.yaml
chart=charts/distverify/templates/crd.yaml
deploy=deploy/crd.yaml
note="Generated from $source by test/checks/crd-copies.sh --write. Do not edit."

# Helm would take two braces for a template of its own.
if grep -nF -e '{{' -e '}}' "$source"; then
    echo "crd-copies: $source holds braces that Helm would read" >&2
    exit 1
fi

without_head_comment() { sed '/^apiVersion:/,$!d' "$source"; }

for_chart() {
    printf '{{- /* %s */ -}}\n{{- if .Values.crds.install }}\n' "$note"
    without_head_comment | sed '0,/^metadata:$/s//metadata:\n  annotations:\n    helm.sh\/resource-policy: keep/'
    printf '{{- end }}\n'
}

for_deploy() {
    printf '# %s\n' "$note"
    without_head_comment
}

check() { # COPY GENERATOR
    "$2" | diff -u --label "$1" --label "made from $source" "$1" - ||
        { echo "crd-copies: $1 differs from $source; run test/checks/crd-copies.sh --write" >&2; return 1; }
}

case ${1:-} in
    --write)
        for_chart > "$chart"
        for_deploy > "$deploy"
        ;;
    --check)
        bad=0
        check "$chart" for_chart || bad=1
        check "$deploy" for_deploy || bad=1
        exit $bad
        ;;
    *)
        echo "usage: test/checks/crd-copies.sh --check|--write" >&2
        exit 2
        ;;
esac

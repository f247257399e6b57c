# The chart and the kustomize base: both are taken by the API server, both give the same rights and the same pod, and the rights are
# those that are used and no others.

template() { helm template "${RELEASE:-commission}" "$ROOT/charts/distverify" --namespace "$NAMESPACE" "$@"; }
full_values() { echo -f "$HERE/values-full.yaml" --set "targets[0].namespace=$NAMESPACE"; }

# taken WHAT: the API server takes all of stdin's YAML (dry run); what it would store is in $WORK/WHAT.json.
taken() {
    kubectl apply --dry-run=server -f - -o json > "$WORK/$1.json" 2> "$WORK/err" || { cat "$WORK/err"; return 1; }
}

chart_taken() { # WHAT VALUE-ARGUMENT...
    local what=$1
    shift
    template "$@" > "$WORK/chart.yaml" && taken "$what" < "$WORK/chart.yaml"
}

values_refused() { # HELM-ARGUMENT...
    ! template "$@" > "$WORK/out" 2>&1 && grep -q "values don't meet the specifications" "$WORK/out"
}

# template_fails SENTENCE HELM-ARGUMENT...
template_fails() {
    local sentence=$1
    shift
    ! template "$@" > "$WORK/out" 2>&1 && grep -qF "$sentence" "$WORK/out"
}

# Names and labels that YAML would take for numbers and booleans were they not quoted.
test_chart_names() {
    local RELEASE=2024 name
    check "chart: a release that is a number" chart_taken chart-number --set crds.install=false,networkPolicy.create=true
    for name in 007 1e3 "null" 0x1f; do
        check "chart: names $name" chart_taken "chart-$name" --set-string "fullnameOverride=$name,serviceAccount.name=$name" \
            --set-string "nameOverride=on,podLabels.app\.kubernetes\.io/name=mine,podLabels.team=$name" \
            --set-string "controller.namespace=$NAMESPACE,targets[0].namespace=$NAMESPACE,targets[0].configMaps[0]=$name" \
            --set crds.install=false,networkPolicy.create=true
        check "chart: names $name: they are these, and the labels that select pods are ours" jq -e --arg name "$name" '
            .items[] | select(.kind == "Deployment") | .metadata.name == $name and (.spec.template
            | .spec.serviceAccountName == $name and .metadata.labels.team == $name
              and .metadata.labels["app.kubernetes.io/name"] == "on")' "$WORK/chart-$name.json"
        check "chart: names $name: no label twice" [ "$(grep -c ' app.kubernetes.io/name: ' "$WORK/chart.yaml")" = \
            "$(($(grep -c '^ *labels:$' "$WORK/chart.yaml") + 3))" ] # beside the labels: three selectors
    done
}

# A release's name may hold dots: a Service's may not, and what is cut off must not leave one at the end.
test_chart_dots() {
    local RELEASE
    for RELEASE in a.distverify "distverify$(printf %039d 0).b" "$(printf %049d 0).b"; do
        check "chart: release $RELEASE" chart_taken chart-dots --set crds.install=false,networkPolicy.create=true
        check "chart: release $RELEASE: no dot is left at an end" jq -e \
            '[.items[].metadata.name | test("^[.-]|[.-]$|[.]-|-[.]")] | any | not' "$WORK/chart-dots.json"
    done
}

# Helm drops a default with null; where a null overrides another file it stays for the chart to drop.
test_chart_nulls() {
    local value nulls=()
    for value in image.{tag,digest,pullPolicy} imagePullSecrets {name,fullname}Override controller.namespace targets serviceAccount.{name,annotations} \
        service.annotations serviceMonitor.{interval,labels} networkPolicy.from resources podAnnotations podLabels nodeSelector tolerations \
        affinity priorityClassName; do
        nulls+=(--set "$value=null")
        check "values: $value may be null" template --set "$value=null"
    done
    check "chart, all that may be null" chart_taken chart-null --set crds.install=false,networkPolicy.create=true "${nulls[@]}"
    check "chart, all that may be null: it is not there" jq -e '.items[] | select(.kind == "Deployment").spec.template
        | .metadata.annotations == null
        and (.spec | .containers[0].resources == {} and .containers[0].imagePullPolicy == "IfNotPresent"
            and ([.nodeSelector, .tolerations, .affinity, .priorityClassName, .imagePullSecrets] | all(. == null)))' "$WORK/chart-null.json"
    check "chart, all that may be null: restricted pod" pod_taken chart-null
    check "chart, all that may be null: a ServiceMonitor too" not_in 'null\|interval' template --set crds.install=false,serviceMonitor.create=true "${nulls[@]}"
    nulls=(resources.requests.cpu resources.limits.memory nodeSelector.kubernetes\\.io/os podLabels.team podAnnotations.example\\.io/a
        serviceAccount.annotations.example\\.io/role service.annotations.example\\.io/scrape)
    check "values: entries may be null" not_in 'null\|team:\|scrape:\|io/a:\|role:\|os:\|cpu:\|memory: 256\|annotations:\|nodeSelector:' \
        template $(full_values) $(printf -- '--set %s=null ' "${nulls[@]}")
    for value in image replicas controller serviceAccount controller.maxRuns; do
        check "values: $value is no null" values_refused --set "$value=null"
    done
}

# not_in PATTERN COMMAND...: what it writes, without error, has no such line.
not_in() {
    local pattern=$1
    shift
    "$@" > "$WORK/out" && ! grep -n "$pattern" "$WORK/out"
}

# pod_taken WHAT: the Deployment's pod in a namespace that enforces the restricted level.
pod_taken() {
    jq '.items[] | select(.kind == "Deployment") | {apiVersion: "v1", kind: "Pod", metadata: {name: "pod"}, spec: .spec.template.spec}
        | .spec.serviceAccountName = "default" | del(.spec.serviceAccount, .spec.priorityClassName)' "$WORK/$1.json" |
        api POST "/api/v1/namespaces/$NAMESPACE/pods?dryRun=All" | jq -e '.kind == "Pod"'
}

test_chart() {
    check "copies of the CRD" "$ROOT/test/checks/crd-copies.sh" --check
    check "helm lint" helm lint --strict "$ROOT/charts/distverify"
    check "helm lint, all values" helm lint --strict "$ROOT/charts/distverify" $(full_values)
    check "chart" chart_taken chart
    check "chart, all values" chart_taken chart-full $(full_values)
    check "chart, one namespace" chart_taken chart-namespace $(full_values) --set controller.namespace="$NAMESPACE"
    check "chart: restricted pod" pod_taken chart
    check "chart, all values: restricted pod" pod_taken chart-full
    check "chart: brings the CRD, and keeps it" jq -e '
        .items[] | select(.kind == "CustomResourceDefinition")
        | .metadata.annotations["helm.sh/resource-policy"] == "keep"' "$WORK/chart.json"
    check "chart: crds.install=false brings none" jq -e '
        [.items[].kind] | index("CustomResourceDefinition") == null' "$WORK/chart-full.json"
    check "chart, one namespace: nothing but the self review for all namespaces" jq -e '
        [.items[] | select(.kind == "ClusterRoleBinding") | .metadata.name | endswith("self-review")] == [true]' "$WORK/chart-namespace.json"
    check "chart: probes and metrics are answered on IPv4 and IPv6" jq -e '
        .items[] | select(.kind == "Deployment").spec.template.spec.containers[0].args | index("--metrics-addr=:8080") != null' "$WORK/chart.json"
    check "chart: a ServiceMonitor on demand" grep -q '^kind: ServiceMonitor' <(template --set serviceMonitor.create=true)
    check "chart: a ServiceMonitor's labels: the selecting ones are ours" [ "$(template --set serviceMonitor.create=true \
        --set-string 'serviceMonitor.labels.release=1,serviceMonitor.labels.app\.kubernetes\.io/name=mine' \
        | sed -n '/^kind: ServiceMonitor/,/^spec/p' | grep -c 'app.kubernetes.io/name: distverify$\|release: "1"$\|name: mine')" = 2 ]
    check "chart: a ServiceMonitor without a Service is refused" template_fails "serviceMonitor.create needs service.create" \
        --set serviceMonitor.create=true,service.create=false
    check "values: a label that is none is refused" values_refused --set 'podLabels.team=no blanks'
    check "values: a service account's name that is none is refused" values_refused --set serviceAccount.name=Not_A_Name
    check "values: an unknown key is refused" values_refused --set imagee.tag=1
    check "values: an unknown key within is refused" values_refused --set controller.leaderElect=true
    check "values: a target without names is refused" values_refused --set 'targets[0].namespace=kafka'
    check "values: a target with an unknown list is refused" values_refused --set 'targets[0].namespace=kafka,targets[0].pods[0]=x'
    check "values: a log level that is none is refused" values_refused --set controller.logLevel=trace
    check "the restricted level is enforced here" jq -e '.code == 403' <(
        api POST "/api/v1/namespaces/$NAMESPACE/pods?dryRun=All" <<< '
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}')
}

# The manifests name their own namespaces; those that are not there are made for the time of the test.
made_namespaces=()
need_namespace() {
    kubectl get namespace "$1" > /dev/null 2>&1 && return
    kubectl create namespace "$1" > /dev/null && made_namespaces+=("$1")
}

# What must be the same in the chart's and the base's objects.
common() { # FILE
    jq -S '{rules: [.items[].rules | select(.) | map(del(.resourceNames))] | add | sort,
        service: [.items[] | select(.kind == "Service").spec.ports],
        crd: [.items[] | select(.kind == "CustomResourceDefinition").spec],
        pod: [.items[] | select(.kind == "Deployment").spec | {strategy, replicas, pod: (.template.spec
            | del(.serviceAccount, .serviceAccountName) | .containers[0].args |= map(select(startswith("--lease=") | not)))}]}' "$1"
}

test_deploy() {
    need_namespace distverify
    need_namespace kafka
    check "deploy" taken deploy < <(kubectl kustomize "$ROOT/deploy")
    check "deploy/example" taken example < <(kubectl kustomize "$ROOT/deploy/example")
    check "deploy/example/remote.yaml" taken remote < "$ROOT/deploy/example/remote.yaml"
    check "the identity on another cluster may what the chart's may there, of one values object" jq -e --slurpfile chart "$WORK/chart.json" '
        [.items[] | select(.kind == "Role").rules[]] as $rules
        | ($rules | map(select(.resourceNames | not)) | sort) ==
          ([$chart[0].items[] | select(.kind == "ClusterRole" and (.metadata.name | endswith("-distributors"))).rules[]] | sort)
        and ($rules | map(select(.resourceNames) | {resources, resourceNames, verbs}))
          == [{resources: ["configmaps"], resourceNames: ["dc2-distributor-values"], verbs: ["get", "watch", "patch"]}]' "$WORK/remote.json"
    check "deploy: restricted pod" pod_taken deploy
    check "deploy: restricted namespace" jq -e '
        .items[] | select(.kind == "Namespace").metadata.labels["pod-security.kubernetes.io/enforce"] == "restricted"' "$WORK/deploy.json"
    check "deploy and chart agree" diff <(common "$WORK/deploy.json") <(common "$WORK/chart.json")
}

# may RIGHT: prints true or false for each verb of a row of rights.json.
may() {
    jq -c --arg ns "$NAMESPACE" '. as [$verbs, $resource, $name] | ($resource | split("/")) as [$group, $plural, $sub]
        | $verbs | split(" ")[] |
        {apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: {user: "system:serviceaccount:\($ns):commissioner",
         groups: ["system:serviceaccounts", "system:serviceaccounts:\($ns)"],
         resourceAttributes: {namespace: $ns, verb: ., group: $group, resource: $plural, subresource: ($sub // ""), name: ($name // "")}}}' <<< "$1" |
        while IFS= read -r review; do
            api POST /apis/authorization.k8s.io/v1/subjectaccessreviews <<< "$review" | jq '.status.allowed'
        done | sort -u
}

# The chart's rights, really installed: without replicas, and without the groups that every user has.
test_rights() {
    local right
    check "helm install" helm install commission "$ROOT/charts/distverify" --namespace "$NAMESPACE" $(full_values) || return
    while IFS= read -r right; do check "allowed: $right" [ "$(may "$right")" = true ]; done < <(jq -c '.allowed[]' "$CASES/rights.json")
    while IFS= read -r right; do check "denied: $right" [ "$(may "$right")" = false ]; done < <(jq -c '.denied[]' "$CASES/rights.json")
    check "helm uninstall" helm uninstall commission --namespace "$NAMESPACE"
}

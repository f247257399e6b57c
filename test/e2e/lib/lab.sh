# shellcheck shell=bash
# The lab of a case: up, our chart in it, back to how it was when new.

say() { printf '%(%H:%M:%S)T %s\n' -1 "$*"; }
figure() { echo "figure: $*"; }
fail() { echo "$*" > "$WHY"; say "FAILED: $*"; exit 1; }

# poll WHAT SECONDS COMMAND...: looks until it is so.
poll() {
  local what=$1 deadline=$((SECONDS + $2)); shift 2
  until "$@"; do
    ((SECONDS < deadline)) || fail "not within the time for it: $what"
    sleep 0.1
  done
}

# ---- up -------------------------------------------------------------------------------------

lab_kind=''

lab_take() { # KIND: makes that lab the current one
  [[ $1 != "$lab_kind" ]] || return 0
  lab_leave
  local profile=fast servers=1 dir=$LAB_BASE
  case $1 in two) servers=2 dir=$LAB_BASE-two ;; field) profile=field dir=$LAB_BASE-field ;; esac
  lab_kind=$1
  [[ -e $dir/env ]] || brought_up+=("$dir")
  LAB=$dir LAB_PROFILE=$profile LAB_API_SERVERS=$servers test/lab/lab up > "$dir.log" 2>&1 || { tail -n 20 "$dir.log" >&2; return 1; }
  unset KUBECONFIG_2
  set -a; . "$dir/env"; set +a
  PATH=$LAB_BIN:$PATH
  STATE=$LAB/e2e
  mkdir -p "$STATE"
  exec 7> "$STATE/lock" # one run at a time changes a lab
  flock -n 7 || { echo "e2e: another run uses the lab in $LAB: waiting" >&2; flock 7; }
  chart_install
}

# A lab of the kind behind us is not needed any more. The first one stays, for the next run, unless --down.
lab_leave() {
  local dir
  for dir in "${brought_up[@]}"; do
    if [[ $DOWN || $dir != "$LAB_BASE" ]]; then LAB=$dir test/lab/lab down > /dev/null 2>&1 || true; fi
  done
  brought_up=()
}

lab() { test/lab/lab "$@"; }
fault() { lab fault "$@"; }
number_of() { case $1 in a) echo 1 ;; b) echo 2 ;; esac; }
server_of() { if [[ $1 == b && ${KUBECONFIG_2:-} ]]; then echo "$KUBECONFIG_2"; else echo "$KUBECONFIG"; fi; }
release_of() { echo "dc$(number_of "$1")-distributor"; }

k() { # SIDE ARGS...: kubectl where that side's Distributor lives
  local side=$1; shift
  kubectl --kubeconfig "$(server_of "$side")" -n "$LAB_NAMESPACE" "$@"
}
h() {
  local side=$1; shift
  helm --kubeconfig "$(server_of "$side")" -n "$LAB_NAMESPACE" "$@"
}
tool() { # SIDE TOOL ARGS...: one of Kafka's own tools, as administrator
  local side=${1^^} name=$2 bootstrap config; shift 2
  bootstrap=BOOTSTRAP_$side config=KAFKA_ADMIN_$side
  lab kafka-tool "$name" --bootstrap-server "${!bootstrap}" --command-config "${!config}" "$@" 2> "$OUT/tool.err"
}

# ---- our chart ------------------------------------------------------------------------------

NAMESPACE_OURS=distverify
ACCOUNT=system:serviceaccount:$NAMESPACE_OURS:distverify

# The chart with no replica gives CRD, ServiceAccount and rights; the controller of a case runs beside it, as that ServiceAccount.
chart_install() {
  chart_install_on "$KUBECONFIG" "$STATE/controller.kubeconfig"
  [[ ! ${KUBECONFIG_2:-} ]] || chart_install_on "$KUBECONFIG_2" "$STATE/controller-2.kubeconfig"
}

chart_install_on() { # ADMIN-KUBECONFIG OUR-KUBECONFIG
  local targets token
  targets='[{"namespace": "'$LAB_NAMESPACE'", "configMaps": ["dc1-distributor-values", "dc2-distributor-values"],
    "credentials": ["dc1-cluster-ca-cert", "dc2-cluster-ca-cert", "distverify-dc1", "distverify-dc2", "dc2-api", "no-such-secret"]}]'
  helm --kubeconfig "$1" upgrade --install --take-ownership distverify "$ROOT/charts/distverify" -n $NAMESPACE_OURS --create-namespace --set replicas=0 \
    --set-json "targets=$targets" > "$STATE/chart.log" 2>&1 || { cat "$STATE/chart.log" >&2; return 1; }
  kubectl --kubeconfig "$1" wait --for=condition=Established --timeout=30s crd/distributionverifications.distverify.io > /dev/null
  token=$(kubectl --kubeconfig "$1" -n $NAMESPACE_OURS create token distverify --duration=24h)
  jq -n --argjson admin "$(kubectl --kubeconfig "$1" config view --raw --minify -o json)" --arg token "$token" '
    $admin | .users = [{name: "distverify", user: {token: $token}}]
    | .contexts = [{name: "distverify", context: {cluster: .clusters[0].name, user: "distverify"}}] | ."current-context" = "distverify"' > "$2"
}

# ---- as new ---------------------------------------------------------------------------------

lab_reset() {
  local side
  controller_sweep
  for side in a b; do fault "$side" --clear; done
  lab_undo
  resources_sweep
  for side in a b; do values_write "$side" "$LAB/values-$side.yaml"; done
  for side in a b; do
    poll "initial values applied on $side" 60 values_applied "$side"
    k "$side" wait --for=delete kafkaconnectors --all --timeout=60s > /dev/null || fail "connectors of $side do not go away"
    k "$side" wait --for=condition=Ready "kafkaconnect/$(release_of "$side")" --timeout=60s > /dev/null || fail "KafkaConnect of $side is not Ready"
    poll "Connect pods of $side ready" 60 pods_ready "$side"
  done
}

# undo COMMAND...: to be done before the next case, whatever becomes of this one.
undo() { printf '%q ' "$@" >> "$STATE/undo"; echo >> "$STATE/undo"; }
lab_undo() {
  [[ -s $STATE/undo ]] || return 0
  mv "$STATE/undo" "$STATE/undoing"
  . "$STATE/undoing"
}

pods_ready() { # SIDE
  local ready want
  want=$(k "$1" get kafkaconnect "$(release_of "$1")" -o jsonpath='{.spec.replicas}')
  ready=$(k "$1" get pods -l "strimzi.io/kind=KafkaConnect,strimzi.io/cluster=$(release_of "$1")" -o json \
    | jq '[.items[] | select(.metadata.deletionTimestamp == null and any(.status.conditions[]?; .type == "Ready" and .status == "True"))] | length')
  [[ $ready == "$want" ]]
}

# An upgrade that changes nothing but the revision: its init job runs with the faults that hold now.
init_again() { # SIDE
  local text=$OUT/touched-$1.yaml
  { values_read "$1"; printf 'touched: %s\n' "$RANDOM$RANDOM"; } > "$text"
  values_write "$1" "$text"
  poll "touched values applied on $1" 60 values_applied "$1"
  values_write "$1" "$LAB/values-$1.yaml"
  poll "values applied on $1" 60 values_applied "$1"
}

# ---- audit log ------------------------------------------------------------------------------

audit_of() { if [[ $1 == b && ${KUBECONFIG_2:-} ]]; then echo "$LAB/logs/audit-2.log"; else echo "$LAB_AUDIT_LOG"; fi; } # SIDE
audit_mark() {
  AUDIT_FROM_a=$(stat -c %s "$(audit_of a)")
  AUDIT_FROM_b=$(stat -c %s "$(audit_of b)")
}
audit_ours() { # [SIDE]: lines of our own requests since the mark, on the API server of that side
  local from=AUDIT_FROM_${1:-a}
  tail -c "+$((${!from} + 1))" "$(audit_of "${1:-a}")" | grep -a "\"username\":\"$ACCOUNT\"" || true
}

#!/usr/bin/env bash
# Checks the Kubernetes side of the lab through kubectl: Jobs, Deployments, logs, exec, restarts,
# readiness, volumes, tokens, deletion, the death of the node, the values applier, `lab down`.
# Uses a lab of its own (LAB, default build/lab-check-api), and ends it.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LAB=${LAB:-$here/../../build/lab-check-api}
passed=0 failed=0

ok() { # WHAT COMMAND...
  local what=$1 out; shift
  if out=$("$@" 2>&1); then
    passed=$((passed + 1)); echo "ok - $what"
  else
    failed=$((failed + 1)); echo "not ok - $what"; tail -n 5 <<< "$out" | sed 's/^/  # /'
  fi
}

eventually() { # COMMAND...: true within 20 s
  local deadline=$((SECONDS + 20))
  until "$@"; do (( SECONDS < deadline )) || return 1; sleep 0.1; done
}

k() { kubectl -n check "$@"; }
is() { [[ $1 == "$2" ]] || { echo "have '$1', want '$2'"; return 1; }; }
has() { [[ $1 == *"$2"* ]] || { echo "'$1' lacks '$2'"; return 1; }; }
field() { k get "$1" -o "jsonpath={$2}"; }
field_is() { is "$(field "$1" "$2" 2>&1)" "$3"; }

# ---- the checks -----------------------------------------------------------------------------

apply_objects() {
  kubectl create namespace check || return 1
  eventually k get serviceaccount default > /dev/null || return 1
  k create configmap settings --from-literal=greeting=hello || return 1
  k create secret generic secrets --from-literal=password=hidden || return 1
  k apply -f - << 'YAML'
apiVersion: batch/v1
kind: Job
metadata: {name: good}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: any
        command: [sh, -c, 'cat $(LAB_MOUNT_SETTINGS)/greeting; echo " $PASSWORD $POD_IP $HOSTNAME"']
        env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: secrets, key: password}}}]
        volumeMounts: [{name: settings, mountPath: /settings}]
      volumes: [{name: settings, configMap: {name: settings}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: bad}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: any, command: [sh, -c, "exit 3"]}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: first, image: any, command: [sh, -c, "echo first"]}]
      containers:
      - name: main
        image: any
        command: [sh, -c, 'i=0; while :; do i=$((i+1)); echo line $i; sleep 0.2; done']
        readinessProbe: {exec: {command: [test, -e, ready]}, periodSeconds: 1, failureThreshold: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec: {containers: [{name: main, image: any, command: [sh, -c, 'echo run of $HOSTNAME; exit 4']}]}
---
apiVersion: v1
kind: Pod
metadata: {name: stubborn}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: any, command: [sh, -c, 'trap "" TERM; while :; do sleep 0.1; done']}]
---
apiVersion: v1
kind: Pod
metadata: {name: noimage}
spec: {containers: [{name: main, image: "any:missing", command: ["true"]}]}
YAML
}

job_done() { k wait --for=condition=complete --timeout=20s job/good && has "$(k logs job/good)" "hello hidden 127."; }
job_failed() {
  k wait --for=condition=failed --timeout=20s job/bad || return 1
  is "$(k get pod -l job-name=bad -o 'jsonpath={.items[0].status.containerStatuses[0].state.terminated.exitCode}')" 3
}

web_pod() { k get pod -l app=web -o 'jsonpath={.items[0].metadata.name}'; }
not_ready_first() { eventually field_is "pod/$(web_pod)" .status.phase Running && field_is deploy/web .status.readyReplicas ""; }
ready_by_probe() { k exec "$(web_pod)" -- touch ready && k rollout status deploy/web --timeout=20s; }
unready_by_probe() {
  k exec "$(web_pod)" -- rm ready && eventually field_is deploy/web .status.readyReplicas "" && k exec "$(web_pod)" -- touch ready
}
init_ran() { is "$(k logs "$(web_pod)" -c first)" first; }

exec_code() {
  k exec "$(web_pod)" -- sh -c 'echo out; exit 7' > /dev/null 2>&1
  is $? 7
}
exec_streams() { is "$(echo in | k exec -i "$(web_pod)" -- sh -c 'cat; echo err >&2' 2> /dev/null)" in; }
exec_big() { is "$(k exec "$(web_pod)" -- head -c 5000000 /dev/zero | wc -c)" 5000000; }
exec_missing() { k exec "$(web_pod)" -- no-such-program > /dev/null 2>&1; is $? 127; }

logs_tail() { is "$(k logs "$(web_pod)" --tail=2 | wc -l)" 2 && is "$(k logs "$(web_pod)" --tail=0 | wc -l)" 0; }
logs_since_time() {
  local line stamp
  line=$(k logs "$(web_pod)" --timestamps --tail=1); stamp=${line%% *}
  # the API keeps whole seconds of the time: the first line is of that second, or later
  line=$(k logs "$(web_pod)" --timestamps --since-time="${stamp%.*}Z" | head -1)
  [[ ! ${line%% *} < ${stamp%.*} ]] && has "$line" line
}
logs_follow() {
  local lines
  lines=$(timeout 5 kubectl -n check logs -f --tail=1 "$(web_pod)" | head -4 | wc -l)
  is "$lines" 4
}

crash_loops() { eventually field_is pod/crash '.status.containerStatuses[0].state.waiting.reason' CrashLoopBackOff; }
crash_counts() { [[ $(field pod/crash '.status.containerStatuses[0].restartCount') -ge 1 ]]; }
crash_code() { field_is pod/crash '.status.containerStatuses[0].lastState.terminated.exitCode' 4; }
crash_previous() { is "$(k logs -p crash)" "run of crash"; }
no_image() { field_is pod/noimage '.status.containerStatuses[0].state.waiting.reason' ImagePullBackOff; }

stubborn_deleted() {
  local began=$SECONDS
  k delete pod stubborn --timeout=20s && (( SECONDS - began < 6 ))
}
forced() { k delete pod crash --force --grace-period=0 && eventually gone_from_disk crash; }
gone_from_disk() { ! grep -qs . "$LAB"/run/pods/"$1"*; }

# In a pod the API is reached with the token of its service account, under RBAC.
token_works() { has "$(k exec "$(web_pod)" -- kubectl auth whoami 2>&1)" system:serviceaccount:check:default; }
rbac_refuses() { has "$(k exec "$(web_pod)" -- kubectl get secrets 2>&1)" Forbidden; }
audited() { grep -q '"verb":"create".*"resource":"namespaces"' "$LAB_AUDIT_LOG" && ! grep -q '"stage":"RequestReceived"' "$LAB_AUDIT_LOG"; }

node_dies() {
  local pod; pod=$(web_pod)
  "$here/lab" kill node && "$here/lab" start node || return 1
  eventually field_is "pod/$pod" '.status.containerStatuses[0].restartCount' 1 || return 1
  has "$(k logs -p "$pod" -c main --tail=1)" line
}

apply_applier() {
  mkdir -p "$LAB/chart/templates"
  echo '{apiVersion: v2, name: check, version: 0.1.0}' > "$LAB/chart/Chart.yaml"
  printf '%s\n' 'apiVersion: v1' 'kind: ConfigMap' 'metadata: {name: result}' 'data: {value: "{{ .Values.value }}"}' \
    > "$LAB/chart/templates/result.yaml"
  k create configmap values --from-literal=values.yaml='value: one' || return 1
  k create rolebinding applier --clusterrole=admin --serviceaccount=check:default || return 1
  k apply -f - << YAML
apiVersion: v1
kind: Pod
metadata: {name: applier}
spec:
  containers:
  - name: main
    image: any
    command: [applier, --namespace=check, --configmap=values, --release=release, --chart=$LAB/chart]
    env: [{name: LAB_FAULTS, value: \$(LAB_FAULTS_A)}]
YAML
}
set_value() { k patch configmap values --type=merge -p "{\"data\":{\"values.yaml\":\"value: $1\"}}"; }
result_is() { field_is configmap/result .data.value "$1"; }
applier_applies() { eventually result_is one && set_value two && eventually result_is two; }
applier_refuses() {
  "$here/lab" fault a applier.refuse=true || return 1
  set_value three && eventually has_log refused && result_is two || return 1
  "$here/lab" fault a --clear && eventually result_is three
}
applier_reverts() {
  "$here/lab" fault a applier.revert=true || return 1
  set_value four && eventually has_log "put back" && eventually result_is three && "$here/lab" fault a --clear
}
has_log() { [[ $(k logs applier) == *"$1"* ]]; }

namespace_goes() { kubectl delete namespace check --timeout=30s; }

all_gone() { # PID...
  local pid
  for pid; do ! alive "$pid" || { echo "process $pid is left"; return 1; }; done
}
alive() { [[ -r /proc/$1/stat && $(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat") != Z ]]; }

# ---- run ------------------------------------------------------------------------------------

"$here/lab" up --api-only || exit 1
trap '"$here/lab" down' EXIT
eval "$("$here/lab" env)"
PATH=$LAB_BIN:$PATH

ok "server version is set" has "$(kubectl version 2>&1)" "Server Version: v1."
ok "objects are taken" apply_objects
ok "a Job completes; ConfigMap volume, Secret variable and pod address are there" job_done
ok "a Job that exits with 3 fails with 3" job_failed
ok "a pod is not ready before its probe" not_ready_first
ok "a pod is ready with its probe" ready_by_probe
ok "and unready without" unready_by_probe
ok "init containers run first" init_ran
ok "exec gives the exit code" exec_code
ok "exec passes stdin and keeps stdout apart" exec_streams
ok "exec passes 5 MB" exec_big
ok "exec of a missing program gives 127" exec_missing
ok "logs --tail" logs_tail
ok "logs --since-time" logs_since_time
ok "logs -f" logs_follow
ok "a crashing container backs off" crash_loops
ok "its restarts are counted" crash_counts
ok "its exit code is kept" crash_code
ok "logs -p" crash_previous
ok "an image that is missing keeps the pod waiting" no_image
ok "a pod that ignores TERM is gone after its grace" stubborn_deleted
ok "a pod deleted by force is gone" forced
ok "a pod has its service account's token" token_works
ok "RBAC holds for it" rbac_refuses
ok "requests are in the audit log" audited
ok "containers start again after the death of the node" node_dies
ok "an applier is made" apply_applier
ok "it applies values" applier_applies
ok "it can refuse" applier_refuses
ok "it can revert" applier_reverts
ok "a namespace can be deleted" namespace_goes

pids=$(cat "$LAB"/run/*.pid "$LAB"/run/pods/*.pid 2> /dev/null | cut -d' ' -f1)
trap - EXIT
ok "lab down" "$here/lab" down
# shellcheck disable=SC2086
ok "nothing is left running" eventually all_gone $pids

echo "$passed passed, $failed failed"
(( failed == 0 ))

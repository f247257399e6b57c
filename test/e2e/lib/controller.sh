# shellcheck shell=bash
# The controller as a process, and the resource it works on.

RESOURCE=dc1-dc2-level-1

controller_start() { # [VAR=VALUE...]
  local log=$OUT/controller.log
  env ASAN_OPTIONS=detect_leaks=0 "${controller_env[@]}" "$@" "$CONTROLLER" --kubeconfig "$STATE/controller.kubeconfig" --metrics-addr 127.0.0.1:0 \
    --log-level debug "${controller_args[@]}" < /dev/null >> "$log" 2>&1 7>&- &
  CONTROLLER_PID=$!
  echo "$CONTROLLER_PID $(cut -d' ' -f22 "/proc/$CONTROLLER_PID/stat")" > "$STATE/controller.pid"
}

controller_alive() {
  kill -0 "$CONTROLLER_PID" 2> /dev/null || fail "the controller ended: $(tail -n 1 "$OUT/controller.log")"
}

controller_stop() {
  local pid=${CONTROLLER_PID:-} code=0
  [[ $pid ]] || return 0
  CONTROLLER_PID=''
  kill "$pid" 2> /dev/null || true
  ( exec 3<> <(:); for ((i = 0; i < 150; i++)); do kill -0 "$pid" 2> /dev/null || exit 0; read -r -t 0.1 -u 3 || true; done; kill -9 "$pid" ) 2> /dev/null &
  wait "$pid" || code=$?
  wait $! || true
  rm -f "$STATE/controller.pid"
  ((code == 0)) || fail "the controller stopped with exit code $code: $(tail -n 1 "$OUT/controller.log")"
}

# One that an interrupted run left behind.
controller_sweep() {
  local pid started
  { read -r pid started < "$STATE/controller.pid"; } 2> /dev/null || return 0
  if [[ $(cut -d' ' -f22 "/proc/$pid/stat" 2> /dev/null) == "$started" ]]; then kill -9 "$pid" 2> /dev/null || true; fi
  rm -f "$STATE/controller.pid"
}

# ---- the resource ---------------------------------------------------------------------------

apply_resource() { # jq programs
  "$E2E/resource.sh" "$@" > "$OUT/applied.json"
  kubectl apply -f "$OUT/applied.json" > /dev/null || fail "the resource was refused"
}

wait_finished() { # [SECONDS]
  kubectl -n "$LAB_NAMESPACE" wait --for=condition=Finished "distverification/$RESOURCE" --timeout="${1:-$timeout}s" > /dev/null && return 0
  collect
  fail "not Finished after ${1:-$timeout} s: $(jq -r '.status | "\(.stage) \(.progress) \(.message)"' "$OUT/resource.json")"
}

resource_json() { kubectl -n "$LAB_NAMESPACE" get distverification "$RESOURCE" -o json; }
status() { jq -r ".status | $1" "$OUT/resource.json"; } # JQ-PROGRAM, of what collect took

collect() {
  resource_json > "$OUT/resource.json" 2> /dev/null || true
  values_keep values 2> /dev/null || true
  kubectl -n "$LAB_NAMESPACE" get events.events.k8s.io -o json 2> /dev/null \
    | jq -r '.items[] | select(.reportingController == "distverify.io/controller") | "\(.eventTime) \(.type) \(.reason) \(.note)"' | sort > "$OUT/events.txt" || true
}

# With the controller there it takes its finalizer away by itself.
remove_resources() {
  kubectl -n "$LAB_NAMESPACE" delete distverifications --all --timeout=30s > /dev/null || fail "the resource did not go away within 30 s of its deletion"
  kubectl -n "$LAB_NAMESPACE" delete events.events.k8s.io --all > /dev/null
}

# Without a controller nobody does.
resources_sweep() {
  local name
  kubectl -n "$LAB_NAMESPACE" delete distverifications --all --wait=false > /dev/null
  for name in $(kubectl -n "$LAB_NAMESPACE" get distverifications -o name); do
    kubectl -n "$LAB_NAMESPACE" patch "$name" --type=merge -p '{"metadata":{"finalizers":null}}' > /dev/null 2>&1 || true
  done
  kubectl -n "$LAB_NAMESPACE" wait --for=delete distverifications --all --timeout=30s > /dev/null
  kubectl -n "$LAB_NAMESPACE" delete events.events.k8s.io --all > /dev/null
}

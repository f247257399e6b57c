# shellcheck shell=bash
# The Kubernetes side of the lab: etcd, kube-apiserver, kube-controller-manager and the node.
# Everything here takes the number of the API server (1, or 2 with LAB_API_SERVERS=2); parts of the
# second one have the suffix -2.

LAB_KUBE_VERSION=1.36.3
LAB_HELM_VERSION=3.22.0
LAB_CONTROLLERS=serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller
LAB_CONTROLLERS+=,namespace-controller,garbage-collector-controller,pod-garbage-collector-controller
LAB_CONTROLLERS+=,clusterrole-aggregation-controller,job-controller,ttl-after-finished-controller,deployment-controller,replicaset-controller

lab_suffix() { [[ $1 == 1 ]] || echo "-$1"; }
lab_api_dir() { echo "$LAB/api$(lab_suffix "$1")"; }
lab_kubectl() { local n=$1; shift; "$LAB_BIN/kubectl" --kubeconfig "$(lab_api_dir "$n")/certs/admin.kubeconfig" "$@"; }
lab_helm() { local n=$1; shift; "$LAB_BIN/helm" --kubeconfig "$(lab_api_dir "$n")/certs/admin.kubeconfig" "$@"; }

# ---- build ----------------------------------------------------------------------------------

lab_go_build() {
  [[ -n $(lab_go_stale) ]] || return 0
  command -v go > /dev/null || lab_die "go is missing: install Go as test/lab/go/go.mod says"
  mkdir -p "$LAB_BIN"
  (
    flock 8
    [[ -n $(lab_go_stale) ]] || exit 0
    lab_step "build the Go programs (minutes the first time)" lab_go_make
  ) 8> "$LAB_BIN/lock"
}

lab_go_stale() { # something when a source is newer than what was built
  if [[ -x $LAB_BIN/lab-bin && -x $LAB_BIN/helm ]]; then
    find "$LAB_HOME/go" "$LAB_HOME/lib/api.sh" -type f ! -name '*_test.go' -newer "$LAB_BIN/helm" -print -quit
  else
    echo "$LAB_BIN/lab-bin"
  fi
}

lab_go_make() {
  local major=${LAB_KUBE_VERSION%%.*} minor package program flags="-s -w"
  minor=${LAB_KUBE_VERSION#*.}; minor=${minor%%.*}
  # Without a version `kubectl version` fails, and charts that ask for one are refused.
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=v$LAB_KUBE_VERSION -X $package.gitMajor=$major -X $package.gitMinor=$minor"
  done
  flags+=" -X helm.sh/helm/v3/internal/version.version=v$LAB_HELM_VERSION"
  flags+=" -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=$major -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=$minor"
  lab_go_compile "$flags" lab-bin .
  for program in etcd kube-apiserver kube-controller-manager kubectl node applier; do
    ln -sfn lab-bin "$LAB_BIN/$program"
  done
  lab_go_compile "$flags" helm helm.sh/helm/v3/cmd/helm
}

# A running lab keeps its old program: the new one takes its name in one step.
lab_go_compile() { # LDFLAGS NAME PACKAGE
  lab_go build -buildvcs=false -gcflags='all=-N -l' -ldflags="$1" -o "$LAB_BIN/$2.new" "$3"
  mv "$LAB_BIN/$2.new" "$LAB_BIN/$2"
}

# Without optimisation everywhere (the flags above and below): these programs wait for the network, and
# compiling them takes half the time; tests that ask for the same find everything compiled.
lab_go_test() {
  lab_go vet -gcflags='all=-N -l' ./...
  lab_go test -gcflags='all=-N -l' -ldflags='-s -w' ./...
}

lab_go() { (cd "$LAB_HOME/go" && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly nice -n 5 go "$@"); }

# ---- start ----------------------------------------------------------------------------------

lab_api_claim_ports() {
  local n names=()
  for ((n = 1; n <= LAB_API_SERVERS; n++)); do
    names+=("etcd$(lab_suffix "$n")" "etcd-peer$(lab_suffix "$n")" "kube-apiserver$(lab_suffix "$n")"
            "kube-controller-manager$(lab_suffix "$n")")
  done
  lab_claim_ports "${names[@]}"
}

lab_api_up() { # N
  local n=$1
  lab_api_files "$n"
  lab_etcd_start "$n"
  lab_apiserver_start "$n"
  lab_wait "ready API server $n" "kube-apiserver$(lab_suffix "$n")" lab_kubectl "$n" get --raw=/readyz
  lab_kcm_start "$n"
  lab_node_start "$n"
  lab_wait "default service account on API server $n" "kube-controller-manager$(lab_suffix "$n")" \
    lab_kubectl "$n" -n default get serviceaccount default
  lab_wait "ready node on API server $n" "node$(lab_suffix "$n")" lab_node_ready "$n"
}

lab_api_files() { # N
  local dir; dir=$(lab_api_dir "$1")
  mkdir -p "$dir"
  "$LAB_BIN/lab-bin" certs "$dir/certs" "https://127.0.0.1:$(lab_port "kube-apiserver$(lab_suffix "$1")")"
  cat > "$dir/audit-policy.yaml" <<'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
YAML
}

lab_etcd_start() { # N
  local s client peer; s=$(lab_suffix "$1")
  client=http://127.0.0.1:$(lab_port "etcd$s")
  peer=http://127.0.0.1:$(lab_port "etcd-peer$s")
  lab_start "etcd$s" "$LAB_BIN/etcd" --name=lab --data-dir="$(lab_api_dir "$1")/etcd" \
    --listen-client-urls="$client" --advertise-client-urls="$client" \
    --listen-peer-urls="$peer" --initial-advertise-peer-urls="$peer" --initial-cluster="lab=$peer" \
    --unsafe-no-fsync --log-level=warn
}

lab_apiserver_start() { # N
  local s dir certs; s=$(lab_suffix "$1"); dir=$(lab_api_dir "$1"); certs=$dir/certs
  # No endpoint for the service `kubernetes`: the API refuses loopback addresses there.
  lab_start "kube-apiserver$s" "$LAB_BIN/kube-apiserver" \
    --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port="$(lab_port "kube-apiserver$s")" \
    --etcd-servers="http://127.0.0.1:$(lab_port "etcd$s")" \
    --tls-cert-file="$certs/server.crt" --tls-private-key-file="$certs/server.key" --client-ca-file="$certs/ca.crt" \
    --service-account-issuer=https://kubernetes.default.svc.cluster.local \
    --service-account-key-file="$certs/sa.key" --service-account-signing-key-file="$certs/sa.key" \
    --kubelet-client-certificate="$certs/kubelet-client.crt" --kubelet-client-key="$certs/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP --service-cluster-ip-range=10.96.0.0/16 \
    --endpoint-reconciler-type=none --authorization-mode=RBAC --enable-priority-and-fairness=false \
    --audit-policy-file="$dir/audit-policy.yaml" --audit-log-path="$LAB/logs/audit$s.log"
}

lab_kcm_start() { # N
  local s certs; s=$(lab_suffix "$1"); certs=$(lab_api_dir "$1")/certs
  lab_start "kube-controller-manager$s" "$LAB_BIN/kube-controller-manager" \
    --kubeconfig="$certs/controller-manager.kubeconfig" --bind-address=127.0.0.1 \
    --secure-port="$(lab_port "kube-controller-manager$s")" --leader-elect=false \
    --use-service-account-credentials=false --controllers="$LAB_CONTROLLERS" \
    --root-ca-file="$certs/ca.crt" --service-account-private-key-file="$certs/sa.key"
}

# Pods get LAB and every LAB_ variable that is exported here.
lab_node_start() { # N
  local s certs name env=(); s=$(lab_suffix "$1"); certs=$(lab_api_dir "$1")/certs
  for name in $(compgen -e); do
    if [[ $name == LAB || $name == LAB_* ]]; then env+=("$name=${!name}"); fi
  done
  lab_start "node$s" "${env[@]}" "$LAB_BIN/node" --kubeconfig="$certs/node.kubeconfig" \
    --ca="$certs/ca.crt" --cert="$certs/server.crt" --key="$certs/server.key" \
    --state="$LAB/pods$s" --logs="$LAB/logs/pods$s" --pids="$LAB/run/pods$s"
}

lab_node_ready() { # N
  [[ $(lab_kubectl "$1" get node lab -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') == True ]]
}

lab_api_env() {
  lab_env KUBECONFIG "$(lab_api_dir 1)/certs/admin.kubeconfig"
  if (( LAB_API_SERVERS > 1 )); then lab_env KUBECONFIG_2 "$(lab_api_dir 2)/certs/admin.kubeconfig"; fi
  lab_env LAB "$LAB"
  lab_env LAB_BIN "$LAB_BIN"
  lab_env LAB_NAMESPACE "$LAB_NAMESPACE"
  lab_env LAB_PROFILE "$LAB_PROFILE"
  lab_env LAB_AUDIT_LOG "$LAB/logs/audit.log"
  lab_env KUBECACHEDIR "$LAB/kube-cache" # another lab may have had the same port
}

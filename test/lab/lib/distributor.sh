# shellcheck shell=bash
# The two Distributors: CRDs, namespace, Secrets, values, Strimzi stand-in, appliers, first release.
# Sourced after common.sh, api.sh and kafka.sh. Public: lab_distributor_up, lab_distributor_down, lab_distributor_status,
# lab_values SIDE (the text of a fresh lab's values), lab_foreign_replicator start|stop.

LAB_CRDS=${LAB_CRDS:-$LAB_HOME/crds}      # another directory: other CRDs of the same names, e.g. Strimzi's own

lab_api_of() { # SIDE -> the API server its Distributor lives on
  if [[ $1 == b && $LAB_API_SERVERS == 2 ]]; then echo 2; else echo 1; fi
}

# ---- life -----------------------------------------------------------------------------------

lab_distributor_up() {
  local n side
  lab_env LAB_FAULTS_A "$LAB_FAULTS_A"
  lab_env LAB_FAULTS_B "$LAB_FAULTS_B"
  lab_java_build
  for ((n = 1; n <= LAB_API_SERVERS; n++)); do
    lab_crds_up "$n"
    lab_kubectl "$n" apply --server-side --force-conflicts -f <(lab_distributor_objects "$n") > "$LAB/logs/distributor-objects.log" 2>&1 \
      || { lab_tail distributor-objects; return 1; }
    lab_start "strimzi$(lab_suffix "$n")" "KUBECONFIG=$(lab_api_dir "$n")/certs/admin.kubeconfig" "STRIMZI_NAMESPACE=$LAB_NAMESPACE" \
      "$LAB_JAVA/run" server io.distverify.lab.strimzi.Operator
  done
  for side in a b; do lab_values_up "$side"; done
  for side in a b; do lab_distributor_wait "$side"; done
}

lab_crds_up() { # N
  if lab_kubectl "$1" get crd kafkaconnects.kafka.strimzi.io kafkaconnectors.kafka.strimzi.io > /dev/null 2>&1; then return 0; fi
  lab_kubectl "$1" create -f "$LAB_CRDS" > /dev/null
  local crd
  for crd in kafkaconnects kafkaconnectors; do # a CRD without conditions yet makes kubectl complain, and wait on
    lab_kubectl "$1" wait --for=condition=Established --timeout=30s "crd/$crd.kafka.strimzi.io" > "$LAB/logs/crds.log" 2>&1 || { lab_tail crds; return 1; }
  done
}

# Values belong to the lab's user: a second `up` leaves them as they are.
lab_values_up() { # SIDE
  local n name
  n=$(lab_api_of "$1") name=dc$(lab_number "$1")-distributor
  if lab_kubectl "$n" -n "$LAB_NAMESPACE" get configmap "$name-values" > /dev/null 2>&1; then return 0; fi
  lab_values "$1" > "$LAB/values-$1.yaml"
  lab_kubectl "$n" -n "$LAB_NAMESPACE" create configmap "$name-values" --from-file=values.yaml="$LAB/values-$1.yaml" > /dev/null
}

lab_distributor_wait() { # SIDE
  local n name
  n=$(lab_api_of "$1") name=dc$(lab_number "$1")-distributor
  if ! lab_kubectl "$n" -n "$LAB_NAMESPACE" wait --for=create --timeout="${LAB_TIMEOUT}s" "kafkaconnect/$name" > /dev/null 2>&1; then
    lab_kubectl "$n" -n "$LAB_NAMESPACE" logs "deployment/$name-applier" --tail=15 >&2 || true
    lab_say "error: the values of $name were not applied"; return 1
  fi
  if ! lab_kubectl "$n" -n "$LAB_NAMESPACE" wait --for=condition=Ready --timeout="${LAB_TIMEOUT}s" "kafkaconnect/$name" > /dev/null 2>&1; then
    lab_tail "strimzi$(lab_suffix "$n")"
    lab_kubectl "$n" -n "$LAB_NAMESPACE" get pods >&2 || true
    lab_kubectl "$n" -n "$LAB_NAMESPACE" logs "$name-connect-0" --tail=15 >&2 || true
    lab_say "error: KafkaConnect $name is not Ready"; return 1
  fi
}

lab_distributor_down() {
  local n
  for ((n = 1; n <= LAB_API_SERVERS; n++)); do lab_stop "strimzi$(lab_suffix "$n")" 5; done
}

lab_distributor_status() {
  local n side name
  for side in a b; do
    n=$(lab_api_of "$side") name=dc$(lab_number "$side")-distributor
    lab_kubectl "$n" -n "$LAB_NAMESPACE" get kafkaconnect "$name" --no-headers --request-timeout=3s 2> /dev/null \
      | while read -r _ _ ready; do echo "$name  KafkaConnect ready: ${ready:-no}"; done
  done
}

# ---- foreign replicator ---------------------------------------------------------------------

# What a verification must notice before anything is on: a real MirrorMaker 2 that copies the test topic from A to B
# (or from b to a) under the same name, started by somebody else.
lab_foreign_replicator() { # start [a|b] | stop
  case ${1:-} in
    start) lab_step "foreign replicator" lab_mirror_start "${2:-a}" ;;
    stop) lab_stop mirror; rm -f "$LAB/run/mirror.cmd" ;;
    *) lab_die "foreign-replicator: start [a|b], or stop" ;;
  esac
}

lab_mirror_start() { # SIDE it copies from
  local from=${1^^} to=B
  [[ $from == A ]] || to=A
  [[ -e $LAB/kafka-set-up ]] || lab_die "no Kafka clusters are up in $LAB"
  rm -f "$LAB/logs/mirror.log"
  {
    printf 'clusters=%s,%s\n%s->%s.enabled=true\n%s->%s.enabled=false\n' "$from" "$to" "$from" "$to" "$to" "$from"
    printf '%s->%s.topics=%s\n' "$from" "$to" "$LAB_TEST_TOPIC"
    sed 's/^/A./' "$LAB/kafka-a/admin.properties"
    sed 's/^/B./' "$LAB/kafka-b/admin.properties"
    cat << 'EOF'
replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy
replication.factor=1
offset-syncs.topic.replication.factor=1
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
emit.heartbeats.enabled=false
emit.checkpoints.enabled=false
sync.topic.acls.enabled=false
sync.topic.configs.enabled=false
plugin.discovery=service_load
EOF
  } > "$LAB/mirror.properties"
  lab_start mirror "$LAB_JAVA/run" server org.apache.kafka.connect.mirror.MirrorMaker "$LAB/mirror.properties"
  lab_wait "task of MirrorMaker" mirror grep -qa 'MirrorSourceTask.*Starting with' "$LAB/logs/mirror.log"
}

# ---- objects --------------------------------------------------------------------------------

lab_distributor_objects() { # N: namespace, Secrets and appliers on that API server
  local side number remote
  cat << EOF
apiVersion: v1
kind: Namespace
metadata:
  name: $LAB_NAMESPACE
EOF
  for side in a b; do
    number=$(lab_number "$side")
    lab_secret "dc$number-cluster-ca-cert" "ca.crt=$LAB/kafka-$side/certs/ca.crt"
  done
  lab_secret distverify-dc1 "password=:$LAB_USER_PASSWORD"
  lab_secret distverify-dc2 "ca.crt=$LAB/kafka-b/certs/ca.crt" "user.crt=$LAB/kafka-b/certs/distverify.crt" "user.key=$LAB/kafka-b/certs/distverify.key"
  for side in a b; do
    [[ $(lab_api_of "$side") == "$1" ]] || continue
    number=$(lab_number "$side") remote=b
    [[ $side == a ]] || remote=a
    lab_client_secret "dc$number-distributor-local" "$side" "dist-dc$number"
    lab_client_secret "dc$number-distributor-remote" "$remote" "dist-dc$number"
    lab_client_secret "dc$number-distributor-init" "$side" "init-dc$number"
    lab_applier "dc$number-distributor" "LAB_FAULTS_${side^^}"
  done
}

lab_client_secret() { # NAME SIDE CERTIFICATE
  local certs=$LAB/kafka-$2/certs
  lab_secret "$1" "ca.crt=$certs/ca.crt" "user.crt=$certs/$3.crt" "user.key=$certs/$3.key" "user.pem=$certs/$3.pem"
}

lab_secret() { # NAME KEY=FILE... or KEY=:TEXT
  local item file
  printf -- '---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  namespace: %s\ntype: Opaque\ndata:\n' "$1" "$LAB_NAMESPACE"
  shift
  for item in "$@"; do
    file=${item#*=}
    case $file in
      :*) printf '  %s: %s\n' "${item%%=*}" "$(printf %s "${file#:}" | base64 -w0)" ;;
      *) printf '  %s: %s\n' "${item%%=*}" "$(base64 -w0 < "$file")" ;;
    esac
  done
}

lab_applier() { # RELEASE FAULTS-VARIABLE
  cat << EOF
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: $1-applier
  namespace: $LAB_NAMESPACE
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: $1-applier
  namespace: $LAB_NAMESPACE
rules:
- apiGroups: ["*"]
  resources: ["*"]
  verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: $1-applier
  namespace: $LAB_NAMESPACE
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: $1-applier
subjects:
- kind: ServiceAccount
  name: $1-applier
  namespace: $LAB_NAMESPACE
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: $1-applier
  namespace: $LAB_NAMESPACE
spec:
  replicas: 1
  strategy:
    type: Recreate
  selector:
    matchLabels: {app: $1-applier}
  template:
    metadata:
      labels: {app: $1-applier}
    spec:
      serviceAccountName: $1-applier
      terminationGracePeriodSeconds: 5
      containers:
      - name: applier
        image: applier:1.0
        command: [applier, --namespace, $LAB_NAMESPACE, --configmap, $1-values, --key, values.yaml, --release, $1, --chart, $LAB_HOME/chart/distributor]
        env:
        - name: LAB_FAULTS
          value: \$($2)
EOF
}

# ---- values ---------------------------------------------------------------------------------

# The text of a fresh lab's values: comments, quoting and order as people write them.
lab_values() { # SIDE
  local side=$1 up=${1^^} number other remote
  number=$(lab_number "$side") other=$((3 - number)) remote=b
  [[ $side == a ]] || remote=a
  cat << EOF
# Axual Distributor of dc$number.
# Switches are changed here and nowhere else: what is changed in the live cluster is gone after the next upgrade.

cluster:
  name: dc$number
  principal: "$(lab_principal dist "$number")"

image: distributor:1.0

kafka:
  local:
    bootstrapServers: 127.0.0.1:$(lab_port "kafka-$side-mtls")
    secretName: dc$number-distributor-local
  remote:   # dc$other
    bootstrapServers: 127.0.0.1:$(lab_port "kafka-$remote-mtls")
    secretName: dc$number-distributor-remote

init:
  enabled: true      # keep on: also creates the groups' rights
  secretName: 'dc$number-distributor-init'
  principals:
    # the Distributor on the other side has to write here
    - "$(lab_principal dist "$other")"
    - '$(lab_principal dist "$number")'

distribution:
  enabled: false     # the main switch

  level: 1
  topicsRegex: 'distribution-.*'
  timestampsTopic: $LAB_TIMESTAMPS_TOPIC
  autoRestart: $([[ $LAB_PROFILE == field ]] && echo true || echo false)

  messageDistributor:
    enabled: false   # messages of level 1
    tasksMax: 2

  # Committer first, then the distributor on the other side.
  offsetCommitter: {enabled: false, tasksMax: 1}
  offsetDistributor:
    tasksMax: 1
    windowMs: $([[ $LAB_PROFILE == field ]] && echo 60000 || echo 3000)
    enabled: false

EOF
  lab_values_connect
  cat << EOF

extraEnv:
- name: LAB_FAULTS
  value: \$(LAB_FAULTS_$up)
EOF
}

lab_values_connect() {
  if [[ $LAB_PROFILE == field ]]; then
    cat << 'EOF'
connect:
  replicas: 2
  config:
    plugin.discovery: service_load
EOF
    return
  fi
  cat << 'EOF'
connect:
  replicas: 1
  config:
    plugin.discovery: service_load
    offset.flush.interval.ms: 1000
    scheduled.rebalance.max.delay.ms: 0
    heartbeat.interval.ms: 500
    session.timeout.ms: 6000
    metadata.max.age.ms: 2000
    consumer.heartbeat.interval.ms: 500
    consumer.session.timeout.ms: 6000
    consumer.metadata.max.age.ms: 2000
EOF
}

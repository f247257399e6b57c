# shellcheck shell=bash
# Two Kafka clusters (A = dc1, B = dc2) and everything Java: build, certificates, format, start, users, topics, first ACLs, Kafka's tools.
# Sourced after common.sh. Public: lab_java_build, lab_kafka_up, lab_kafka_down, lab_kafka_status, lab_kafka_env,
# lab_kafka_stop a|b, lab_kafka_start a|b, lab_kafka_tool <tool> args...

LAB_JAVA_OPTS='-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -Djava.net.preferIPv4Stack=true'
LAB_TEST_TOPIC=distribution-test
LAB_TEST_GROUP=distribution-test-group
LAB_TIMESTAMPS_TOPIC=_distributor-timestamps
LAB_USER_PASSWORD='distverify-secret'
LAB_ADMIN_PASSWORD='admin-secret'

# ---- build -----------------------------------------------------------------------------------

lab_java_build() {
  [[ -n $(lab_java_stale) ]] || return 0
  command -v mvn > /dev/null || lab_die "mvn is missing: install maven and a JDK 17"
  mkdir -p "$LAB_JAVA"
  (
    flock 8
    [[ -n $(lab_java_stale) ]] || exit 0
    lab_step "build the Java side" lab_java_make
  ) 8> "$LAB_JAVA/lock"
}

lab_java_stale() { # something when a source is newer than what was built
  if [[ -s $LAB_JAVA/classpath ]]; then
    find "$LAB_HOME/java/pom.xml" "$LAB_HOME/java/run" "$LAB_HOME/java/src" -newer "$LAB_JAVA/classpath" -print -quit
  else
    echo "$LAB_JAVA/classpath"
  fi
}

lab_java_make() {
  local began list=$LAB_JAVA/classpath
  began=$(mktemp -p "$LAB_JAVA")
  if ! { lab_mvn -o -q -DskipTests package || lab_mvn -q -DskipTests package; } > "$LAB_JAVA/mvn.log" 2>&1; then
    rm -f "$began"; tail -n 30 "$LAB_JAVA/mvn.log" >&2; return 1
  fi
  # Replaced in one step: what runs keeps the file it began with.
  cp "$LAB_JAVA/target/lab.jar" "$LAB_JAVA/lab.jar.new"; mv "$LAB_JAVA/lab.jar.new" "$LAB_JAVA/lab.jar"
  cp "$LAB_HOME/java/run" "$LAB_JAVA/run.new"; mv "$LAB_JAVA/run.new" "$LAB_JAVA/run"
  lab_java_libraries > "$list.libraries"
  printf '%s:%s' "$(< "$list.libraries")" "$LAB_JAVA/lab.jar" > "$list.new"
  touch -r "$began" "$list.new"; rm -f "$began"
  mv "$list.new" "$list"
  [[ $LAB_JAVA/classes.jsa -nt $LAB_JAVA/lib ]] || lab_java_archive || lab_say "no archive of loaded classes: Java programs will start slowly"
}

lab_java_libraries() { # lab.jar comes last: the archive holds what comes before, and outlives changes of lab.jar
  local file all=
  for file in "$LAB_JAVA"/lib/*.jar; do all+=${all:+:}$file; done
  printf %s "$all"
}

# Starts one of each kind of program for a moment, in a lab of its own, to learn which classes they load.
lab_java_archive() {
  rm -rf "$LAB_JAVA/archive" "$LAB_JAVA/classes.jsa"
  LAB=$LAB_JAVA/archive LAB_JAVA_CLASSES=$LAB_JAVA/archive/classes bash -euo pipefail -c \
    '. "$0/lib/common.sh"; . "$0/lib/kafka.sh"; trap "lab_stop_all 2; rm -rf \"$LAB\"" EXIT; lab_java_learn' "$LAB_HOME" > "$LAB_JAVA/archive.log" 2>&1
}

lab_java_learn() {
  mkdir -p "$LAB_JAVA_CLASSES" "$LAB/logs"
  lab_kafka_create
  export POD_IP=127.$((RANDOM % 100 + 100)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1))
  local certs=$LAB/kafka-a/certs admin=$LAB/kafka-a/admin.properties bootstrap
  bootstrap=127.0.0.1:$(lab_port kafka-a-sasl)
  lab_start worker KAFKA_CONNECT_BOOTSTRAP_SERVERS="127.0.0.1:$(lab_port kafka-a-mtls)" KAFKA_CONNECT_TRUSTED_CERTS="$certs/ca.crt" \
    KAFKA_CONNECT_TLS_CERT="$certs/dist-dc1.crt" KAFKA_CONNECT_TLS_KEY="$certs/dist-dc1.key" \
    KAFKA_CONNECT_CONFIGURATION="$(printf '%s\n' group.id=dc1-distributor {config,offset,status}.storage.replication.factor=1 \
      config.storage.topic=dc1-distributor-configs offset.storage.topic=dc1-distributor-offsets status.storage.topic=dc1-distributor-status \
      {key,value}.converter=org.apache.kafka.connect.converters.ByteArrayConverter plugin.discovery=service_load)" \
    "$LAB_JAVA/run" server io.distverify.lab.connect.Worker
  echo x | lab_kafka_tool kafka-console-producer --bootstrap-server "$bootstrap" --command-config "$admin" --topic "$LAB_TEST_TOPIC"
  lab_kafka_tool kafka-console-consumer --bootstrap-server "$bootstrap" --command-config "$admin" --topic "$LAB_TEST_TOPIC" --from-beginning --max-messages 1
  lab_kafka_tool kafka-consumer-groups --bootstrap-server "$bootstrap" --command-config "$admin" --all-groups --describe
  KUBECONFIG=/dev/null LAB_JAVA_TIMEOUT=10 lab_java io.distverify.lab.strimzi.Operator || true
  lab_wait "worker" worker grep -qa 'Finished starting connectors and tasks' "$LAB/logs/worker.log"
  lab_stop_all 5
  cat "$LAB_JAVA_CLASSES"/*.list | grep -v '^#' | grep -v 'io/distverify' | grep -v '@lambda' | sort -u > "$LAB/all.list"
  unset LAB_JAVA_CLASSES
  java -Xshare:dump -XX:+UseSerialGC -XX:SharedClassListFile="$LAB/all.list" -XX:SharedArchiveFile="$LAB_JAVA/classes.jsa" \
    -cp "$(< "$LAB_JAVA/classpath.libraries")" -Xlog:disable
}

lab_java_test() { lab_mvn -q test; }

lab_mvn() { mvn -B -f "$LAB_HOME/java/pom.xml" -Dlab.out="$LAB_JAVA" "$@"; }

lab_java_classpath() { echo "$(< "$LAB_JAVA/classpath")"; }

# lab_java <main class> args...: a tool in the foreground
lab_java() {
  timeout "${LAB_JAVA_TIMEOUT:-600}" "$LAB_JAVA/run" "$@"
}

# ---- certificates ----------------------------------------------------------------------------

# lab_cert_ca <dir> <cn>
lab_cert_ca() {
  mkdir -p "$1"
  [ -s "$1/ca.crt" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days 3650 \
    -keyout "$1/ca.key" -out "$1/ca.crt" -subj "/O=Example/CN=$2" 2>/dev/null
}

# lab_cert <dir> <file name> <subject> [subjectAltName]: key, certificate, and both as one PEM key store for Java
lab_cert() {
  local dir=$1 name=$2 subject=$3 san=${4:-}
  [ -s "$dir/$name.pem" ] && return 0
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -keyout "$dir/$name.key" -out "$dir/$name.csr" -subj "$subject" 2>/dev/null
  openssl x509 -req -sha256 -days 3650 -in "$dir/$name.csr" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" -set_serial "0x$(openssl rand -hex 8)" \
    -extfile <(printf 'basicConstraints=CA:FALSE\n%s\n' "${san:+subjectAltName=$san}") -out "$dir/$name.crt" 2>/dev/null
  rm -f "$dir/$name.csr"
  cat "$dir/$name.key" "$dir/$name.crt" "$dir/ca.crt" >"$dir/$name.pem"
}

# the principals of the Distributors: with commas, blanks and '=' in them, as mutual TLS gives
lab_principal() { printf 'User:CN=%s,OU=Streaming %s,O=Example' "$1-dc$2" "$2"; }
lab_subject() { printf '/O=Example/OU=Streaming %s/CN=%s' "$2" "$1-dc$2"; }

lab_kafka_certs() {
  local side=$1 dir=$LAB/kafka-$1/certs n
  lab_cert_ca "$dir" "Kafka dc$(lab_number "$side") CA"
  lab_cert "$dir" broker "/O=Example/CN=broker-dc$(lab_number "$side")" 'IP:127.0.0.1,DNS:localhost'
  lab_cert "$dir" distverify /CN=distverify
  lab_cert "$dir" stranger /CN=stranger
  for n in 1 2; do
    lab_cert "$dir" "dist-dc$n" "$(lab_subject dist $n)"
    lab_cert "$dir" "init-dc$n" "$(lab_subject init $n)"
  done
  lab_cert "$dir" mirror "/O=Example/CN=mirror"
}

lab_number() { case $1 in a) echo 1 ;; b) echo 2 ;; esac; }

# ---- configuration ---------------------------------------------------------------------------

lab_kafka_config() {
  local side=$1 dir=$LAB/kafka-$1 sasl ssl mtls controller
  sasl=$(lab_port "kafka-$side-sasl") ssl=$(lab_port "kafka-$side-sasl-ssl") mtls=$(lab_port "kafka-$side-mtls") controller=$(lab_port "kafka-$side-controller")
  local plain='org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="'$LAB_ADMIN_PASSWORD'" user_admin="'$LAB_ADMIN_PASSWORD'" user_distverify="'$LAB_USER_PASSWORD'" user_stranger="stranger-secret";'
  local scram='org.apache.kafka.common.security.scram.ScramLoginModule required;'
  {
    cat <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=SASL_PLAINTEXT://127.0.0.1:$sasl,SASL_SSL://127.0.0.1:$ssl,SSL://127.0.0.1:$mtls,CONTROLLER://127.0.0.1:$controller
advertised.listeners=SASL_PLAINTEXT://127.0.0.1:$sasl,SASL_SSL://127.0.0.1:$ssl,SSL://127.0.0.1:$mtls
listener.security.protocol.map=SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:SASL_PLAINTEXT
inter.broker.listener.name=SASL_PLAINTEXT
controller.listener.names=CONTROLLER
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.mechanism.controller.protocol=PLAIN
listener.name.controller.sasl.enabled.mechanisms=PLAIN
listener.name.controller.plain.sasl.jaas.config=$plain
EOF
    local listener
    for listener in sasl_plaintext sasl_ssl; do
      cat <<EOF
listener.name.$listener.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.$listener.plain.sasl.jaas.config=$plain
listener.name.$listener.scram-sha-256.sasl.jaas.config=$scram
listener.name.$listener.scram-sha-512.sasl.jaas.config=$scram
EOF
    done
    cat <<EOF
ssl.keystore.type=PEM
ssl.keystore.location=$dir/certs/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location=$dir/certs/ca.crt
listener.name.ssl.ssl.client.auth=required
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin
allow.everyone.if.no.acl.found=false
auto.create.topics.enable=false
log.dirs=$dir/data
log.segment.bytes=16777216
log.index.size.max.bytes=1048576
log.cleaner.dedupe.buffer.size=4194304
num.network.threads=2
num.io.threads=4
background.threads=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
EOF
    if [ "$LAB_PROFILE" != field ]; then
      cat <<EOF
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=5
EOF
    fi
  } >"$dir/server.properties"

  cat >"$dir/admin.properties" <<EOF
bootstrap.servers=127.0.0.1:$sasl
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="$LAB_ADMIN_PASSWORD";
EOF
  lab_kafka_setup_config "$side" >"$dir/setup.properties"
}

# what exists before any init job: the test topic, our principal's rights, a Distributor's own Connect cluster, the init job's rights
lab_kafka_setup_config() {
  local side=$1 n us=User:distverify dist init
  n=$(lab_number "$side") dist=$(lab_principal dist "$n") init=$(lab_principal init "$n")
  cat "$LAB/kafka-$side/admin.properties"
  echo "setup.topics=$LAB_TEST_TOPIC:3"
  local i=0 grant
  while read -r grant; do
    echo "setup.grant.$((i++))=$grant"
  done <<EOF
$us|TOPIC|$LAB_TEST_TOPIC|DESCRIBE,DESCRIBE_CONFIGS,READ,WRITE
$us|TOPIC|$LAB_TIMESTAMPS_TOPIC|DESCRIBE,READ
$us|GROUP|$LAB_TEST_GROUP|READ,DESCRIBE
$us|GROUP|*|DESCRIBE
$us|CLUSTER|kafka-cluster|DESCRIBE
User:CN=distverify|TOPIC|$LAB_TEST_TOPIC|DESCRIBE,DESCRIBE_CONFIGS,READ,WRITE
User:CN=distverify|TOPIC|$LAB_TIMESTAMPS_TOPIC|DESCRIBE,READ
User:CN=distverify|GROUP|$LAB_TEST_GROUP|READ,DESCRIBE
User:CN=distverify|GROUP|*|DESCRIBE
User:CN=distverify|CLUSTER|kafka-cluster|DESCRIBE
$dist|GROUP|dc$n-distributor|READ,DESCRIBE
$dist|TOPIC|dc$n-distributor-configs|CREATE,DESCRIBE,DESCRIBE_CONFIGS,READ,WRITE
$dist|TOPIC|dc$n-distributor-offsets|CREATE,DESCRIBE,DESCRIBE_CONFIGS,READ,WRITE
$dist|TOPIC|dc$n-distributor-status|CREATE,DESCRIBE,DESCRIBE_CONFIGS,READ,WRITE
$init|CLUSTER|kafka-cluster|ALTER,DESCRIBE,CREATE
EOF
}

# ---- life -----------------------------------------------------------------------------------

lab_kafka_ports() {
  local side names=()
  for side in a b; do names+=("kafka-$side-sasl" "kafka-$side-sasl-ssl" "kafka-$side-mtls" "kafka-$side-controller"); done
  if [[ -x $LAB_BIN/lab-bin ]]; then
    lab_claim_ports "${names[@]}"
  else # Kafka alone, without the Go half
    lab_java io.distverify.lab.kafka.Ports "$LAB/ports" "${names[@]}"
  fi
}

lab_kafka_format() { # SIDE
  local dir=$LAB/kafka-$1 log=$LAB/logs/kafka-$1-format.log user scram=()
  [[ ! -e $dir/data/meta.properties ]] || return 0
  for user in "admin,password=$LAB_ADMIN_PASSWORD" "distverify,password=$LAB_USER_PASSWORD" stranger,password=stranger-secret; do
    scram+=(--add-scram "SCRAM-SHA-256=[name=$user]" --add-scram "SCRAM-SHA-512=[name=$user]")
  done
  lab_java kafka.tools.StorageTool format --config "$dir/server.properties" --cluster-id "$(lab_kafka_id)" "${scram[@]}" > "$log" 2>&1 \
    || { tail -n 15 "$log" >&2; lab_say "error: Kafka $1 could not be formatted"; return 1; }
}

lab_kafka_id() { openssl rand 16 | base64 | tr '+/' '-_' | tr -d '=' | sed 's/^-/x/'; }

lab_kafka_start() { # SIDE
  lab_start "kafka-$1" "$LAB_JAVA/run" server kafka.Kafka "$LAB/kafka-$1/server.properties"
}

lab_kafka_stop() { lab_stop "kafka-$1" 30; }

lab_kafka_up() {
  lab_java_build
  if lab_alive kafka-a && lab_alive kafka-b && [[ -e $LAB/kafka-set-up ]]; then return 0; fi
  lab_step "start two Kafka clusters" lab_kafka_create
}

lab_kafka_create() {
  local side pids=() pid
  mkdir -p "$LAB/logs"
  [[ -e $LAB/kafka-b/server.properties ]] || lab_kafka_ports
  for side in a b; do
    mkdir -p "$LAB/kafka-$side"
    lab_kafka_certs "$side"
    lab_kafka_config "$side"
    { lab_kafka_format "$side" && lab_kafka_start "$side"; } &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || return 1; done
  if ! LAB_JAVA_TIMEOUT=90 lab_java io.distverify.lab.kafka.ClusterSetup "$LAB"/kafka-{a,b}/setup.properties > "$LAB/logs/kafka-setup.log" 2>&1; then
    for side in a b; do
      lab_alive "kafka-$side" || { lab_tail "kafka-$side"; lab_say "error: Kafka $side ended"; return 1; }
    done
    lab_tail kafka-setup; lab_say "error: the Kafka clusters could not be set up"
    return 1
  fi
  touch "$LAB/kafka-set-up"
}

lab_kafka_down() {
  lab_kafka_stop a & lab_kafka_stop b
  wait
  rm -rf "$LAB"/kafka-{a,b} "$LAB/kafka-set-up"
}

lab_kafka_status() {
  local side
  for side in a b; do
    if lab_alive "kafka-$side"; then
      echo "kafka-$side  running  pid $(lab_pid "kafka-$side")  127.0.0.1:$(lab_port "kafka-$side-sasl")"
    else
      echo "kafka-$side  stopped"
    fi
  done
}

lab_kafka_env() {
  local side up certs
  for side in a b; do
    up=${side^^} certs=$LAB/kafka-$side/certs
    lab_env "BOOTSTRAP_$up" "127.0.0.1:$(lab_port "kafka-$side-sasl")"
    lab_env "BOOTSTRAP_${up}_TLS" "127.0.0.1:$(lab_port "kafka-$side-sasl-ssl")"
    lab_env "BOOTSTRAP_${up}_MTLS" "127.0.0.1:$(lab_port "kafka-$side-mtls")"
    lab_env "KAFKA_CA_$up" "$certs/ca.crt"
    lab_env "KAFKA_ADMIN_$up" "$LAB/kafka-$side/admin.properties"
    lab_env "KAFKA_CERTS_$up" "$certs"
    lab_env "KAFKA_USER_CERT_$up" "$certs/distverify.crt"
    lab_env "KAFKA_USER_KEY_$up" "$certs/distverify.key"
    lab_env "PRINCIPAL_$up" "$(lab_principal dist "$(lab_number "$side")")"
  done
  lab_env KAFKA_USER distverify
  lab_env KAFKA_PASSWORD "$LAB_USER_PASSWORD"
  lab_env KAFKA_ADMIN_PASSWORD "$LAB_ADMIN_PASSWORD"
  lab_env KAFKA_CLASSPATH "$(lab_java_classpath)"
  lab_env KAFKA_JAVA_OPTS "$LAB_JAVA_OPTS"
  lab_env TEST_TOPIC "$LAB_TEST_TOPIC"
  lab_env TEST_GROUP "$LAB_TEST_GROUP"
  lab_env TIMESTAMPS_TOPIC "$LAB_TIMESTAMPS_TOPIC"
}

# ---- Kafka's own tools -----------------------------------------------------------------------

# lab_kafka_tool <kafka-topics|kafka-acls|...> args...: the class behind the script of a Kafka distribution
lab_kafka_tool() {
  local tool=${1%.sh} class
  shift
  case $tool in
    kafka-acls) class=org.apache.kafka.tools.AclCommand ;;
    kafka-configs) class=kafka.admin.ConfigCommand ;;
    kafka-console-consumer) class=org.apache.kafka.tools.consumer.ConsoleConsumer ;;
    kafka-console-producer) class=org.apache.kafka.tools.ConsoleProducer ;;
    kafka-consumer-groups) class=org.apache.kafka.tools.consumer.group.ConsumerGroupCommand ;;
    kafka-delete-records) class=org.apache.kafka.tools.DeleteRecordsCommand ;;
    kafka-dump-log) class=org.apache.kafka.tools.DumpLogSegments ;;
    kafka-get-offsets) class=org.apache.kafka.tools.GetOffsetShell ;;
    kafka-topics) class=org.apache.kafka.tools.TopicCommand ;;
    *) lab_die "no such tool: $tool" ;;
  esac
  lab_java "$class" "$@"
}

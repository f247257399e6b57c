#!/usr/bin/env bash
# The guide "How to Verify Distribution" step by step, as a person does it: kubectl, helm and Kafka's own tools, no controller.
# Usage: by-hand.sh  (a fresh lab must be up; LAB says which). Prints each step with its seconds; ends with exit code 1 at the first fault.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
. "$LAB_HOME/lib/kafka.sh"
[[ -r $LAB/env ]] || lab_die "no lab in $LAB: test/lab/lab up"
# shellcheck disable=SC1091
. "$LAB/env"
PATH=$LAB_BIN:$PATH
[[ $LAB_PROFILE != field ]] || LAB_TIMEOUT=400      # its periods are Kafka's and Strimzi's own

began=$SECONDS step_began=$SECONDS step=
work=$(mktemp -d)
trap 'rm -rf "$work"; jobs -p | xargs -r kill 2> /dev/null || true' EXIT

# ---- a person's hands -----------------------------------------------------------------------

step() {
  [[ -z $step ]] || printf '   done in %d s\n' $((SECONDS - step_began))
  step=$1 step_began=$SECONDS
  printf '%s\n' "$step"
}
note() { printf '   %s\n' "$*"; }
stop() { printf '   STOP: %s\n(after %d s, in: %s)\n' "$*" $((SECONDS - began)) "$step"; exit 1; }

until_true() { # WHAT COMMAND...: looks again until it is so
  local what=$1 deadline=$((SECONDS + LAB_TIMEOUT)); shift
  until "$@"; do
    ((SECONDS < deadline)) || stop "not within $LAB_TIMEOUT s: $what"
    lab_tick
  done
}

up() { echo "${1^^}"; }
dc() { echo "dc$(lab_number "$1")"; }
other() { [[ $1 == a ]] && echo b || echo a; }
side_env() { local name; name=$1_$(up "$2"); echo "${!name}"; }

# shellcheck disable=SC2153
k() { # SIDE ARGS...
  local side=$1 config=$KUBECONFIG; shift
  [[ $side == a || -z ${KUBECONFIG_2:-} ]] || config=$KUBECONFIG_2
  kubectl --kubeconfig "$config" -n "$LAB_NAMESPACE" "$@"
}
h() {
  local side=$1 config=$KUBECONFIG; shift
  [[ $side == a || -z ${KUBECONFIG_2:-} ]] || config=$KUBECONFIG_2
  helm --kubeconfig "$config" -n "$LAB_NAMESPACE" "$@"
}
tool() { # SIDE TOOL ARGS...
  local side=$1 name=$2; shift 2
  lab_kafka_tool "$name" --bootstrap-server "$(side_env BOOTSTRAP "$side")" --command-config "$(side_env KAFKA_ADMIN "$side")" "$@" 2> "$work/stderr"
}

# ---- values ---------------------------------------------------------------------------------

switched() { # DISTRIBUTION INIT MD OD OC: stdin with these five switches set
  awk -v distribution="$1" -v init="$2" -v messageDistributor="$3" -v offsetDistributor="$4" -v offsetCommitter="$5" '
    function set(value) { sub(/enabled: (true|false)/, "enabled: " (value ? "true" : "false")) }
    /^[a-zA-Z]/ { section = $1 }
    /^  [a-zA-Z]/ { part = $1 }
    section == "init:" && part == "enabled:" { set(init) }
    section == "distribution:" && part == "enabled:" { set(distribution) }
    section == "distribution:" && part == "messageDistributor:" { set(messageDistributor) }
    section == "distribution:" && part == "offsetDistributor:" { set(offsetDistributor) }
    section == "distribution:" && part == "offsetCommitter:" { set(offsetCommitter) }
    { print }'
}

revision() { h "$1" status "$(dc "$1")-distributor" -o json 2> /dev/null | sed -n 's/.*"version":\([0-9]*\).*/\1/p'; }
applied_after() { # SIDE REVISION
  local status
  status=$(h "$1" status "$(dc "$1")-distributor" -o json 2> /dev/null) || return 1
  [[ $status == *'"status":"deployed"'* && $(revision "$1") -gt $2 ]]
}

apply() { # SIDE DISTRIBUTION INIT MD OD OC
  local side=$1 map; map=$(dc "$1")-distributor-values; shift
  local before; before=$(revision "$side")
  k "$side" get configmap "$map" -o jsonpath='{.data.values\.yaml}' > "$work/old.yaml"
  switched "$@" < "$work/old.yaml" > "$work/new.yaml"
  if cmp -s "$work/old.yaml" "$work/new.yaml"; then
    note "values of $(dc "$side") say so already"
  else
    k "$side" create configmap "$map" --from-file=values.yaml="$work/new.yaml" --dry-run=client -o yaml | k "$side" replace -f - > /dev/null
    until_true "values of $(dc "$side") applied" applied_after "$side" "$before"
    note "values of $(dc "$side") applied as revision $(revision "$side")"
  fi
  if [[ $2 == 1 ]]; then
    k "$side" wait --for=condition=Complete --timeout="${LAB_TIMEOUT}s" "job/$(dc "$side")-distributor-init-$(revision "$side")" > /dev/null \
      || stop "the initialisation job of $(dc "$side") did not succeed"
  fi
}

# ---- looking --------------------------------------------------------------------------------

connectors() { k "$1" get kafkaconnectors -l "strimzi.io/cluster=$(dc "$1")-distributor" -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}'; }
connectors_are() { # SIDE NAME...
  local side=$1; shift
  [[ $(connectors "$side" | sort) == "$(printf '%s\n' "$@" | sort)" ]]
}

running() { # SIDE CONNECTOR
  k "$1" wait --for=create --timeout="${LAB_TIMEOUT}s" "kafkaconnector/$2" > /dev/null || stop "connector $2 did not appear"
  until_true "tasks of $2 running" tasks_running "$1" "$2"
}
tasks_running() {
  local states
  states=$(k "$1" get kafkaconnector "$2" -o jsonpath='{.status.connectorStatus.connector.state} {.status.connectorStatus.tasks[*].state}')
  [[ $states != *FAILED* || $(k "$1" get kafkaconnector "$2" -o jsonpath='{.spec.autoRestart.enabled}') == true ]] || stop "connector $2: $(k "$1" get kafkaconnector "$2" -o jsonpath='{.status.connectorStatus.tasks[*].trace}' | head -1)"
  [[ $states =~ ^RUNNING( RUNNING)+$ ]]
}

logs_clean() { # SIDE
  local found
  found=$(k "$1" logs -l strimzi.io/kind=KafkaConnect,strimzi.io/cluster="$(dc "$1")-distributor" --tail=-1 --since=60s \
    | grep -aE '^[0-9-]+ [0-9:]+ (ERROR|FATAL|WARN .*[Aa]uthori[sz])' | head -3 || true)
  [[ -z $found ]] || stop "the log of $(dc "$1")'s Connect is not clean: $found"
  note "log of $(dc "$1")'s Connect is clean"
}

write_allowed() { # SIDE PRINCIPAL: may the other side's Distributor write here?
  tool "$1" kafka-acls --list --principal "$2" --topic "$TEST_TOPIC" --resource-pattern-type match | grep -q 'operation=WRITE, permissionType=ALLOW'
}

read_all() { # SIDE OPTION...: every record that is on the test topic now
  local side=$1 count; shift
  count=$(tool "$side" kafka-get-offsets --topic "$TEST_TOPIC" | awk -F: '{ sum += $3 } END { print sum + 0 }')
  ((count == 0)) || tool "$side" kafka-console-consumer --topic "$TEST_TOPIC" --from-beginning --max-messages "$count" --timeout-ms 30000 "$@"
}
copies() { read_all "$1" | grep -cxF "$2" || true; } # SIDE ID: how often a record with that value is there
place() { # SIDE ID: "partition offset" of the record with that value
  read_all "$1" --formatter-property print.partition=true --formatter-property print.offset=true \
    | sed -n "s/^Partition:\([0-9]*\)\tOffset:\([0-9]*\)\t$2\$/\1 \2/p" | head -1
}
arrived() { [[ $(copies "$1" "$2") -ge 1 ]]; }

produce() { # SIDE ID...: one after the other, each in a millisecond of its own; one key, hence one partition
  local side=$1 id; shift
  for id in "$@"; do printf 'by-hand\t%s\n' "$id"; sleep 0.02; done \
    | tool "$side" kafka-console-producer --topic "$TEST_TOPIC" --reader-property parse.key=true > /dev/null
}

exactly_once() { # ID: both sides, once the Message Distributors have read to the end, twice
  local side count
  for _ in 1 2; do
    until_true "Message Distributors at the end" drained
    for side in a b; do
      count=$(copies "$side" "$1")
      [[ $count -ge 1 ]] || stop "the record is missing on $(dc "$side")"
      [[ $count -eq 1 ]] || stop "$count copies on $(dc "$side") where one is right: records are looping between the clusters. Check the distribution model and the level configuration"
    done
  done
  note "exactly one copy on dc1 and on dc2"
}

lag() { # SIDE: of its Message Distributor's group, empty when unknown; an empty partition needs no commit
  tool "$1" kafka-consumer-groups --describe --offsets --group "connect-$(dc "$1")-message-distributor-level-1" \
    | awk '$1 ~ /^connect-/ { if ($6 !~ /^[0-9]+$/ && $5 != 0) unknown = 1; sum += $6; n++ } END { if (n && !unknown) print sum }'
}
drained() { # a loop never drains: the log's growth shows it
  local side now
  for side in a b; do
    now=$(copies "$side" "$probe")
    [[ $now -le 1 ]] || stop "$now copies on $(dc "$side") where one is right: records are looping between the clusters. Check the distribution model and the level configuration"
  done
  [[ $(lag a) == 0 && $(lag b) == 0 ]]
}

offset() { # SIDE PARTITION: of the test group, - when there is none
  tool "$1" kafka-consumer-groups --describe --offsets --group "$TEST_GROUP" \
    | awk -v p="$2" -v t="$TEST_TOPIC" '$2 == t && $3 == p { print $4; found = 1 } END { if (!found) print "-" }'
}
offset_is() { [[ $(offset "$1" "$2") == "$3" ]]; }

# ---- the guide ------------------------------------------------------------------------------

init() { # SIDE
  local side=$1
  apply "$side" 0 1 0 0 0
  k "$side" wait --for=condition=Ready --timeout="${LAB_TIMEOUT}s" "kafkaconnect/$(dc "$side")-distributor" > /dev/null || stop "KafkaConnect of $(dc "$side") is not Ready"
  [[ -z $(connectors "$side") ]] || stop "connectors run on $(dc "$side"): $(connectors "$side" | xargs)"
  logs_clean "$side"
  write_allowed "$side" "$(side_env PRINCIPAL "$(other "$side")")" \
    || stop "no ACL on $(dc "$side") lets $(side_env PRINCIPAL "$(other "$side")") write $TEST_TOPIC: is it in init.principals of $(dc "$side")?"
  note "no connector runs; the Distributor of $(dc "$(other "$side")") may write here"
}

offsets() { # FROM TO
  local from=$1 to=$2 id partition committed expected before
  id=by-hand-$2-$RANDOM$RANDOM
  produce "$from" "$id-1" "$id-2" "$id-3"
  until_true "records arrive on $(dc "$to")" arrived "$to" "$id-3"
  read -r partition committed <<< "$(place "$from" "$id-2")"
  read -r _ expected <<< "$(place "$to" "$id-2")"
  before=$(offset "$to" "$partition")
  note "offset on $(dc "$to"), partition $partition: $before before; $expected would be right"
  : > "$work/timestamps"
  tool "$to" kafka-console-consumer --topic "$TIMESTAMPS_TOPIC" --timeout-ms $((LAB_TIMEOUT * 1000)) > "$work/timestamps" &
  until_true "consumer on $TIMESTAMPS_TOPIC" consumer_started $!
  tool "$from" kafka-consumer-groups --reset-offsets --group "$TEST_GROUP" --topic "$TEST_TOPIC:$partition" --to-offset "$committed" --execute > /dev/null
  until_true "a timestamps record of $TEST_GROUP" grep -aqF "$TEST_GROUP" "$work/timestamps"
  kill %+ 2> /dev/null || true
  note "timestamps record: $(grep -aF "$TEST_GROUP" "$work/timestamps" | head -1)"
  until_true "offset on $(dc "$to") changed to $expected" offset_is "$to" "$partition" "$expected"
  note "offset on $(dc "$to") followed to $expected"
}
# The tool says nothing when it is positioned; a second one that reads to the end takes longer than that.
consumer_started() { kill -0 "$1" && tool "$to" kafka-get-offsets --topic "$TIMESTAMPS_TOPIC" > /dev/null; }

guide() {
  local side
  step "Before: a test topic on both clusters, everything off"
  for side in a b; do
    tool "$side" kafka-topics --describe --topic "$TEST_TOPIC" > /dev/null || stop "no topic $TEST_TOPIC on $(dc "$side")"
    connectors_are "$side" "" || stop "connectors run on $(dc "$side"): $(connectors "$side" | xargs)"
  done

  step "1a. Cluster A: start with distribution disabled"; init a
  step "1b. Cluster B: the same"; init b

  step "2.1 Cluster A: the Message Distributor alone"
  apply a 1 1 1 0 0; running a dc1-message-distributor-level-1; logs_clean a
  step "2.2 A record produced on A arrives on B"
  probe=by-hand-one-way-$RANDOM$RANDOM
  produce a "$probe"; until_true "the record arrives on dc2" arrived b "$probe"
  step "2.3 Cluster B: its Message Distributor"
  apply b 1 1 1 0 0; running b dc2-message-distributor-level-1; logs_clean b
  step "2.5 A record produced on A: one copy each"
  probe=by-hand-from-a-$RANDOM$RANDOM
  produce a "$probe"; until_true "the record arrives on dc2" arrived b "$probe"; exactly_once "$probe"
  step "2.6 A record produced on B: one copy each"
  probe=by-hand-from-b-$RANDOM$RANDOM
  produce b "$probe"; until_true "the record arrives on dc1" arrived a "$probe"; exactly_once "$probe"
  step "2.7 The lag is near zero"
  until_true "no lag" drained; note "lag: dc1 $(lag a), dc2 $(lag b)"

  step "3.1 Cluster B: the Offset Committer"
  apply b 1 1 1 0 1; running b dc2-offset-committer
  tool b kafka-topics --describe --topic "$TIMESTAMPS_TOPIC" > /dev/null || stop "no topic $TIMESTAMPS_TOPIC on dc2"
  step "3.2 Cluster A: the Offset Distributor"
  apply a 1 1 1 1 0; running a dc1-offset-distributor-level-1; logs_clean a; logs_clean b
  step "3.3-3.6 An offset set on A is followed on B"; offsets a b

  step "3.7 The clusters swapped: Offset Committer on A, Offset Distributor on B"
  apply a 1 1 1 0 1; running a dc1-offset-committer
  apply b 1 1 1 1 0; running b dc2-offset-distributor-level-1; logs_clean a; logs_clean b
  offsets b a

  step "4. Leave everything on"
  apply a 1 1 1 1 1; apply b 1 1 1 1 1
  for side in a b; do
    running "$side" "$(dc "$side")-message-distributor-level-1"; running "$side" "$(dc "$side")-offset-distributor-level-1"; running "$side" "$(dc "$side")-offset-committer"
    logs_clean "$side"
  done
  step= ; printf 'Distribution is commissioned: every check passed, %d s.\n' $((SECONDS - began))
}

guide

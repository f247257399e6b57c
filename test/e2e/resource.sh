#!/usr/bin/env bash
# Prints the DistributionVerification of the lab whose $LAB/env is sourced. Arguments are jq programs applied to it in order.
set -euo pipefail

side() { # name, bootstrap, auth json
  jq -n --arg name "$1" --arg bootstrap "$2" --argjson auth "$3" --arg principal "$4" '
  {name: $name,
   distributor: {
     kafkaConnectRef: {name: "\($name)-distributor"},
     initJob: {selector: {matchLabels: {"app.kubernetes.io/component": "init", "app.kubernetes.io/instance": "\($name)-distributor"}}},
     principals: [$principal],
     values: {configMapRef: {name: "\($name)-distributor-values", key: "values.yaml"}},
     principalsPath: ["init", "principals"],
     switches: {
       distribution: {path: ["distribution", "enabled"]},
       init: {path: ["init", "enabled"]},
       messageDistributor: {path: ["distribution", "messageDistributor", "enabled"], connector: "\($name)-message-distributor-level-{level}"},
       offsetDistributor: {path: ["distribution", "offsetDistributor", "enabled"], connector: "\($name)-offset-distributor-level-{level}"},
       offsetCommitter: {path: ["distribution", "offsetCommitter", "enabled"], connector: "\($name)-offset-committer"}}},
   kafka: {bootstrapServers: $bootstrap,
           tls: {trustedCertificates: [{secretName: "\($name)-cluster-ca-cert", certificate: "ca.crt"}]},
           authentication: $auth}}'
}

a=$(side dc1 "$BOOTSTRAP_A_TLS" '{"type":"plain","username":"distverify","passwordSecret":{"secretName":"distverify-dc1","password":"password"}}' "$PRINCIPAL_A")
b=$(side dc2 "$BOOTSTRAP_B_MTLS" '{"type":"tls","certificateAndKey":{"secretName":"distverify-dc2","certificate":"user.crt","key":"user.key"}}' "$PRINCIPAL_B")
resource=$(jq -n --argjson a "$a" --argjson b "$b" --arg ns "$LAB_NAMESPACE" --arg name "${NAME:-dc1-dc2-level-1}" --arg topic "$TEST_TOPIC" --arg group "$TEST_GROUP" --arg ts "$TIMESTAMPS_TOPIC" '
  {apiVersion: "distverify.io/v1alpha1", kind: "DistributionVerification", metadata: {name: $name, namespace: $ns},
   spec: {level: 1, topic: {name: $topic}, group: {name: $group}, timestampsTopic: {name: $ts}, window: "3s",
          checks: {settle: "3s", held: "2s", reconcileInterval: "3s"},
          deadlines: {stage: "2m", run: "10m"}, clusters: {a: $a, b: $b}}}')
for program in "$@"; do resource=$(jq "$program" <<<"$resource"); done
printf '%s\n' "$resource"

# A healthy pair at the pace of the field: two Connect workers, Kafka's and Strimzi's own periods, the checks' defaults.
lab=field
timeout=7200
. "$E2E/lib/field.sh"
check() {
  expect_helm_agrees
  expect_waits
}

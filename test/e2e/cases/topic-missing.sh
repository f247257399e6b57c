# There is no test topic on dc2.
lab=fast
result=Failed stage=Preflight reason=TopicNotFound left_a=same left_b=same
resource=('.spec.topic = {nameOn: {a: .spec.topic.name, b: "distribution-absent"}}')
set_up() {
  local acl=(--allow-principal User:CN=distverify --topic distribution-absent --operation Describe --operation DescribeConfigs --operation Read --operation Write)
  tool b kafka-acls --add "${acl[@]}" > /dev/null # else Kafka does not say whether it is there
  undo tool b kafka-acls --remove --force "${acl[@]}"
}

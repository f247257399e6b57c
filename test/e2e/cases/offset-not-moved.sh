# The Offset Committer of dc2 ignores the timestamps.
lab=fast
result=Failed stage=OffsetsAtoB reason=OffsetNotMoved left_a=11110 left_b=11101
set_up() {
  fault b oc.ignore=true
  tool b kafka-consumer-groups --reset-offsets --group "$TEST_GROUP" --topic "$TEST_TOPIC" --to-earliest --execute > /dev/null # one to stay at
}

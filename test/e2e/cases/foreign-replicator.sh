# Somebody else's MirrorMaker copies the test topic from dc1 to dc2, under the same name: it would fake what the Message Distributor has to do.
lab=fast
result=Failed stage=InitB reason=ForeignReplicator left_a=01000 left_b=01000
set_up() {
  undo lab foreign-replicator stop
  lab foreign-replicator start
}

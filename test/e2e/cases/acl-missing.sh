# The init job does not give what a Distributor needs: the message names the cluster whose init.principals must change.
lab=fast
variants=(write group timestamps)
result=Failed reason=AclMissing
resource=('.spec.checks.arrival = "10s"') # how long a right may be on its way
case $VARIANT in
  write) # on dc2, for the Distributor of dc1
    stage=InitB left_a=01000 left_b=01000 blamed=dc2
    set_up() { undo init_again b; fault b init.skip=remoteWrite; init_again b; } ;;
  group) # on dc1, for its own Distributor: Read on its group
    stage=MessagesAtoB left_a=11100 left_b=01000 blamed=dc1
    set_up() { fault a init.skip=ownGroupMd; } ;;
  timestamps) # on dc2, for the Distributor of dc1: Write on the timestamps topic
    stage=OffsetsAtoB left_a=11100 left_b=11101 blamed=dc2
    set_up() { fault b init.skip=remoteTimestamps; } ;;
esac
check() {
  [[ $(status .message) == *"init.principals of $blamed"* && $(status .message) != *" and of dc"* ]] ||
    fail "the message does not name init.principals of $blamed, and of it alone: $(status .message)"
}

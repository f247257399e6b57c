# The Message Distributor of dc2 is two minutes behind when it is switched on, and so when the first records are produced that it could loop:
# a healthy pair still passes, a loop is still found.
lab=fast
variants=(healthy loop)
timeout=900
resource=('.spec.deadlines.run = "20m"')
backlog=900 delay=200
if [[ $VARIANT == loop ]]; then result=Failed stage=MessagesBothWays reason=LoopDetected left_a=11100 left_b=11000; fi
set_up() {
  local i
  for ((i = 0; i < backlog; i++)); do printf 'key-%d\tbacklog %d\n' $i $i; done | tool b kafka-console-producer --topic "$TEST_TOPIC" --reader-property parse.key=true
  fault b "md.delayMsPerRecord=$delay"
  [[ $VARIANT != loop ]] || { fault a md.ignoreFlags=true; fault b md.ignoreFlags=true; }
}
check() { figure "$VARIANT: $(status '((.run.finishedAt | sub("\\.[0-9]+"; "") | fromdate) - (.run.startedAt | sub("\\.[0-9]+"; "") | fromdate))') s"; }

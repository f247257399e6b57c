# Both Message Distributors ignore the copy flags: copies keep coming.
lab=fast
result=Failed stage=MessagesBothWays reason=LoopDetected left_a=11100 left_b=11000
set_up() {
  fault a md.ignoreFlags=true
  fault b md.ignoreFlags=true
}

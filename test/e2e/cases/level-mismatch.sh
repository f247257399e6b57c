# The Distributor of dc2 has level 2: what is born on dc2 comes back to it once, and no more; what is born on dc1 does not.
lab=fast
result=Failed stage=MessagesBothWays reason=LoopDetected left_a=11100 left_b=11000
set_up() { fault b md.level=2; }
check() {
  records_read a
  poll "one extra copy of each record born on dc2" 30 extra_copies # the last ones may be on their way
  same "copies on dc1 of what was born there" 1 "$(copies a a)"
  same "copies on dc2 of what was born on dc1" 1 "$(copies a b)"
  same "copies on dc1 of what was born on dc2" 1 "$(copies b a)"
}
extra_copies() { records_read b; [[ $(copies b b) == 2 ]]; }

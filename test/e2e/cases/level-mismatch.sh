# The Distributor of dc2 has level 2: what is born on dc2 comes back to it once, and no more; what is born on dc1 does not.
lab=fast
result=Failed stage=MessagesBothWays reason=LoopDetected left_b=11000 left_a=11100
set_up() { fault b md.level=2; }

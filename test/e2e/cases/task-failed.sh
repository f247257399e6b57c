# A task of dc1's Message Distributor ends with an exception.
lab=fast
result=Failed stage=MessagesAtoB reason=TaskFailed left_a=11100 left_b=01000
set_up() { fault a md.failTask=3; }

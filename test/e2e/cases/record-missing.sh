# The Message Distributor of dc1 leaves out a partition, and commits past its records.
lab=fast
result=Failed stage=MessagesAtoB reason=RecordsMissing left_a=11100 left_b=01000
set_up() { fault a md.dropPartition=1; }

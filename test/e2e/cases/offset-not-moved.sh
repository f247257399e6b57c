# The Offset Committer of dc2 ignores the timestamps.
lab=fast
result=Failed stage=OffsetsAtoB reason=OffsetNotMoved left_a=11110 left_b=11101
set_up() { fault b oc.ignore=true; }

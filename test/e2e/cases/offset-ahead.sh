# The Offset Committer of dc2 commits one record too far.
lab=fast
result=Failed stage=OffsetsAtoB reason=OffsetAhead left_a=11110 left_b=11101
set_up() { fault b oc.ahead=1; }

# level-mismatch at the pace of the field.
lab=field
timeout=7200
. "$E2E/lib/field.sh"
result=Failed stage=MessagesBothWays reason=LoopDetected left_a=11100 left_b=11000
set_up() { field_values; fault b md.level=2; }

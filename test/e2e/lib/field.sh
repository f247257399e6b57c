# shellcheck shell=bash
# What the cases of the field profile have in common: checks as by default, a window of 10 s, a run's deadline of 2 h.
resource=('del(.spec.checks) | .spec.window = "10s" | .spec.deadlines = {run: "2h"}')

field_values() {
  local side
  for side in a b; do
    sed 's/windowMs: 60000/windowMs: 10000/' "$LAB/values-$side.yaml" > "$OUT/field-$side.yaml"
    values_write $side "$OUT/field-$side.yaml"
  done
  for side in a b; do poll "values applied on $side" 120 values_applied $side; done
}
set_up() { field_values; }

# Both Distributors distribute already, and nobody allowed the run to interrupt that.
lab=fast
result=Failed stage=Preflight reason=DistributionAlreadyOn left_a=same left_b=same
set_up() {
  local side
  for side in a b; do
    switched 11111 < "$LAB/values-$side.yaml" > "$OUT/on-$side.yaml"
    values_write $side "$OUT/on-$side.yaml"
  done
  for side in a b; do poll "values applied on $side" 60 values_applied $side; done
}

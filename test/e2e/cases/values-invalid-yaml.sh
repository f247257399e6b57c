# The values of dc2 are no YAML.
lab=fast
result=Error stage=Preflight reason=ValuesInvalid left_a=same left_b=same
set_up() {
  { cat "$LAB/values-b.yaml"; printf 'broken: [1, 2\n'; } > "$OUT/broken.yaml"
  values_write b "$OUT/broken.yaml"
}

# init.principals of dc2 does not list the Distributor of dc1.
lab=fast
result=Failed stage=InitB reason=PrincipalNotListed left_a=01000 left_b=01000
set_up() {
  grep -v 'CN=dist-dc1' "$LAB/values-b.yaml" > "$OUT/unlisted.yaml"
  values_write b "$OUT/unlisted.yaml"
  poll "values applied on b" 60 values_applied b
}

# The Distributor of dc2 lives on an API server of its own; a kubeconfig in a Secret leads there.
lab=two
resource=('.spec.clusters.b.kubeConfig = {secretRef: {name: "dc2-api"}}')
set_up() {
  kubectl -n "$LAB_NAMESPACE" create secret generic dc2-api --from-file=kubeconfig="$STATE/controller-2.kubeconfig" --dry-run=client -o json \
    | kubectl apply -f - > /dev/null
}
check() {
  expect_helm_agrees
  expect_waits
}

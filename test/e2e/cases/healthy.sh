# Two Distributors that work: all nine stages pass, and both are left on.
lab=fast
check() {
  expect_helm_agrees
  expect_waits
}

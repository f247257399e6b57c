# The Secret with our password for dc1 does not exist.
lab=fast
result=Error stage=Preflight reason=SecretNotFound left_a=same left_b=same
resource=('.spec.clusters.a.kafka.authentication.passwordSecret.secretName = "no-such-secret"')

# Nothing listens where the brokers of dc2 should be.
lab=fast
result=Error stage=Preflight reason=ClusterUnreachable left_a=same left_b=same
resource=('.spec.clusters.b.kafka.bootstrapServers = "127.0.0.1:1" | .spec.checks.commitInterval = "1s" | .spec.deadlines.stage = "40s"')

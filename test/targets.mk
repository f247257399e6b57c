# Targets that need the lab; see test/lab/README.md.

test: lint unit ## everything a change must pass

# Targets that test and show. The lab is a product of its own: test/lab/README.md.

TEST_LAB ?= build/lab-test

# One recipe, so that the groups run one after the other and the last line counts them all.
test: $(CONTROLLER) $(UNIT_BIN) $(COMPONENT_BIN) $(SIM_BIN) ## what a change must pass: lint, unit, sim, component, four e2e cases
	@LAB=$(TEST_LAB) MODE=$(MODE) test/run lint unit sim lab component crd e2e

test-full: ## everything, with sanitizers, all e2e cases and the field profile
	@$(MAKE) --no-print-directory MODE=asan build/asan/distverify-controller asan-programs
	@$(MAKE) --no-print-directory MODE=release build/release/distverify-controller
	@LAB=$(TEST_LAB) MODE=asan test/run lint unit lab lab-check component slow crd e2e-full sim-beside field

asan-programs: $(UNIT_BIN) $(COMPONENT_BIN) $(SIM_BIN)

# Threads are those of pkg/kafka alone; the runs in memory have one, and a few of them will do. Component tests need a lab.
test-tsan: ## unit tests and a few runs in memory with ThreadSanitizer
	@$(MAKE) --no-print-directory MODE=tsan tsan-programs
	@TSAN_OPTIONS=suppressions=test/checks/tsan.supp LABEL=tsan test/checks/run-cmocka.sh $(UNIT:%=build/tsan/test/unit/%) \
	  "build/tsan/test/sim/sim --only healthy-o"

tsan-programs: $(UNIT_BIN) $(SIM_BIN) $(CONTROLLER)

component: $(COMPONENT_BIN) ## component tests against a real API server and real brokers
	@LAB=$(TEST_LAB) MODE=$(MODE) test/run lab component slow crd

e2e: $(CONTROLLER) ## one or more end-to-end cases: make e2e CASE="healthy level-mismatch"
	@MODE=$(MODE) test/e2e/run $(or $(CASE),healthy)

demo: ## the whole way on the lab: set-up, a run through all nine stages, the result
	@$(MAKE) --no-print-directory MODE=release build/release/distverify-controller
	@test/demo

bench: ## measured figures, one table
	@$(MAKE) --no-print-directory MODE=release build/release/distverify-controller
	@test/bench/run

.PHONY: asan-programs tsan-programs test-tsan

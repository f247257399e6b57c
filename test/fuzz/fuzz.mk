# Fuzz programs: test/fuzz/<room>_<what>.c with seeds in test/fuzz/corpus/<room>_<what>/. With clang (Debian: clang, libclang-rt-14-dev) they
# are libFuzzer's, built with MODE=fuzz; without it MODE=asan links test/support/fuzz_driver.c, which changes the seeds at random.

FUZZ := $(basename $(notdir $(wildcard test/fuzz/*.c)))
FUZZ_SECONDS ?= 20
FUZZ_SEED ?= 0

define fuzz_rules
$(BUILD)/test/fuzz/$(1): $(BUILD)/test/fuzz/$(1).o $(if $(filter fuzz,$(MODE)),,$(BUILD)/test/support/fuzz_driver.o) \
	$(foreach r,$(call uniq_rooms,$(2)),$(BUILD)/lib$(r).a)
	@echo "  LD $$@"
	@$(CC) $$(CFLAGS) $(LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(call link_of,$(call uniq_rooms,$(2))) $$(call pc_libs,jansson)
endef
$(foreach t,$(FUZZ),$(eval $(call fuzz_rules,$(t),$(call room_of,$(t)))))

.PHONY: fuzz fuzz-short fuzz-programs
fuzz-programs: $(FUZZ:%=$(BUILD)/test/fuzz/%)

# FUZZ="base_text values_edit" on make's command line picks some.
fuzz: ## all fuzz programs, FUZZ_SECONDS=20 each; FUZZ="values_edit ..." for some
	@mode=$$(test/fuzz/run --mode); \
	$(MAKE) --no-print-directory MODE=$$mode fuzz-programs && \
	test/fuzz/run $$mode $(FUZZ_SECONDS) $(FUZZ_SEED) $(FUZZ)

fuzz-short: ## the same with gcc, 2 s each, the same inputs every time
	@$(MAKE) --no-print-directory MODE=asan fuzz-programs
	@test/fuzz/run asan 2 1 $(FUZZ)

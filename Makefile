# distverify: one non-recursive Makefile. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --jobs=$(shell nproc)

MODE ?= debug
ifeq ($(filter $(MODE),debug release asan tsan fuzz),)
$(error MODE=$(MODE) is not one of debug release asan tsan fuzz)
endif
BUILD := build/$(MODE)
CC := $(if $(filter default undefined,$(origin CC)),$(if $(filter fuzz,$(MODE)),clang,gcc),$(CC))

# ---------------------------------------------------------------- version, dependencies

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unversioned)

DEB_PACKAGES := gcc make pkg-config libuv1-dev libcurl4-openssl-dev libjansson-dev librdkafka-dev libyaml-dev \
	libwebsockets-dev libwebsockets-evlib-uv uthash-dev libcmocka-dev openssl curl jq
PKGS := libuv>=1.44 libcurl>=7.88 jansson>=2.14 rdkafka>=2.0.2 yaml-0.1>=0.2.5 libwebsockets>=4.1.6
PKGS_TEST := cmocka>=1.1.5

include test/checks/deps.mk

# ---------------------------------------------------------------- rooms and what each may include

empty :=
space := $(empty) $(empty)
ROOMS := base model verify values distributor loop kube kafka web controller
DEPS_base :=
DEPS_model := base
DEPS_verify := model base
DEPS_values := base
DEPS_distributor := model base
DEPS_controller := model verify values distributor base
DEPS_loop := base
DEPS_kube := loop model base
DEPS_kafka := loop model base
DEPS_web := loop model base

LIBS_base :=
LIBS_model := jansson
LIBS_verify := jansson
LIBS_values := jansson yaml-0.1
LIBS_distributor := jansson
LIBS_controller := jansson
LIBS_loop := libuv libcurl libwebsockets
LIBS_kube := jansson yaml-0.1 libuv libcurl libwebsockets
LIBS_kafka := rdkafka libuv
LIBS_web := libuv libwebsockets

# ---------------------------------------------------------------- flags

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef -Wvla -Wconversion -Wswitch
WERROR ?= -Werror
HARDEN := -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -ftrivial-auto-var-init=zero -fPIE
HARDEN_LD := -pie -Wl,-z,relro,-z,now
FLAGS_debug := -O1 -g -DDV_FAILPOINTS=1
FLAGS_release := -O2 -g -D_FORTIFY_SOURCE=3
FLAGS_asan := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -DDV_FAILPOINTS=1
FLAGS_tsan := -O1 -g -fsanitize=thread -DDV_FAILPOINTS=1
FLAGS_fuzz := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -DDV_FAILPOINTS=1
LD_asan := -fsanitize=address,undefined
LD_tsan := -fsanitize=thread
LD_fuzz := -fsanitize=fuzzer,address,undefined
# What makes librdkafka's threads known to ThreadSanitizer.
TSAN_OBJ := $(if $(filter tsan,$(MODE)),$(BUILD)/test/support/tsan_threads.o)

# Each flag is probed once per compiler; one that the compiler or architecture does not know is left out.
PROBE := build/probe/$(subst /,_,$(CC)).mk
$(PROBE): Makefile $(DEPS_STAMP)
	@mkdir -p $(@D)
	@ok=""; for f in $(WARN) $(HARDEN); do \
	  if echo 'int main(void){return 0;}' | $(CC) -Werror $$f -x c - -c -o /dev/null 2>/dev/null; then ok="$$ok $$f"; fi; done; \
	echo "PROBED :=$$ok" > $@
# An included makefile is made first and make starts again after it: packages installed on the way are seen by pkg-config below.
ifneq ($(filter-out deps clean help lab-down lab-status,$(or $(MAKECMDGOALS),all)),)
-include $(PROBE)
endif

CPPFLAGS := -D_GNU_SOURCE -DDV_FAILPOINTS_DEFAULT=0 -Ipkg -MMD -MP
CFLAGS = -std=gnu17 $(PROBED) $(WERROR) $(FLAGS_$(MODE))
LDFLAGS := $(HARDEN_LD) $(LD_$(MODE))
pc_names = $(foreach p,$(1),$(firstword $(subst >=, ,$(p))))
ALL_PC := $(call pc_names,$(PKGS))
pc_cflags = $(shell pkg-config --cflags $(1) 2>/dev/null)
pc_libs = $(if $(1),$(shell pkg-config --libs $(1) 2>/dev/null))
ALL_CFLAGS := $(call pc_cflags,$(ALL_PC) $(call pc_names,$(PKGS_TEST)))

# ---------------------------------------------------------------- objects, one archive per room

define room_rules
SRC_$(1) := $$(wildcard pkg/$(1)/*.c)
OBJ_$(1) := $$(SRC_$(1):%.c=$(BUILD)/%.o)
LIB_$(1) := $(BUILD)/lib$(1).a
$$(LIB_$(1)): $$(OBJ_$(1))
	@rm -f $$@; ar rcs $$@ $$^
room_closure_$(1) := $(1) $(DEPS_$(1))
endef
$(foreach r,$(ROOMS),$(eval $(call room_rules,$(r))))

$(BUILD)/%.o: %.c $(PROBE) 
	@mkdir -p $(@D)
	@echo "  CC $<"
	@$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(CFLAGS) -c $< -o $@

# $(call link_of,rooms): archives of the rooms, twice over so that their order does not matter
link_of = -Wl,--start-group $(foreach r,$(1),$(BUILD)/lib$(r).a) -Wl,--end-group $(call pc_libs,$(sort $(foreach r,$(1),$(LIBS_$(r))))) -lpthread -ldl

CONTROLLER := $(BUILD)/distverify-controller
VERSION_FILE := $(BUILD)/version.txt
.PHONY: FORCE
$(VERSION_FILE): FORCE
	@mkdir -p $(@D); echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' > $@
$(BUILD)/cmd/distverify-controller/main.o: CPPFLAGS += -DDV_VERSION='"$(VERSION)"'
$(BUILD)/cmd/distverify-controller/main.o: $(VERSION_FILE)
CMD_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cmd/distverify-controller/*.c))
$(CONTROLLER): $(CMD_OBJ) $(TSAN_OBJ) $(foreach r,$(ROOMS),$(LIB_$(r)))
	@echo "  LD $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(CMD_OBJ) $(TSAN_OBJ) $(call link_of,$(ROOMS))

# ---------------------------------------------------------------- tests: test/unit/<room>_*.c, test/sim/*.c, test/component/<room>_*.c

# A unit or component test program is one .c file named <room>_<what>.c; it links that room and what the room may include.
define test_rules
$(BUILD)/test/$(1)/$(2): $(BUILD)/test/$(1)/$(2).o $(BUILD)/test/support/support.o $(if $(filter kafka,$(3)),$(TSAN_OBJ)) \
	$(foreach r,$(call uniq_rooms,$(3)),$(BUILD)/lib$(r).a)
	@echo "  LD $$@"
	@$(CC) $$(CFLAGS) $(LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(call link_of,$(call uniq_rooms,$(3))) $$(call pc_libs,cmocka jansson)
endef
uniq_rooms = $(sort $(foreach r,$(1),$(room_closure_$(r))))
UNIT := $(basename $(notdir $(wildcard test/unit/*.c)))
COMPONENT := $(basename $(notdir $(wildcard test/component/*.c)))
room_of = $(firstword $(subst _, ,$(1)))
$(foreach t,$(UNIT),$(eval $(call test_rules,unit,$(t),$(call room_of,$(t)))))
$(foreach t,$(COMPONENT),$(eval $(call test_rules,component,$(t),$(call room_of,$(t)))))
UNIT_BIN := $(UNIT:%=$(BUILD)/test/unit/%)
COMPONENT_BIN := $(COMPONENT:%=$(BUILD)/test/component/%)

SIM_BIN := $(BUILD)/test/sim/sim
SIM_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard test/sim/*.c))
# What is random is drawn from the world's seed, and every decision is taken twice and compared.
SIM_WRAP := -Wl,--wrap=dv_random_u64,--wrap=dv_random_id,--wrap=verify_decide
$(SIM_BIN): $(SIM_OBJ) $(BUILD)/test/support/support.o $(foreach r,$(room_closure_controller),$(BUILD)/lib$(r).a)
	@echo "  LD $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $(SIM_WRAP) -o $@ $(filter %.o,$^) $(call link_of,$(room_closure_controller)) $(call pc_libs,cmocka jansson)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# ---------------------------------------------------------------- targets people type

.PHONY: all help deps lint check-layers check-banned check-copies check-format format tidy unit component sim test test-full e2e demo bench \
	lab-build lab-up lab-down lab-status clean
.DEFAULT_GOAL := all

all: $(CONTROLLER) ## build the controller

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

deps: ## install missing Debian packages (root), or print the apt line
	@$(call deps_install)

lint: check-layers check-banned check-copies ## rooms include only what they may; banned functions; copies are equal
check-layers:
	@test/checks/layers.sh $(foreach r,$(ROOMS),"$(r): $(DEPS_$(r))")
check-banned:
	@test/checks/banned.sh
check-copies:
	@test/checks/crd-copies.sh --check
	@test/checks/reasons.sh --check

format: ## reformat all C
	@git ls-files '*.c' '*.h' | xargs clang-format -i
check-format:
	@git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
TIDY_FLAGS := -std=gnu17 -D_GNU_SOURCE -DDV_FAILPOINTS_DEFAULT=0 -DDV_FAILPOINTS=1 "-DDV_VERSION=\"none\"" -Ipkg $(ALL_CFLAGS)
tidy: ## clang-tidy over all C (.clang-tidy); installed when missing (root)
	@command -v clang-tidy > /dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -y -q --no-install-recommends clang-tidy > /dev/null; } || \
	  { echo "Missing: clang-tidy. Install with: sudo apt-get install -y clang-tidy" >&2; exit 2; }
	@git ls-files 'pkg/*.c' 'cmd/*.c' 'test/*.c' | xargs -P$$(nproc) -n4 bash -c 'clang-tidy --quiet "$$@" -- $(TIDY_FLAGS)' tidy 2>&1 | \
	  sed '/^[0-9]* warnings\? generated\.$$/d'

unit: $(UNIT_BIN) $(CONTROLLER) ## unit tests
	@LABEL=unit test/checks/run-cmocka.sh $(UNIT_BIN)
sim: $(SIM_BIN) ## whole runs in memory, virtual time
	@LABEL=sim test/checks/run-cmocka.sh $(SIM_BIN)

lab-build: ## build the lab's parts (cached)
	@test/lab/lab build
lab-up: ## bring the lab up (LAB=<dir> for a second one)
	@test/lab/lab up
lab-down: ## stop it
	@test/lab/lab down
lab-status: ## what runs
	@test/lab/lab status

include test/targets.mk
include test/fuzz/fuzz.mk

clean: ## remove what was built, not the lab's binaries
	rm -rf build/debug build/release build/asan build/tsan build/fuzz build/probe

.PHONY: print-rooms
print-rooms:
	@for r in $(foreach r,$(ROOMS),'$(r):$(subst $(space),:,$(DEPS_$(r)))'); do echo "$${r%%:*}: $$(echo "$${r#*:}" | tr ':' ' ')"; done

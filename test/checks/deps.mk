# Presence of the libraries: installed as root, else one line that says how, and exit 2. The stamp stands for "they were there".

define deps_missing
for p in $(foreach p,$(PKGS) $(PKGS_TEST),'$(p)'); do \
  pkg-config --exists "$${p%%>=*} >= $${p##*>=}" 2>/dev/null || { echo "$$p"; break; }; done; \
[ -e /usr/include/uthash.h ] || echo uthash; \
ls /usr/lib/*/libwebsockets-evlib_uv.so >/dev/null 2>&1 || echo libwebsockets-evlib-uv; \
for t in openssl curl jq; do command -v $$t >/dev/null || echo $$t; done
endef

define deps_install
missing=$$($(deps_missing)); \
if [ -z "$$missing" ]; then exit 0; fi; \
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
  echo "installing Debian packages (missing:" $$missing")"; \
  export DEBIAN_FRONTEND=noninteractive; \
  apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends $(DEB_PACKAGES) >/dev/null; \
  missing=$$($(deps_missing)); [ -z "$$missing" ] || { echo "still missing after the installation:" $$missing >&2; exit 2; }; \
else \
  echo "Missing:" $$missing". Install with: sudo apt-get install -y $(DEB_PACKAGES)" >&2; exit 2; \
fi
endef

DEPS_STAMP := build/probe/deps-ok
$(DEPS_STAMP): Makefile test/checks/deps.mk
	@$(call deps_install)
	@mkdir -p $(@D); touch $@

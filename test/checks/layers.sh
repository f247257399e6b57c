#!/usr/bin/env bash
# Refuses an #include that crosses the house's layers. Arguments: "room: rooms it may include", one per room.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
declare -A may
for rule in "$@"; do may[${rule%%:*}]=" ${rule%%:*} ${rule#*: } "; done

complain() { echo "layers: $1" >&2; bad=1; }

for dir in pkg/*/; do
  room=$(basename "$dir")
  [ -n "${may[$room]:-}" ] || { complain "pkg/$room is no room of the Makefile"; continue; }
  while IFS=: read -r file line text; do
    target=$(sed -E 's/.*"([a-z]+)\/.*/\1/' <<<"$text")
    [[ "${may[$room]}" == *" $target "* ]] || complain "$file:$line: pkg/$room may not include $target/"
  done < <(grep -nHoE '^#include "[a-z]+/' "$dir"*.[ch] 2>/dev/null || true)
done

# A library's header is seen by one place only.
only() { # header, allowed path pattern
  while IFS=: read -r file line _; do
    [[ "$file" =~ $2 ]] || complain "$file:$line: only $2 may include <$1>"
  done < <(grep -nH "#include <$1>" pkg/*/*.[ch] cmd/*/*.[ch] 2>/dev/null || true)
}
only curl/curl.h '^pkg/loop/http[a-z_]*\.c$'
only libwebsockets.h '^pkg/loop/ws[a-z_]*\.c$'
only librdkafka/rdkafka.h '^pkg/kafka/'
only yaml.h '^pkg/(values|kube)/'
only uv.h '^pkg/(loop|kube|kafka|web)/'

# Pure rooms touch no descriptor, no clock, no thread.
for room in model verify values distributor controller; do
  while IFS=: read -r file line _; do
    complain "$file:$line: pkg/$room is pure: no descriptor, clock or thread"
  done < <(grep -nHE 'dv_clock_now\(|#include <(unistd|time|sys/time|pthread|threads|sys/socket|fcntl)\.h>' "pkg/$room/"*.[ch] 2>/dev/null || true)
done
exit $bad

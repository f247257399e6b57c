#!/usr/bin/env bash
# Refuses functions that are easy to use wrongly; the replacement stands beside each.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
ban() { # function, instead
  local hits
  hits=$(grep -nHE "(^|[^A-Za-z0-9_])$1[[:space:]]*\(" pkg/*/*.[ch] cmd/*/*.[ch] 2>/dev/null | grep -vE '^\S+:[0-9]+:\s*(\*|/\*|//)' || true)
  [ -z "$hits" ] || { echo "banned: $1 (use $2)" >&2; echo "$hits" >&2; bad=1; }
}
ban sprintf 'dv_format'
ban vsprintf 'dv_format'
ban strcpy 'dv_strlcpy'
ban strcat 'dv_buf_adds'
ban strncpy 'dv_strlcpy'
ban strtok 'strcspn'
ban atoi 'dv_parse_i64'
ban atol 'dv_parse_i64'
ban atof 'a checked parser'
ban gets 'a bounded read'
ban alloca 'dv_alloc'
ban rand 'dv_random_u64'
ban sleep 'a timer of the loop'
ban usleep 'a timer of the loop'
exit $bad

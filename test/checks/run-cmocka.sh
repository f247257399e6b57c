#!/usr/bin/env bash
# Runs cmocka programs, shows only what failed, and closes with one line: 'N passed, N failed'. `LABEL=` names the group.
# A program may have options behind its name, within one argument.
set -uo pipefail
passed=0 failed=0 broken=0
for program in "$@"; do
  out=$($program 2>&1); rc=$? # in words: options
  ok=$(grep -cE '^\[       OK \]' <<<"$out")
  ko=$(grep -cE '^\[  FAILED  \] .*[a-z_]+$' <<<"$(grep -vE 'test\(s\)' <<<"$out" | sort -u)")
  if [ $rc -ne 0 ] && [ "$ko" -eq 0 ]; then ko=1; fi
  if [ "$ok" -eq 0 ] && [ "$ko" -eq 0 ]; then echo "$program ran no test"; broken=1; fi
  passed=$((passed + ok)); failed=$((failed + ko))
  if [ $rc -ne 0 ]; then echo "=== $program (exit $rc)"; grep -vE '^\[ RUN|^\[       OK' <<<"$out"; fi
done
echo "${LABEL:-unit}: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$broken" -eq 0 ]

#!/usr/bin/env bash
# The table of reasons in README.md is made from pkg/model/reasons.h. --check fails when they differ, --write brings README up to date.
set -euo pipefail
cd "$(dirname "$0")/../.."
begin='<!-- reasons: made by test/checks/reasons.sh -->'
end='<!-- reasons end -->'

table() {
  echo '| reason | result | what to do |'
  echo '|---|---|---|'
  sed -E ':a; /^    X\([A-Za-z]+, [A-Z]+, *\\$/ { N; s/ *\\\n +/ /; ba }' pkg/model/reasons.h |
    sed -nE 's/^    X\(([A-Za-z]+), (FAILED|ERROR|INCONCLUSIVE|ABORTED), "(.*)"\).*$/\1|\2|\3/p' |
    while IFS='|' read -r name verdict todo; do
      printf '| `%s` | %s | %s |\n' "$name" "$(tr '[:upper:]' '[:lower:]' <<<"$verdict" | sed 's/^./\U&/')" "$todo"
    done
}

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
awk -v begin="$begin" -v end="$end" -v table="$(table)" '
  $0 == begin { print; print table; skip = 1; next }
  $0 == end { skip = 0 }
  !skip { print }' README.md > "$fresh"
reasons=$(grep -cE '^    X\([A-Za-z]+, (FAILED|ERROR|INCONCLUSIVE|ABORTED),' pkg/model/reasons.h)
rows=$(table | grep -c '^| `')
[ "$reasons" = "$rows" ] || { echo "test/checks/reasons.sh: $reasons reasons in pkg/model/reasons.h, $rows in the table" >&2; exit 1; }
case ${1:---check} in
  --write) cp "$fresh" README.md ;;
  --check) diff -u README.md "$fresh" > /dev/null || { echo "README.md: the table of reasons is not that of pkg/model/reasons.h; run test/checks/reasons.sh --write" >&2; exit 1; } ;;
esac

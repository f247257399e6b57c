# shellcheck shell=bash
# The values texts of the two Distributors.

values_read() { k "$1" get configmap "$(release_of "$1")-values" -o json | jq -j '.data["values.yaml"]'; } # SIDE

values_write() { # SIDE FILE
  local name
  name=$(release_of "$1")-values
  if ! k "$1" get configmap "$name" > /dev/null 2>&1; then
    k "$1" create configmap "$name" --from-file=values.yaml="$2" > /dev/null
  elif ! values_read "$1" | cmp -s - "$2"; then
    k "$1" create configmap "$name" --from-file=values.yaml="$2" --dry-run=client -o json | k "$1" replace -f - > /dev/null
  fi
}

values_keep() { # NAME: both texts as $OUT/NAME-a.yaml and $OUT/NAME-b.yaml
  local side
  for side in a b; do values_read "$side" > "$OUT/$1-$side.yaml"; done
}

# What Helm makes of a text, by a chart that does nothing but print its values.
values_json() { # FILE
  local chart=$STATE/values-chart
  if [[ ! -e $chart/Chart.yaml ]]; then
    mkdir -p "$chart/templates"
    printf '{{ .Values | toJson }}\n' > "$chart/templates/values.yaml"
    printf 'apiVersion: v2\nname: values\nversion: 1.0.0\n' > "$chart/Chart.yaml"
  fi
  helm template values "$chart" -f "$1" | grep -v -e '^---' -e '^#' | jq -S .
}

# The release holds the declared values, and this revision's init job is done.
values_applied() { # SIDE
  local release status
  release=$(release_of "$1")
  values_read "$1" > "$STATE/now-$1.yaml"
  status=$(h "$1" status "$release" -o json 2> /dev/null) || return 1
  [[ $(jq -r .info.status <<< "$status") == deployed ]] || return 1
  [[ $(h "$1" get values "$release" -o json | jq -S .) == "$(values_json "$STATE/now-$1.yaml")" ]] || return 1
  [[ $(k "$1" get job "$release-init-$(jq -r .version <<< "$status")" -o jsonpath='{.status.succeeded}' 2> /dev/null) == 1 ]]
}

# switched DISTRIBUTION-INIT-MD-OD-OC, e.g. 11100: stdin with these five switches set and nothing else changed.
switched() {
  awk -v want="$1" '
    BEGIN { split("distribution init messageDistributor offsetDistributor offsetCommitter", name, " ")
            for (i = 1; i <= 5; i++) value[name[i]] = substr(want, i, 1) == "1" ? "true" : "false" }
    function set(which) { sub(/enabled: (true|false)/, "enabled: " value[which]) }
    /^[a-zA-Z]/ { section = $1 }
    /^  [a-zA-Z]/ { part = $1 }
    section == "init:" && part == "enabled:" { set("init") }
    section == "distribution:" && part == "enabled:" { set("distribution") }
    section == "distribution:" && part ~ /^(messageDistributor|offsetDistributor|offsetCommitter):$/ { set(substr(part, 1, length(part) - 1)) }
    { print }'
}

# The five switches as a text says them, e.g. 11100.
switches_of() { # FILE
  values_json "$1" | jq -r '[.distribution.enabled, .init.enabled, .distribution.messageDistributor.enabled, .distribution.offsetDistributor.enabled,
    .distribution.offsetCommitter.enabled] | map(if . == true then "1" elif . == false then "0" else "?" end) | join("")'
}

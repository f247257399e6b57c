# shellcheck shell=bash
# Helpers shared by the lab's scripts: places, messages, ports, processes, waiting.
# Sourced by `lab`; expects set -euo pipefail.

LAB_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LAB_ROOT=$(cd "$LAB_HOME/../.." && pwd)
LAB_BUILD=$LAB_ROOT/build
LAB_BIN=$LAB_BUILD/lab-bin
LAB_JAVA=$LAB_BUILD/lab-java
LAB=$(realpath -m "${LAB:-$LAB_BUILD/lab}")
LAB_NAMESPACE=kafka
LAB_TIMEOUT=${LAB_TIMEOUT:-120}        # seconds any single wait may take
export LAB LAB_BIN LAB_JAVA LAB_NAMESPACE

# ---- messages -------------------------------------------------------------------------------

lab_say() { printf 'lab: %s\n' "$*" >&2; }
lab_die() { lab_say "error: $*"; exit 1; }

# lab_step WHAT COMMAND...: a line when the step begins, one with the seconds it took when it ends.
lab_step() {
  local what=$1 began=$EPOCHREALTIME; shift
  lab_say "$what ..."
  "$@" || { lab_say "$what: failed after $(lab_seconds_since "$began") s"; return 1; }
  lab_say "$what: done in $(lab_seconds_since "$began") s"
}

lab_seconds_since() {
  local us=$(( ${EPOCHREALTIME/[.,]/} - ${1/[.,]/} ))
  printf '%d.%d' $((us / 1000000)) $((us % 1000000 / 100000))
}

# ---- settings -------------------------------------------------------------------------------

# A lab keeps the settings it was started with; what the caller asks for counts at the first `up`.
lab_asked_profile=${LAB_PROFILE:-} lab_asked_servers=${LAB_API_SERVERS:-}
LAB_PROFILE=${LAB_PROFILE:-fast}
LAB_API_SERVERS=${LAB_API_SERVERS:-1}
# shellcheck source=/dev/null
if [[ -e $LAB/settings ]]; then . "$LAB/settings"; fi
export LAB_PROFILE

lab_settings_agree() {
  [[ ${lab_asked_profile:-$LAB_PROFILE} == "$LAB_PROFILE" && ${lab_asked_servers:-$LAB_API_SERVERS} == "$LAB_API_SERVERS" ]] ||
    lab_die "the lab in $LAB has LAB_PROFILE=$LAB_PROFILE LAB_API_SERVERS=$LAB_API_SERVERS: lab down first, or take another LAB"
}

# ---- ports ----------------------------------------------------------------------------------

# lab_claim_ports NAME...: gives each name a port that no other lab and no process has; a name keeps its port.
lab_claim_ports() { "$LAB_BIN/lab-bin" ports "$LAB" "$@"; }

# lab_port NAME: the port claimed under that name.
lab_port() {
  local port
  port=$(sed -n "s/^$1=//p" "$LAB/ports" 2>/dev/null)
  [[ $port ]] || lab_die "no port was claimed under the name $1"
  echo "$port"
}

# ---- processes ------------------------------------------------------------------------------
# A part NAME has: run/NAME.pid ("pid start-time", so that a pid used again is never signalled),
# run/NAME.cmd (how to start it again), logs/NAME.log. It leads a process group of its own.

lab_start_time() { # PID -> the kernel's start time of that process, nothing when there is none
  local stat
  { read -r stat < "/proc/$1/stat"; } 2>/dev/null || return 1
  stat=${stat##*) }
  # shellcheck disable=SC2086
  set -- $stat
  [[ $1 != Z ]] || return 1
  echo "${20}"
}

lab_pid() { # NAME -> its pid when it runs
  local pid started
  { read -r pid started < "$LAB/run/$1.pid"; } 2>/dev/null || return 1
  [[ $(lab_start_time "$pid") == "$started" ]] || return 1
  echo "$pid"
}

lab_alive() { lab_pid "$1" > /dev/null; }

# lab_start NAME COMMAND...: starts it in the background; output goes to logs/NAME.log.
# A COMMAND may begin with VAR=value words.
lab_start() {
  local name=$1; shift
  lab_alive "$name" && return 0
  mkdir -p "$LAB/run" "$LAB/logs"
  printf '%q ' "$@" > "$LAB/run/$name.cmd"
  lab_launch "$name"
}

lab_launch() { # NAME: starts what run/NAME.cmd says
  local name=$1 pid command=()
  [[ -r $LAB/run/$name.cmd ]] || lab_die "no part named $name; see: lab status"
  eval "command=($(< "$LAB/run/$name.cmd"))"
  # No descriptor of ours but the three: a lock held by `lab` must not live on in its children.
  setsid env "${command[@]}" < /dev/null >> "$LAB/logs/$name.log" 2>&1 9>&- &
  pid=$!
  echo "$pid $(lab_start_time "$pid")" > "$LAB/run/$name.pid"
}

# lab_signal SIGNAL NAME: to the part and to its process group.
lab_signal() {
  local pid
  pid=$(lab_pid "$2") || return 1
  kill "-$1" -- "-$pid" 2>/dev/null || kill "-$1" "$pid" 2>/dev/null
}

# lab_stop NAME [SECONDS]: TERM, then KILL after SECONDS (10); with 0 KILL at once.
lab_stop() {
  local name=$1 seconds=${2:-10} deadline
  deadline=$((SECONDS + seconds))
  lab_signal CONT "$name" || true       # a stopped process would not see TERM
  (( seconds == 0 )) || lab_signal TERM "$name" || true
  while lab_alive "$name"; do
    (( SECONDS < deadline )) || lab_signal KILL "$name" || true
    lab_tick
  done
  rm -f "$LAB/run/$name.pid"
}

# lab_stop_all [SECONDS]: every part that is left, all at the same time.
lab_stop_all() {
  local file name
  for file in "$LAB"/run/*.pid; do
    [[ -e $file ]] || continue
    name=$(basename "$file" .pid)
    lab_stop "$name" "${1:-10}" &
  done
  wait
}

lab_tail() { # NAME [LINES]: the end of a part's log, on stderr
  local log=$LAB/logs/$1.log
  [[ -s $log ]] || return 0
  lab_say "last lines of $log:"
  tail -n "${2:-15}" "$log" | cut -c1-400 | sed 's/^/  | /' >&2
}

# ---- waiting --------------------------------------------------------------------------------

# The pause between two looks at something that has no event to wait for.
lab_tick() { sleep 0.05; }

# lab_wait WHAT PART COMMAND...: looks until COMMAND succeeds; fails at the deadline, or at once when
# PART (a name, or - for none) dies, with the tail of that part's log.
lab_wait() {
  local what=$1 part=$2 deadline=$((SECONDS + LAB_TIMEOUT)); shift 2
  until "$@" > /dev/null 2>&1; do
    if [[ $part != - ]] && ! lab_alive "$part"; then
      lab_tail "$part"; lab_say "error: $part ended before $what"; return 1
    fi
    if (( SECONDS >= deadline )); then
      [[ $part == - ]] || lab_tail "$part"
      lab_say "error: no $what within $LAB_TIMEOUT s"; return 1
    fi
    lab_tick
  done
}

lab_port_open() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# ---- env and faults -------------------------------------------------------------------------

# lab_env NAME VALUE: one line of $LAB/env; a name has one line.
lab_env() {
  local file=$LAB/env
  { [[ ! -e $file ]] || grep -v "^export $1=" "$file" || true; printf 'export %s=%q\n' "$1" "$2"; } > "$file.new.$1"
  mv "$file.new.$1" "$file"
}

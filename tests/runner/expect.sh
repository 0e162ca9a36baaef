# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests of the program: `expect`, `ok`, and a folder of their own to work in, $work.
set -u
bin=$(realpath "$1")
experiments=$(realpath "$(dirname "$0")/../../experiments")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export REGBENCH_DATA=$work/data XDG_DATA_HOME=$work/xdg
cd "$work" || exit 1
failed=0
passed=0

# expect CODE PATTERN COMMAND...: exit code and a pattern in stdout+stderr
expect() {
  local code=$1 pattern=$2
  shift 2
  local output got
  output=$("$@" 2>&1)
  got=$?
  if [ "$got" != "$code" ]; then
    echo "FAIL: $* exits $got, not $code: ${output:0:300}"
    failed=$((failed + 1))
  elif ! grep -qE -- "$pattern" <<<"$output"; then
    echo "FAIL: $* does not tell '$pattern': ${output:0:300}"
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
  fi
}
ok() { # description, test command
  local what=$1
  shift
  if "$@"; then passed=$((passed + 1)); else
    echo "FAIL: $what"
    failed=$((failed + 1))
  fi
}
# interrupted WHAT PATTERN COMMAND...: Ctrl-C as soon as its output shows the pattern; it ends with 130
interrupted() {
  local what=$1 pattern=$2 child code
  shift 2
  "$@" >log 2>&1 &
  child=$!
  for _ in $(seq 1200); do
    grep -qE -- "$pattern" log && break
    kill -0 $child 2>/dev/null || break
    sleep 0.05
  done
  kill -INT $child 2>/dev/null
  wait $child
  code=$?
  ok "$what exits 130: $code" test $code = 130
}
# limited KiB COMMAND...: a limit on the size of files stands for a full disk
limited() {
  (ulimit -f "$1" && shift && exec "$@")
}
# resealed FILE: a record whose descriptor was edited for a test gets the checksum that belongs to it
resealed() {
  local sum
  sum=$(perl -0ne 'if (/"descriptor": "((?:[^"\\]|\\.)*)"/s) { $t = $1; $t =~ s/\\(.)/$1 eq "n" ? "\n" : $1 eq "t" ? "\t" : $1/ges; print $t }' "$1" | sha256sum | cut -d' ' -f1)
  sed -i "s/\"descriptor_sha256\": \"[0-9a-f]*\"/\"descriptor_sha256\": \"$sum\"/" "$1"
}
# descriptor PAPER NAME SIZE CACHE: of one method at one size
descriptor() {
  cat <<YAML
schema: 1
paper: $1
name: $2
title: t
source: s
cache: $4
methods:
  - {label: A, kind: interp, variant: cpu/omp, basis: linear}
axes:
  - {name: size, quick: ["$3"]}
columns:
  - {name: e, metric: error_rms, title: e, class: numeric}
YAML
}
# told at the end; the exit code of the test
finish() {
  echo "$passed passed, $failed failed"
  test $failed = 0
}

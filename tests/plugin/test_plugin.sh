#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Kernels from a shared library: checked, listed and measured like the project's own; what is none is refused in one line.
# usage: test_plugin.sh PATH_TO_REGBENCH EXAMPLE.so WRONG.so LAZY.so KEEPS1.so KEEPS2.so REFUSED1.so ... REFUSED10.so
example=$2 wrong=$3 lazy=$4 keeps_by_address=$5 keeps_by_value=$6 refused=("${@:7}")
# shellcheck source=tests/runner/expect.sh
. "$(dirname "$0")/../runner/expect.sh"

# ---- an example that is right, and one that is not -------------------------------------------------------
expect 0 "interp +cpu/example +[1-9][0-9]* passed +0 failed +of a plugin" "$bin" check interp --largest 2 --plugin "$example" --variant cpu/example
expect 3 "FAIL +interp cpu/example: linear periodic" "$bin" check interp --largest 2 --plugin "$wrong" --variant cpu/example
expect 0 "cpu/example +one thread, axis by axis" "$bin" list variants --plugin "$example"
expect 2 "no variant 'cpu/example'" "$bin" check interp --variant cpu/example
# with the project's own, which stay as they are
expect 0 "cpu/omp .* passed +0 failed" "$bin" check interp --backend cpu --largest 1 --plugin="$example"

# ---- measured ---------------------------------------------------------------------------------------------
cat >mine.yaml <<'YAML'
schema: 1
paper: mine
name: interp
title: "An example's interpolation"
source: "nobody's"
cache: warm
methods:
  - {label: theirs, kind: interp, variant: cpu/omp, basis: linear}
  - {label: mine, kind: interp, variant: cpu/example, basis: linear}
axes:
  - {name: size, quick: ["24"]}
columns:
  - {name: time, metric: time, title: time, class: info}
YAML
expect 2 "cpu/example" "$bin" run mine.yaml --out out
expect 0 "2 valid" "$bin" run mine.yaml --out out --plugin "$example"
record=$(ls out/*/mine/interp/quick.json)
sha=$(sha256sum "$example" | cut -d' ' -f1)
ok "the case's source is the library" grep -q "\"source\": \"plugin:$sha\"" "$record"
ok "the record names it" grep -q '"name": "example of tests/plugin"' "$record"
expect 0 "Variants of a plugin: example of tests/plugin 1.0 .*sha256 ${sha:0:12}" "$bin" report "$record"
ok "a table without the library at hand is not stale" bash -c "! '$bin' report '$record' | grep STALE"
expect 0 "2/2 kept" "$bin" run mine.yaml --out out --plugin "$example" --resume
cp "$example" changed.so && printf x >>changed.so
expect 0 "1 cases of the journal are of other code.*" "$bin" run mine.yaml --out out --plugin changed.so --resume
expect 3 "invalid .*mine" "$bin" run mine.yaml --out wrong --plugin "$wrong"
expect 3 "invalid .*mine.*(least traffic over the time|time of a run on new inputs)" "$bin" run mine.yaml --out lazy --plugin "$lazy"
expect 3 "invalid .*mine.*max .value - oracle. is" "$bin" run mine.yaml --out keeps --plugin "$keeps_by_address"
expect 3 "invalid .*mine.*time of a run on new inputs over the median" "$bin" run mine.yaml --out keeps2 --plugin "$keeps_by_value"

# ---- refused ----------------------------------------------------------------------------------------------
reasons=("interp has a variant 'cpu/omp' already" "has [0-9]+ bytes and rb_interp_ops has [0-9]+" "nearest is interp" "must be cpu/NAME"
  "has no ops table" "must be cpu/NAME" "names cpu/twice twice" "is of interface 2 .* compile it anew" "name and version must be" "gives nothing")
for k in "${!reasons[@]}"; do expect 2 "${reasons[k]}" "$bin" check interp --plugin "${refused[k]}"; done
expect 2 "has a variant 'cpu/example' already" "$bin" list --plugin "$example" --plugin "$example"
expect 2 "no file|absent.so" "$bin" check --plugin absent.so
printf 'text' >text.so
expect 2 "text.so cannot be loaded" "$bin" check --plugin text.so
expect 2 "no function regbench_plugin" "$bin" check --plugin "$(ldd "$bin" | awk '/libz\.so/ { print $3 }')"
mkfifo fifo.so
expect 2 "fifo.so" timeout 20 "$bin" check --plugin fifo.so
expect 2 "needs a shared library" "$bin" check --plugin ""
expect 2 "unknown option '--plugin'" "$bin" report --plugin "$example"
finish

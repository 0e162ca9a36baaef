#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What was tried against the program from outside and has no better place: signals, hanging children, devices, damaged files, records that were bent.
# usage: test_attacks.sh PATH_TO_REGBENCH
# shellcheck source=tests/runner/expect.sh
. "$(dirname "$0")/expect.sh"

# a hangup ends a run as Ctrl-C does: what was measured stays
descriptor attacks signals 48 warm | sed 's/quick: \["48"\]/quick: ["16", "20", "24", "28", "32", "36", "40", "44", "48", "52", "56", "60", "64"]/' >signals.yaml
"$bin" run signals.yaml --out o >log 2>&1 &
child=$!
for _ in $(seq 400); do grep -q ' valid ' log && break; sleep 0.02; done
kill -HUP $child 2>/dev/null
wait $child
code=$?
ok "a hangup exits 130: $code" test $code = 130
ok "and keeps what was measured" test "$(grep -c '"valid"' o/*/attacks/signals/quick.json)" -ge 1
expect 0 "13 valid" "$bin" run signals.yaml --out o --resume

# gnuplot that hangs ends with us
mkdir hang && printf '#!/bin/sh\necho $$ >%s/gnuplot.pid\nexec sleep 97\n' "$work" >hang/gnuplot && chmod +x hang/gnuplot
cat >>signals.yaml <<'YAML'
plots:
  - {file: p, kind: lines, title: t, x: size, y: error_rms}
YAML
expect 0 "valid" "$bin" run signals.yaml --out p
PATH="$work/hang:$PATH" "$bin" report p --plots >log 2>&1 &
child=$!
for _ in $(seq 200); do [ -s gnuplot.pid ] && break; sleep 0.05; done
kill -INT $child 2>/dev/null
wait $child
code=$?
ok "Ctrl-C during a figure exits 130: $code" test $code = 130
ok "gnuplot does not outlive us" test ! -e "/proc/$(cat gnuplot.pid 2>/dev/null || echo self)"

# a device as a result stays one
if mknod null c 1 3 2>/dev/null; then
  expect 0 "0 failed" "$bin" check steps --variant cpu/omp --junit null
  ok "a device is written to, not replaced" test -c null
fi

# records that were bent
record=$(echo p/*/attacks/signals/quick.json)
perl -0pe 's/("cases": \[\s*)(\{.*?\n  \},)/$1$2\n  $2/s' "$record" >twice.json
expect 2 "twice" "$bin" report twice.json
# a median within its interval that is not the samples'
perl -0pe 's/"median": [^,]+(,\s*"low": [^,]+,\s*"high": ([^,]+),)/"median": $2$1/' "$record" >shifted.json
expect 3 "the samples' median is" "$bin" validate shifted.json

# what fuzzing found: elements of a GIFTI in a wrong place, a column named twice (test_external.sh: an adapter of comments alone)
printf '<?xml version="1.0"?><GIFTI Version="1.0" NumberOfDataArrays="1">\n<Data>0 0 0</Data></GIFTI>\n' >placed.gii
expect 2 "line 2 has an element 'Data' in GIFTI" "$bin" measure surfaces placed.gii placed.gii --sigma 1
printf '<Foo/>' >root.gii
expect 2 "line 1 has an element 'Foo' in the document" "$bin" measure surfaces root.gii root.gii --sigma 1
printf '<GIFTI Version="1.0" NumberOfDataArrays="1">' >open.gii
expect 2 "truncated, or not XML" "$bin" measure surfaces open.gii open.gii --sigma 1
printf 'fixed,moving,fixed\na.nii,b.nii,c.nii\n' >columns.csv
expect 2 "has the column 'fixed' twice" "$bin" run baselines --pairs columns.csv --methods demons --out b

# points: decimal commas are not taken for columns
printf '1,5;2,25;3,125\n' >comma.csv
expect 2 "comma.csv" "$bin" measure points comma.csv comma.csv
printf '1,5,2,25,3,125\n' >six.csv
expect 2 "six.csv" "$bin" measure points six.csv six.csv

finish

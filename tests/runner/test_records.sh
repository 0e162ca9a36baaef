#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Records: what a later run may not take from an earlier one, what a comparison may not overlook, what a record from elsewhere may not do.
# usage: test_records.sh PATH_TO_REGBENCH
# shellcheck source=tests/runner/expect.sh
. "$(dirname "$0")/expect.sh"
results=$experiments/../results

# ---- a run and the record that is there ------------------------------------------------------------------
small=(run brunn2020/table4 --backend cpu --where size=32 --out out)
expect 0 "3 valid" "$bin" "${small[@]}"
record=$(ls out/*/brunn2020/table4/quick.json)
folder=$(dirname "$record")
cp "$record" first.json
# what is skipped or interrupted before its first case ends does not replace what was measured
descriptor brunn2020 table4 8 cold >skipped.yaml
expect 9 "too small for cold caches" "$bin" run skipped.yaml --out out
expect 9 "kept is .*quick.json" "$bin" run skipped.yaml --out out
ok "a run that measures nothing leaves the record as it was" cmp -s "$record" first.json
expect 9 "none of its cases is asked for" "$bin" run brunn2020/table7-cpu --backend cuda --out out
ok "and makes none" test -z "$(find out -path '*table7-cpu*')"
expect 2 "needs AXIS=VALUE" "$bin" run brunn2020/table4 --where "" --out out
# a narrower run sets the wider record aside
expect 0 "held more; it is .*quick.json.before" "$bin" run brunn2020/table4 --backend cpu --where size=32,method=CPU-LAG --out out
ok "the wider record is beside it" cmp -s "$record.before" first.json
# and every one after it, each under a name of its own
expect 0 "2 valid" "$bin" run brunn2020/table4 --backend cpu --where size=32,method=CPU-LAG,method=CPU-LIN --out out
cp "$record" second.json
expect 0 "held more; it is .*quick.json.before.2" "$bin" run brunn2020/table4 --backend cpu --where size=32,method=CPU-LAG --out out
ok "none is lost" bash -c "cmp -s $record.before.2 second.json && cmp -s $record.before first.json"
# a whole record gives way to one that is as large and was interrupted by its name only
sed 's/"complete": true/"complete": false/' "$record" >"$record.tmp" && mv "$record.tmp" "$record"
expect 0 "1 valid" "$bin" run brunn2020/table4 --backend cpu --where size=32,method=CPU-LAG --out out
ok "as many cases, and whole: nothing is set aside" test ! -e "$record.before.3"
# a speed-up over the first method of a case's own kind, whatever stands first in the table
expect 0 "3 valid" "$bin" run ha2009/table1 --out kinds --where "method=CPU basic,method=CPU gradient,method=CPU gradient all cores"
kinds=$("$bin" report kinds/*/ha2009/table1/quick.json)
for row in 'CPU basic +cpu/naive .* x1 ' 'CPU gradient +cpu/naive .* x1 ' 'CPU gradient all cores .* x[0-9.]+ '; do
  ok "the table has $row" grep -qE "$row" <<<"$kinds"
done
# cases of another host or build are not kept
expect 0 "3 valid" "$bin" "${small[@]}"
expect 0 "3 cases of the journal are .*another host" env OMP_NUM_THREADS=1 "$bin" "${small[@]}" --resume
expect 0 "3/3 kept" env OMP_NUM_THREADS=1 "$bin" "${small[@]}" --resume
expect 0 "3/3 kept" "$bin" "${small[@]}" --resume # those of its own first run
ok "every run begins with its host" test "$(grep -c '"descriptor_sha256"' "$folder/quick.journal")" = 4
# without its journal a record is gone on with; each case says which run it is of, under which commit
expect 0 "2 valid" "$bin" run brunn2020/table4 --backend cpu --where size=32,method=CPU-LAG,method=CPU-LIN --out joined
joined=$(ls joined/*/brunn2020/table4/quick.json)
rm "${joined%.json}.journal"
# shellcheck disable=SC2016 # $r is perl's
tells() { perl -MJSON::PP -0777 -e 'my $r = decode_json(<STDIN>); print join ",", eval $ARGV[0]' "$1" <"$joined"; }
ok "a single run needs no list of runs" test "$(tells 'exists $r->{runs}, grep { exists $_->{run} } @{$r->{cases}}')" = ""
sed -i 's/"commit": "[^"]*"/"commit": "0123456789ab"/' "$joined"
expect 0 "no journal; 2 cases of .*quick.json" "$bin" run brunn2020/table4 --backend cpu --where size=32 --out joined --resume
ok "two runs, by their commits" test "$(tells '(map { $_->{regbench}{commit} eq "0123456789ab" ? "old" : "new" } @{$r->{runs}}), sort map { $_->{run} } @{$r->{cases}}')" = old,new,0,0,1
ok "each with its machine, roofs and beginning" test "$(tells 'map { ref $_->{machine}{cpu}, ref $_->{roofs}, $_->{begun} =~ /^2/ } @{$r->{runs}}')" = HASH,HASH,1,HASH,HASH,1
expect 0 "Joined by --resume: 2 cases of a run of 0123456789ab .*begun 2.*, 1 case of a run of" "$bin" report "$joined"
rm "${joined%.json}.journal"
expect 0 "3/3 kept" "$bin" run brunn2020/table4 --backend cpu --where size=32 --out joined --resume
ok "and again" test "$(tells 'sort map { $_->{run} } @{$r->{cases}}')" = 0,0,1
sed 's/"run": 1/"run": 7/' "$joined" >j.json
expect 2 "of a run that .runs. does not hold" "$bin" report j.json
(flock -x 9 && sleep 3) 9>"$folder/.lock" &
sleep 0.5
expect 8 "another regbench run" "$bin" report "$record" --rejudge
wait

# a run that was killed leaves a journal: its record is made of it, on any machine, and no case is lost
"$bin" run brunn2020/table4 --backend cpu --where size=32 --out killed >/dev/null 2>&1
killed=$(ls killed/*/brunn2020/table4/quick.json)
head -n 3 "${killed%.json}.journal" >j && printf '{"id": "half a li' >>j # what a kill while writing leaves
rm "$killed" && mv j "${killed%.json}.journal"
sed -i '1s/"threads":[0-9]*/"threads":4096/g' "${killed%.json}.journal" # another host
expect 9 "no records" "$bin" report killed
expect 0 "quick.json: 2 cases of a run that was killed" "$bin" report killed --recover
expect 0 "Not complete" "$bin" report killed
expect 0 "Table 4" "$bin" report killed --rejudge
ok "its cases are those of the journal" test "$(joined=$killed tells '$r->{complete} ? 1 : 0, scalar @{$r->{cases}}, exists $r->{runs} ? 1 : 0, $r->{preset_cases}')" = 0,2,0,"$(tells '$r->{preset_cases}')"
cp "$killed" k.json
expect 0 "Table 4" "$bin" report killed --recover
ok "what ended itself, or was recovered, stays" cmp -s "$killed" k.json
expect 2 "needs a folder" "$bin" report --recover
expect 2 "takes folders; .*quick.journal. is none" "$bin" report "${killed%.json}.journal" --recover
printf 'nothing\n' >"${killed%.json}.journal" && rm "$killed"
expect 2 "no journal of regbench" "$bin" report killed --recover

# ---- others on the host ----------------------------------------------------------------------------------
if [ -r /proc/stat ] && command -v taskset >/dev/null; then # on one processor, beside loops that never rest
  loops=() cpu=$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')
  for _ in 1 2 3; do
    taskset -c "$cpu" bash -c 'while :; do :; done' &
    loops+=($!)
  done
  expect 0 "others kept up to (0\.[6-9]|1\.[0-9]) processors busy" taskset -c "$cpu" env OMP_NUM_THREADS=1 "$bin" run ha2009/section4-3 --backend cpu --preset standard --where size=64,omega=laplace --out beside
  kill "${loops[@]}" && wait "${loops[@]}" 2>/dev/null
  expect 0 "While [1-9] of [1-9] timed cases were measured, others kept" "$bin" report beside
fi

# ---- tables and plots of two presets ---------------------------------------------------------------------
expect 0 "quick/table.txt|table4/table.txt" "$bin" report "$record" --write
sed 's/"preset": "quick"/"preset": "paper"/' "$record" >"$folder/paper.json"
expect 0 "table4/table-quick.txt" "$bin" report "$folder" --write
ok "the larger preset's table has the plain name" grep -q "preset paper" "$folder/table.txt"
ok "the smaller one's its own" grep -q "preset quick" "$folder/table-quick.txt"
if command -v gnuplot >/dev/null; then
  expect 0 "plots in" "$bin" report "$folder" --plots
  ok "and so are its plots named" test -s "$folder/error.png" -a -s "$folder/error-quick.png"
fi
rm "$folder/paper.json"
if command -v gnuplot >/dev/null; then # stacked bars of a record of another's making: an axis value that is no text
  mkdir -p stacked
  sed 's/"mesh": "0.5"/"mesh": 0.5/' "$results/intel-xeon-processor-2-cores/ha2012/breakdown/paper.json" >stacked/paper.json
  ok "an axis value became a number" grep -q '"mesh": 0.5' stacked/paper.json
  "$bin" report stacked --plots >stacked/log 2>&1
  ok "which ends no program" test $? -lt 128
fi

# ---- compare ---------------------------------------------------------------------------------------------
cp "$record" a.json
edit() { perl -0pi -e "$1" "$2"; }
cp a.json invalid.json
edit 's/("id": "CPU-LAG.*?"status": )"valid"(.*?"reason": )""(.*?)"metrics": \{.*?\n   \},/$1"invalid"$2"error is 1, limit 0.1"$3"metrics": {},/s' invalid.json
expect 3 "CPU-LAG.*LOST: invalid: error is 1" "$bin" compare a.json invalid.json --delta 9
expect 3 "1 LOST in B, 1 of them invalid" "$bin" compare a.json invalid.json --delta 9
expect 0 "2 compared" "$bin" compare invalid.json a.json --delta 9 # what only B has is no loss
cp a.json fewer.json
edit 's/"id": "CPU-LAG /"id": "CPU-LAG at another /' fewer.json
expect 8 "CPU-LAG.*LOST: not in B" "$bin" compare a.json fewer.json --delta 9
sed 's/"status": "valid"/"status": "skipped"/; s/"time": {/"then": {/' a.json >skipped.json
expect 8 "3 LOST in B, 0 of them invalid" "$bin" compare a.json skipped.json
# what only a paper can run is no loss, whichever side it stands on
printed=$results/nvidia-tesla-v100/brunn2020/table8/published.json
expect 0 "3 compared: 3 FASTER.*0 not comparable$" "$bin" compare "$printed" "$results/nvidia-h200/brunn2020/table8/paper.json"
expect 4 "0 not comparable$" "$bin" compare "$results/nvidia-h200/brunn2020/table8/paper.json" published
fields=$results/nvidia-h200/brunn2020/table5/paper.json
sed -E 's/(label: ours grad FD8[^}]*scheme: )fd8/\1fd2/' "$fields" >scheme.json && resealed scheme.json
expect 0 "ours grad FD8.*not comparable: scheme differs" "$bin" compare "$fields" scheme.json
sed -E 's/(label: CPU-LAG[^}]*basis: )lagrange/\1linear/' a.json >basis.json && resealed basis.json
expect 0 "CPU-LAG.*not comparable: basis differs" "$bin" compare a.json basis.json --delta 9
# a time of one sample has no interval: 6 % are not confirmed, 20 % are
once=$results/nvidia-h200/shooting2018/table1/paper.json
times() { perl -0pe 's/(("median"|"low"|"high"): |"time": \{\s*"value": )([0-9.e-]+)/$1.($3*'"$1"')/ge' "$once"; }
times 1.06 >six.json
times 1.2 >twenty.json
expect 0 "\]\* +AMBIGUOUS" "$bin" compare "$once" six.json
expect 0 "fewer than 6 samples" "$bin" compare "$once" six.json
expect 4 "1\.200 \[1\.080, 1\.320\]\* +SLOWER" "$bin" compare "$once" twenty.json

# machines: geometric means by hand
scaled() { # FOLDER NAME FACTOR...: a machine's folder with a.json, its times over the factors in turn
  mkdir -p "$1/brunn2020/table4"
  perl -MJSON::PP -0777 -e 'my $r = decode_json(<STDIN>); my ($name, @f) = @ARGV; $r->{machine}{name} = $name; my $k = 0;
    for my $c (@{$r->{cases}}) { my $f = $f[$k++ % @f]; $_ /= $f for $c->{metrics}{time}{value}, @{$c->{timing}}{qw(low median high)}, @{$c->{timing}{samples}}; }
    print encode_json($r)' "${@:2}" <a.json >"$1/brunn2020/table4/quick.json"
}
scaled machines/one "Machine One" 1
scaled machines/two "Machine Two" 2 8 4
scaled machines/three "Machine Three" 0.5
expect 0 "brunn2020 +interp +cpu +4 \[[0-9., ]+\] +2 to 8 +3 +0.5 \[[0-9., ]+\] +0.5 to 0.5 +3 *$" "$bin" compare machines/one machines/two machines/three
expect 0 "6 pairs of times; 0 more" "$bin" compare machines/one machines/two machines/three
expect 0 "brunn2020,interp,cpu,\"?0.25 \[" "$bin" compare machines/two machines/one --format csv
expect 2 "records of several machines .Machine .*name the folder of one" "$bin" compare machines machines/one
expect 2 "not both" "$bin" compare machines/one a.json
expect 2 "two machines at least" "$bin" compare machines/one
expect 2 "no records below" "$bin" compare machines/one "$(mkdir -p empty; echo empty)"
expect 9 "no timed case in common" "$bin" compare machines/one "$results/nvidia-tesla-p100"
expect 2 "for folders of machines" "$bin" compare a.json a.json --plots p
if command -v gnuplot >/dev/null; then
  expect 0 "pairs" "$bin" compare machines/one machines/two machines/three --plots p
  ok "a picture of machines" test -s p/machines.png -a -s p/machines.svg
fi

# ---- published values ------------------------------------------------------------------------------------
mkdir -p published
sed "s#^published: .*#published: published/t.csv#" "$experiments/brunn2020/table4.yaml" >printed.yaml
sed 's/2.2e-3/n\/a/' "$experiments/brunn2020/published/table4.csv" >published/t.csv
expect 2 "t.csv:[0-9]+: 'n/a' in column 'error' is no number" "$bin" describe printed.yaml
{ printf '# M\374ller\n'; cat "$experiments/brunn2020/published/table4.csv"; } >published/t.csv
expect 2 "t.csv is not UTF-8" "$bin" describe printed.yaml
grep -v '^#' "$experiments/brunn2020/published/table4.csv" | cut -d, -f1-5 | sed 's/$/\r/' >published/t.csv # as some editors end lines
expect 0 "Table 4" "$bin" describe printed.yaml
# a descriptor that is run is read more strictly than an old record's
sed 's/basis: linear/basis: linear, scheme: fd8/' skipped.yaml >idle.yaml
expect 2 "idle.yaml:8: method 'A': kind interp reads no scheme" "$bin" describe idle.yaml

# ---- a record from elsewhere -----------------------------------------------------------------------------
if command -v gnuplot >/dev/null; then
  mkdir theirs
  sed -E 's/"name": "NVIDIA H200"/"name": "x`touch PWNED`'"'"'\\" y"/; s/GPU-TXTSPL/it'"'"'s `touch PWNED`/g; s/y_label: \\"/y_label: \\"a '"'"' `touch PWNED` /g' \
    "$results/nvidia-h200/brunn2020/table4/paper.json" >theirs/paper.json && resealed theirs/paper.json
  expect 5 "plots in" "$bin" report theirs --plots
  ok "names in a record are drawn, not run" test -s theirs/error.png -a ! -e PWNED -a ! -e theirs/PWNED
  mkdir without
  for tool in sh cut sed; do ln -sf "$(command -v $tool)" without/; done
  expect 8 "gnuplot is not installed" env PATH="$work/without" "$bin" report theirs --plots
  ok "no script of this machine's paths remains" test -z "$(find theirs -name '*.gp')"
fi
# what no run writes was edited or damaged
altered() { # PATTERN PERL: refused with the pattern once the record is edited so
  perl -0pe "$2" a.json >altered.json
  expect 2 "$1" "$bin" report altered.json
}
altered "descriptor_sha256 names" 's/(label: CPU-LAG, kind: interp, variant: )cpu.omp/$1cpu\/naive/'
altered "nothing verifies it" 's/"verification": \[.*?\n   \]/"verification": []/s'
altered "is said to be valid and fails" 's/"limit": [0-9.e-]+/"limit": -1/'
altered "two cases are named" 's/"id": "CPU-SPL/"id": "CPU-LAG/'
altered "its median lies outside its interval" 's/"low": [0-9.e-]+/"low": 1e9/'
# control characters and bars of a record do not reach a terminal or a table's structure
perl -0pe 's/"method": "GPU-TXTSPL"/"method": "GPU|TXT\\u001b[31mSPL"/g' "$results/nvidia-h200/brunn2020/table4/paper.json" >escape.json
"$bin" report escape.json --format md >escape.md
ok "no control characters in a table" test -z "$(tr -d '\t\n' <escape.md | tr -d '[:print:]' | head -c 9)"
ok "a bar within a cell is escaped" grep -qF 'GPU\|TXT' escape.md
# not finite is a result, and a wrong one
perl -0pe 's/("error_rms": \{\s*"value": )[0-9.e-]+/$1null/' "$results/nvidia-h200/brunn2020/table4/paper.json" >nan.json
expect 5 "not finite \(9.9e-3\) DIFFERS" "$bin" report nan.json
sed 's#file: error#file: ../error#' "$results/nvidia-h200/brunn2020/table4/paper.json" >up.json && resealed up.json
expect 2 "plot '../error' names files" "$bin" report up.json --plots

# ---- data sets of which a part is here -------------------------------------------------------------------
mkdir -p home/datasets home/experiments source/toy
{
  printf 'name: toy\ntitle: t\nsource: s\nlicence: l\ncitation: c\nimage: a.nii.gz\nfiles:\n'
  for f in a b c; do echo "$f" >source/toy/$f.nii.gz; echo "  - {name: $f.nii.gz, sha256: $(sha256sum <source/toy/$f.nii.gz | cut -d' ' -f1)}"; done
} >home/datasets/toy.yaml
rm source/toy/a.nii.gz
toy() { env REGBENCH_HOME="$work/home" REGBENCH_DATA="$work/toys" "$bin" "$@"; }
expect 0 "toy: 2 of 3 files imported" toy data import toy source/toy
ok "they lie in the data folder" cmp -s source/toy/b.nii.gz toys/toy/b.nii.gz
expect 0 "toy \(2 of 3 files\)" toy data list
expect 0 "toy +verified, 2 of 3 files are here" toy data verify
echo spoiled >toys/toy/c.nii.gz
expect 3 "c.nii.gz has another sha256" toy data verify
expect 8 "cannot write" limited 0 env REGBENCH_HOME="$work/home" REGBENCH_DATA="$work/toys" "$bin" data import toy source/toy

# records that somebody sends: as an archive, with halved times, a failed verification, twice the same case
sent=$experiments/../results/nvidia-h200/ha2009/section5
expect 0 "1 records, 24 valid cases, 0 contradictions.*unsigned" "$bin" validate "$sent"
tar cJf sent.tar.xz -C "$sent" paper.json
expect 0 "1 records, 24 valid" "$bin" validate sent.tar.xz
perl -0pe 's/"(median|low|high)": ([0-9.e-]+)/sprintf "\"$1\": %.12g", $2 \/ 2/ge' "$sent/paper.json" >halved.json
expect 3 "the samples. median is" "$bin" validate halved.json
perl -0pe 's/("energy": \{\s*"value": )([0-9.e+-]+)/$1 . 1000 * $2/e' "$sent/paper.json" >power.json
expect 3 "W, the board at most 700" "$bin" validate power.json
perl -0pe 's/"value": [0-9.e-]+,\n(\s*)"limit": 5e-0?6/"value": 1,\n$1"limit": 5e-6/' "$sent/paper.json" >failed.json
expect 2 "said to be valid and fails" "$bin" validate failed.json
perl -0pe 's/"verification": \[.*?\n   \]/"verification": []/s' "$sent/paper.json" >unverified.json
expect 2 "nothing verifies it" "$bin" validate unverified.json
perl -0pe 's/"limit": [0-9.e-]+/"limit": 1e300/' "$sent/paper.json" >lax.json
expect 3 "to a limit of 1e.300, which verifies nothing" "$bin" validate lax.json
perl -0pe 's/"status": "valid"/"status": "perfect"/' "$sent/paper.json" >perfect.json
expect 2 "has status 'perfect', which is none" "$bin" validate perfect.json
# every time of a record with cold caches halved, and whatever is derived from it: no roof of the cache is needed to find it
perl -0pe 'sub by { my ($f, $x) = @_; sprintf "%.12g", $f * $x } s/"(median|low|high|least|most)": ([0-9.e+-]+)/"\"$1\": " . by(.5, $2)/ge; s/("samples": \[)([^]]*)/$1 . join(",", map { by(.5, $_) } split ",", $2)/ge;
  s/("time": \{\s*"value": )([0-9.e+-]+)/$1 . by(.5, $2)/ge; s/("(?:percent_copy|bandwidth|flop_rate|percent_fma)": \{\s*"value": )([0-9.e+-]+)/$1 . by(2, $2)/ge; s/"cuda\/l2"/"cuda\/l9"/' \
  "$experiments/../results/nvidia-h200/ha2009/table1/paper.json" >cold.json
expect 3 "moves .* the machine.s memory and cache at most" "$bin" validate cold.json
head -c 300 sent.tar.xz >broken.tar.xz
expect 2 "cannot be unpacked" "$bin" validate broken.tar.xz
mkdir nothing
expect 9 "0 records" "$bin" validate nothing
expect 2 "no file gone" "$bin" validate gone

# an older record tells what was not checked of it; one of today has nothing to tell
expect 5 "Recorded by earlier rules; of 40 valid cases 40 not held against what the machine can do, 40 not run on new inputs" \
  "$bin" report "$experiments/../results/nvidia-h200/brunn2020/table4"
"$bin" run brunn2020/table2 --backend cpu --out today >/dev/null 2>&1
ok "a record of today lacks no check" bash -c "'$bin' report today | tee today.txt | grep -q 'Table 2' && ! grep -q 'earlier rules' today.txt"

# the model of more GPUs is what the committed record says
root=$experiments/..
of=$root/results/nvidia-h200-x2/ha2009/section4-5-gpus
mkdir model && cp "$of/table.csv" model
expect 0 "" "$root/scripts/atlas_model" model
ok "the committed model is the record's" cmp model/model.md "$of/model.md"
finish

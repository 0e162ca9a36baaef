#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The program as a user meets it: its verbs but `register`, every exit code, bad input, interruption, two runs at once.
# usage: test_cli.sh PATH_TO_REGBENCH
golden=$(realpath "$(dirname "$0")/../golden")
# shellcheck source=tests/runner/expect.sh
. "$(dirname "$0")/expect.sh"

# help, version, unknown words
expect 0 "usage: regbench VERB" "$bin" --help
expect 2 "usage" "$bin"
expect 2 "nearest is report" "$bin" reprot
expect 0 "regbench [0-9]" "$bin" --version
expect 2 "device 'x' is not a whole number" "$bin" doctor --device x
expect 2 "device '' is not a whole number" "$bin" list --device
expect 0 "families" "$bin" list families --device 0
expect "$("$bin" doctor >/dev/null 2>&1; echo $?)" "threads" "$bin" doctor --device=0
if "$bin" doctor 2>&1 | grep -qE "GPU .*(capability|emulated)"; then
  ok "a device that is not there is told" grep -q "there is no CUDA device 99" <<<"$("$bin" doctor --device 99 2>&1)"
fi
for verb in list describe run register check report compare probe data doctor; do
  expect 0 "usage: regbench $verb" "$bin" $verb --help
  expect 0 "exit codes" "$bin" $verb --help
done

# list, describe
expect 0 "brunn2020/table4" "$bin" list
expect 0 "cuda/texture-bspline" "$bin" list variants
expect 2 "cannot list" "$bin" list everything
expect 0 "cpu/composed, cpu/omp lagrange" "$bin" list claire
expect 0 "cuda/march" "$bin" list derivative
expect 0 "8 values|cases at preset" "$bin" describe brunn2020/table4
expect 2 "nearest is brunn2020/table4" "$bin" describe brunn2020/tabel4
expect 2 "which experiment" "$bin" describe

# run: usage errors
expect 2 "which experiment" "$bin" run
expect 2 "unknown preset" "$bin" run brunn2020/table5 --preset fast
expect 2 "unknown backend" "$bin" run brunn2020/table5 --backend gpu
expect 2 "not AXIS=VALUE" "$bin" run brunn2020/table5 --where size
expect 2 "no axis 'shape'" "$bin" run brunn2020/table5 --where shape=3
expect 2 "unknown option" "$bin" run brunn2020/table5 --fast
expect 2 "no experiment" "$bin" run brunn1999
expect 2 "no descriptor" "$bin" run missing.yaml
printf 'schema: 1\nschema: 1\n' >twice.yaml
expect 2 "twice.yaml:2: key 'schema' appears twice" "$bin" run twice.yaml
echo '# nothing but a remark' >empty.yaml
expect 2 "empty.yaml is empty" "$bin" run empty.yaml

# errors of descriptors that only a look at other files or at families shows
sed 's/basis: lagrange/basis: lagrangian/' "$experiments/brunn2020/table4-points.yaml" >basis.yaml
expect 2 "basis.yaml:[0-9]+: method .* unknown basis 'lagrangian'; nearest is lagrange" "$bin" describe basis.yaml
sed 's/^published: .*/published: missing.csv/' "$experiments/brunn2020/table4.yaml" >printed.yaml
expect 2 "missing.csv" "$bin" describe printed.yaml
expect 2 "missing.csv" "$bin" run printed.yaml

# a run, its record, its report
expect 0 "valid.*CPU-LAG" "$bin" run brunn2020/table4 --backend cpu --where size=32 --out out
record=$(ls out/*/brunn2020/table4/quick.json)
ok "a record is written" test -s "$record"
ok "no partial files remain" test -z "$(find out -name '*.partial')"
expect 0 "Table 4" "$bin" report "$record"
expect 0 "^\| size" "$bin" report "$record" --format md
expect 0 "^paper,experiment,machine,preset,commit,axes,method" "$bin" report "$record" --format csv
ok "records share one header" test "$("$bin" report "$record" "$record" --format csv | grep -c ^paper,)" = 1
expect 0 "begin.tabular" "$bin" report "$record" --format latex
ok "LaTeX has a caption, a label and a citation that the .bib has" test "$("$bin" report "$record" --format latex | grep -cE 'caption\{.*regbench .*cite\{brunn2020\}|label\{tab:brunn2020-')" = 2 -a "$(grep -c '{brunn2020,' "$experiments/references.bib")" = 1
expect 2 "unknown format" "$bin" report "$record" --format html
# judged anew: the same descriptor changes nothing; a record of other measurements is refused and stays as it was
cp "$record" anew.json
expect 0 "Table 4" "$bin" report anew.json --rejudge
ok "an unchanged descriptor leaves the record as it was" cmp -s "$record" anew.json
sed 's/variant: cpu\/omp, basis: lagrange/variant: cpu\/naive, basis: lagrange/' "$record" >anew.json && resealed anew.json && cp anew.json before.json
expect 2 "measured by another variant" "$bin" report anew.json --rejudge
ok "and the record is kept" cmp -s anew.json before.json
sed 's/Table 4: error and time/Table 4: time and error/' "$record" >anew.json && resealed anew.json
expect 0 "Table 4: error and time" "$bin" report anew.json --rejudge
ok "the record tells that it was judged anew" grep -q '"measured_with"' anew.json
expect 2 "no record or folder" "$bin" report nothing.json
expect 0 "table.md" "$bin" report "$record" --format md --write
echo '{"schema": "other"}' >other.json
expect 2 "not a regbench record" "$bin" report other.json
echo '{"schema": "regbench-record", "schema_version": "1.0.0"}' >hollow.json
expect 2 "no list of cases" "$bin" report hollow.json
expect 2 "nearest is cuda/tiled" "$bin" check --variant cuda/titled
expect 2 "nearest is interp" "$bin" list interpp
expect 7 "experiment differs .brunn2020/table1, demons2020/table1." "$bin" compare "$experiments"/../results/nvidia-h200/brunn2020/table1/paper.json "$experiments"/../results/nvidia-h200/demons2020/table1/paper.json
expect 4 "B: Intel i7-4790" "$bin" compare "$experiments"/../results/nvidia-h200/demons2020/figure5/paper.json published
head -c 500 "$record" >torn.json
expect 2 "torn.json:" "$bin" report torn.json
# the numbers that Table 4 prints come out on any machine
expect 0 "2 valid" "$bin" run brunn2020/table4 --where size=64,method=CPU-LAG,method=CPU-LIN --backend cpu --out out-table4
"$bin" report out-table4 --format csv >table4.csv
ok "Table 4 at 64^3: the linear error is reproduced; the cubic one, 9.85e-3 for 9.9e-3, needs a whole unit" bash -c "grep -q ',size=64,CPU-LIN,.*REPRODUCED' table4.csv && grep -q ',size=64,CPU-LAG,.*DIFFERS' table4.csv"
# many records at a glance
expect 5 "brunn2020, all .* 2 of 2 +- +1 of 2" "$bin" report out-table4 --summary
expect 5 "No record of: .*brunn2020/table7" "$bin" report out-table4 --summary
expect 2 "goes with --format alone" "$bin" report out-table4 --summary --plots
# code that changed since marks its cells; a claim that fails, a folder without records
sed -E 's/"source": "[0-9a-f]{16}"/"source": "0123456789abcdef"/' "$record" >changed.json
expect 0 "STALE: code changed since" "$bin" report changed.json
expect 0 "Some cells are STALE" "$bin" report changed.json
expect 5 "FAILS" "$bin" report "$experiments"/../results/nvidia-h200/brunn2020/table5/paper.json
mkdir no-records
expect 9 "no records" "$bin" report no-records
# beside another machine's times: not comparable, with the roof; a method that was not run shows what is printed of it; speed-ups
expect 5 "\([0-9.e+-]+\) x[0-9.]+, [0-9]+ % of roof" "$bin" report "$experiments"/../results/nvidia-h200/brunn2020/table4/paper.json
expect 5 "\[[0-9]\] printed; not measured here" "$bin" report "$experiments"/../results/nvidia-h200/shooting2018/table1/paper.json
"$bin" report "$experiments"/../results/nvidia-h200/shooting2018/speedup/paper.json --format csv >speedup.csv
ok "speed-ups stand over one thread and over all cores" test "$(grep -cE ',(CPU|CPU all cores),[^,]*,[^,]*,[^,]*,1,1,' speedup.csv)" = 2 -a "$(grep -cE ',ours GPU,[^,]*,over_[a-z]*,[^,]*,[0-9.e+]+,1,' speedup.csv)" = 2
mkdir -p machines/intel-xeon-e5-2643-v3-one-thread/shooting2018/table1 && echo kept >machines/intel-xeon-e5-2643-v3-one-thread/shooting2018/table1/paper.journal
expect 0 "intel-xeon-e5-2643" "$bin" report "$experiments"/../results/nvidia-h200/shooting2018/table1/paper.json --published machines
ok "an interrupted run keeps its journal beside them" grep -q kept machines/intel-xeon-e5-2643-v3-one-thread/shooting2018/table1/paper.journal
if command -v gnuplot >/dev/null; then
  expect 0 "plots in" "$bin" report "$record" --plots --pdf
  ok "PDF, too" bash -c "head -c 5 '$(dirname "$record")'/*.pdf | grep -q PDF"
  expect 2 "goes with --plots" "$bin" report "$record" --pdf
  mkdir part && cp "$experiments/../results/nvidia-h200/ha2009/figure8/paper.json" part && "$bin" report part --plots >/dev/null 2>&1
  ok "a plot's conditions leave out the other cases" perl -MJSON::PP -e 'local $/; open my $f, "<", "part/paper.json"; my $r = decode_json <$f>; open my $g, "<", "part/time.dat"; my $drawn = grep { /\S/ } split /\n/, <$g>; my $all = grep { $_->{status} eq "valid" } @{$r->{cases}}; my $meant = grep { $_->{status} eq "valid" && $_->{axes}{iterations} eq "100" && $_->{axes}{clip} eq "-1" } @{$r->{cases}}; exit !($drawn == $meant && $meant > 10 && $meant < $all)'
  mkdir printed && cp "$experiments/../results/nvidia-h200/demons2020/figure9/paper.json" printed && "$bin" report printed --plots >/dev/null 2>&1
  ok "what is printed of a program that is not run here is drawn, a bound is not" bash -c "grep -q '^1.319552 nan 0.347' printed/total.dat && ! grep -q 2200 printed/total.dat"
  ok "a plot is drawn" test -s "$(dirname "$record")/time.png" -a -s "$(dirname "$record")/time.svg"
fi

# the verb register as a program, judged by what lies in its files; its folder goes
sed 's/quick: \["64"\]/quick: ["24"]/' "$experiments/brunn2020/end-to-end.yaml" >verb.yaml
mkdir verb-tmp
expect 0 "1 valid, 0 invalid" env TMPDIR="$PWD/verb-tmp" "$bin" run verb.yaml --backend cpu --out out-verb
ok "no temporary files remain" test -z "$(find verb-tmp -name "regbench-*")" # MPI leaves its own

# compare: the same record is never slower; another experiment cannot be compared; nothing in common
expect 0 "compared: 0 FASTER, 0 SLOWER" "$bin" compare "$record" "$record" --delta 0.5
"$bin" run brunn2020/section3-2 --backend cpu --out out >/dev/null 2>&1
expect 7 "experiment differs" "$bin" compare "$record" "$(ls out/*/brunn2020/section3-2/quick.json)"
expect 2 "no published values" "$bin" compare "$record" published # CPU rows at 32^3: the paper prints none
expect 2 "not a positive number" "$bin" compare "$record" "$record" --delta x
sed 's/"id": "/"id": "other /' "$record" >others.json
expect 8 "0 compared.*3 LOST" "$bin" compare "$record" others.json
sed 's/"time": {/"then": {/' "$record" >timeless.json
expect 9 "0 compared" "$bin" compare timeless.json others.json
# slower at the median, too noisy to tell: more samples are advised, and --strict takes it for slower
perl -0pe 's/"median": ([0-9.e-]+)/sprintf("\"median\": %.9g", 2 * $1)/ge; s/"high": ([0-9.e-]+)/sprintf("\"high\": %.9g", 9 * $1)/ge; s/("time": \{\s*"value": )([0-9.e-]+)/$1.(2*$2)/ge; s/"low": ([0-9.e-]+)/sprintf("\"low\": %.9g", 0.5 * $1)/ge' "$record" >noisy.json
expect 0 "AMBIGUOUS with a median beyond delta: .*more samples" "$bin" compare "$record" noisy.json
expect 4 "AMBIGUOUS" "$bin" compare "$record" noisy.json --strict
expect 2 "two records" "$bin" compare "$record"
# every time ten times longer: a regression, exit 4
sed -E 's/"(median|low|high|limit)": ([0-9.e-]+)/"\1": 9\2/; s/("value": )([0-9.e-]+,)/\19\2/' "$record" >slow.json
expect 4 "SLOWER" "$bin" compare "$record" slow.json

# nothing ran: only CUDA cases where there is no GPU; data set absent
if ! "$bin" doctor | grep -q "^ok    GPU"; then
  expect 9 "missing|without CUDA|no CUDA-capable GPU" "$bin" probe cuda/copy
  expect 9 "nothing ran" "$bin" run brunn2020/table5 --backend cuda --where size=32 --out out-cuda
  expect 0 "unavailable here" "$bin" list variants
fi
expect 9 "data set nirep is absent" "$bin" run brunn2020/real-images --backend cpu --where data=nirep --out out-absent
expect 9 "data set nirep is absent" "$bin" run demons2020/figure5 --preset paper --backend cpu --where data=na02,size=104x122x104 --out out-absent
ok "so does one for which a phantom could stand in" grep -q '"reason": "data set nirep is absent' out-absent/*/demons2020/figure5/paper.json
ok "the record holds the skip and its reason" grep -q '"reason": "data set nirep is absent' out-absent/*/brunn2020/real-images/quick.json

# too large: predicted before anything is allocated, with the bytes
descriptor test huge 8000 warm >huge.yaml
expect 9 "needs [0-9]{12,} bytes" "$bin" run huge.yaml --out out-huge
descriptor test large 400 warm >large.yaml # 3.8 GB; limits of the process count like the machine's own
if bash -c "ulimit -v 2500000; '$bin' --version" >/dev/null 2>&1; then # the shadow memory of AddressSanitizer is larger than any such limit
  expect 9 "needs [0-9]{10,} bytes" bash -c "ulimit -v 2500000; exec '$bin' run large.yaml --out out-limited"
fi
expect 2 "not a positive number" "$bin" compare "$record" "$record" --delta inf
mkfifo g.pipe && mkdir pipes && mv g.pipe pipes/na01.nii.gz
expect 2 "is a pipe" timeout 10 "$bin" data import nirep pipes

# two runs into one folder: the second is told so
(flock -x 9 && sleep 3) 9>"$(dirname "$record")/.lock" &
sleep 0.5
expect 8 "another regbench run" "$bin" run brunn2020/table4 --backend cpu --where size=32 --out out
wait

# Ctrl-C keeps what was measured, --resume goes on
long=(run brunn2020/table4 --preset paper --backend cpu --out out-stop) # minutes, if nobody stopped it
interrupted "an interrupted run" "2/[0-9]* valid" "$bin" "${long[@]}"
expect 5 "Not complete: cases of the preset are missing" "$bin" report out-stop
expect 0 "2/2 kept" "$bin" "${long[@]}" --resume --where size=64,method=CPU-LAG,method=CPU-SPL
expect 0 "1/1 valid" "$bin" "${long[@]}" --where size=64,method=CPU-LAG
expect 5 "1 of the preset's [0-9]+ cases: the others were not asked for" "$bin" report out-stop
ok "an interrupted run's journal is not lost to the next one" grep -q CPU-SPL "$(find out-stop -name 'paper.journal.before')"

# disk full: nothing half-written remains, what was measured stays in the journal's folder
expect 8 "cannot write" limited 4 "$bin" run brunn2020/figure2 --backend cpu --out small
ok "no half-written record" test -z "$(find small -name '*.json' -o -name '*.partial')"
expect 8 "cannot write" limited 4 "$bin" check field --variant cpu/omp --junit junit.xml
ok "no half-written JUnit file" test ! -e junit.xml -a ! -e junit.xml.partial
expect 8 "cannot be written" bash -c "exec '$bin' list >/dev/full"
expect 8 "cannot (make|write)" "$bin" run brunn2020/table5 --backend cpu --where size=32 --out /proc/nowhere

# data: a set of one file in a home of its own, imported, verified, spoiled; a manifest that cannot be read is doctor's to tell
mkdir -p home/datasets home/experiments source/toy && echo toy >source/toy/toy.nii.gz
cat >home/datasets/toy.yaml <<TOY
name: toy
title: t
source: s
licence: l
citation: c
image: toy.nii.gz
files:
  - {name: toy.nii.gz, sha256: $(sha256sum <source/toy/toy.nii.gz | cut -d' ' -f1)}
TOY
toy() { env REGBENCH_HOME="$work/home" REGBENCH_DATA="$work/toys" "$bin" "$@"; }
expect 9 "toy +absent" toy data verify
expect 0 "toy: 1 of 1 files imported" toy data import toy source/toy
expect 0 "toy +verified" toy data verify
expect 0 "toy: 1 of 1 files imported" toy data import all source
expect 9 "no data set's folder" toy data import all home
expect 0 "ok +data +toy" toy doctor
echo spoiled >toys/toy/toy.nii.gz
expect 3 "sha256" toy data verify toy
echo 'name: [' >home/datasets/torn.yaml
expect 8 "BAD +data" toy doctor
expect 0 "colin27" "$bin" data list
expect 2 "nearest is nirep" "$bin" data import nirp .
expect 2 "no folder" "$bin" data import nirep ./missing
expect 2 "holds none" "$bin" data import nirep .
mkdir fake && echo x >fake/na01.nii.gz
expect 3 "another sha256" "$bin" data import nirep fake
expect 2 "cannot do" "$bin" data fetch nirep
expect 3 "absent" "$bin" data verify nirep

# an external program: absent it is a skip, failing a failure with its last words; installed, it registers
mkdir -p without failing
printf '#!/bin/sh\n[ "$1" = --version ] && echo "plastimatch version 0" && exit 0\necho "no such stage"; exit 3\n' >failing/plastimatch
chmod +x failing/plastimatch
for tool in sh cut sed; do ln -sf "$(command -v $tool)" without/; done
external=("$bin" run demons2020/figure9 --where "method=ITK (plastimatch)" --out out)
expect 9 "plastimatch.* is not installed" env PATH="$work/without" "${external[@]}"
expect 8 "failed \(exit 3\); it said: no such stage" env PATH="$work/failing:$PATH" "${external[@]}"
# programs that leave other files than a displacement that registers: they are judged by nothing else. $FIELD: what stands at every voxel i of n along the three axes, in mm to the left, posterior, superior
mkdir programs && cat >programs/plastimatch <<'STANDIN'
#!/bin/bash
case $1 in
  --version) echo "plastimatch version 0" ;;
  register)
    cp reference.nii.gz warped.nii.gz # the best of all claims
    [ -z "$FIELD" ] && exit 0
    gunzip -c template.nii.gz | perl -0777 -e 'my $t = <STDIN>; my $h = substr($t, 0, 352); my @d = unpack("s8", substr($h, 40, 16)); my ($nx, $ny, $nz) = @d[1 .. 3]; $nz += $ENV{PLANES} || 0;
      substr($h, 40, 16) = pack("s8", 5, $nx, $ny, $nz, 1, 3, 1, 1); substr($h, 68, 2) = pack("s", 1007); substr($h, 254, 2) = pack("s", 1);
      substr($h, 280, 48) = pack("f12", -1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0); my $n = $nx * $ny * $nz;
      my @u = map { my $i = $_; [eval $ENV{FIELD}] } 0 .. $n - 1; print $h; for my $c (0 .. 2) { print pack("f$n", map { $_->[$c] } @u) }' | gzip >field.nii.gz ;;
esac
STANDIN
chmod +x programs/plastimatch
program() { env PATH="$work/programs:$PATH" FIELD="$1" PLANES="${PLANES:-0}" "$bin" run demons2020/figure9 --where "method=ITK (plastimatch)" --out "$2"; }
expect 8 "wrote no displacement" program "" out-copy
expect 8 "one and the same displacement" program "(2, 0, 0)" out-constant
expect 8 "not finite" program '($i == 77 ? "nan" + 0 : 0, 0, $i / $n)' out-nan
PLANES=1 expect 8 "the reference's grid|no field of three" program '(0, 0, $i / $n)' out-grid
expect 3 "mismatch is .*limit 1" program '(9 * sin($i), 9 * cos($i), 0)' out-wrong
wrong=$(ls out-wrong/*/demons2020/figure9/quick.json)
expect 3 "invalid: mismatch" "$bin" report "$wrong"
external=("$bin" run demons2020/figure9 --where "method=ITK (plastimatch)" --out out)
if command -v plastimatch >/dev/null; then expect 0 "1 valid" "${external[@]}"; fi

# check, probe, doctor
expect 0 "cpu/omp +[0-9]+ passed +0 failed" "$bin" check derivative --variant cpu/omp --junit check.xml
ok "JUnit is XML with test cases" grep -q "<testcase classname=\"derivative.cpu/omp\"" check.xml
junit_is_sound() { # as many elements as its head counts, all names different
  perl -0777 -ne 'my ($t, $f, $s) = /tests="(\d+)" failures="(\d+)" errors="0" skipped="(\d+)"/ or exit 1; my %seen;
    while (/<testcase classname="([^"]*)" name="([^"]*)" time="[\d.]+"/g) { $seen{"$1 $2"}++ && exit 1; $t-- }
    my $skipped = () = /<skipped message="[^"]+"/g; my $failed = () = /<failure/g;
    exit !($t == 0 && $f == $failed && $s == $skipped && /property name="cpu" value="[^"]+"/)' "$1"
}
ok "its counts are those of its elements, its names differ" junit_is_sound check.xml
mkdir elsewhere && echo old >elsewhere/target.xml && ln -s elsewhere/target.xml linked.xml
expect 0 "" "$bin" check field --variant cpu/omp --largest 1 --junit linked.xml
ok "a link stays, and what it points at is written" bash -c "test -L linked.xml && grep -q testsuite elsewhere/target.xml"
expect 0 "skipped" "$bin" check field compose --junit two.xml --largest 10
ok "so with several families, and skips have a reason" junit_is_sound two.xml
expect 2 "nearest is interp" "$bin" check intrep
# an output that is no regular file is written to, not replaced by one
mkfifo junit.pipe && { cat junit.pipe >piped.xml & }
expect 0 "0 failed" "$bin" check force --variant cpu/omp --junit junit.pipe
wait
ok "a pipe stays a pipe and gets the text" test -p junit.pipe -a -s piped.xml
# inputs that never end, or are none
mkfifo in.pipe
for verb in report "report --rejudge" describe run; do expect 2 "in.pipe is a pipe|no experiment" timeout 10 "$bin" $verb in.pipe; done
mkfifo in.yaml && expect 2 "in.yaml is a pipe" timeout 10 "$bin" describe in.yaml
expect 2 "/dev/zero is a device" timeout 10 "$bin" report /dev/zero
mkdir folder.yaml && expect 2 "folder.yaml is a folder" "$bin" describe folder.yaml
# what leads out of the descriptor's folder is not read
ln -s /etc/passwd passwd.csv && sed 's/^published: .*/published: passwd.csv/' "$experiments/brunn2020/table4.yaml" >link.yaml
expect 2 "passwd.csv leads out of the descriptor's folder" "$bin" describe link.yaml
printf 'schema: 1\0\n' >nul.yaml && expect 2 "nul.yaml: byte 9 is NUL" "$bin" describe nul.yaml
# recorded GPU outputs: a value that drifts fails, and sealing does not paper over it; a loose limit is tightened
mkdir g && cp "$golden/force_cuda-grid.txt" g && recorded=("$bin" check force --variant cuda/grid --golden g)
expect 0 "0 failed" "${recorded[@]}"
sed -i '3s/^[^ ]*/0x1p+1/' g/force_cuda-grid.txt
expect 3 "golden force" "${recorded[@]}"
expect 3 "golden force" "${recorded[@]}" --seal
sed '2s/[^ ]*$/0.5/' "$golden/force_cuda-grid.txt" >g/force_cuda-grid.txt
expect 0 "0 failed" "${recorded[@]}" --seal
ok "sealing tightens a limit" awk 'NR == 2 { exit !($4 > 0 && $4 < 1e-3) }' g/force_cuda-grid.txt
sed 's/^case energy/case power/' "$golden/force_cuda-grid.txt" >g/force_cuda-grid.txt
expect 3 "'energy' is in no recording" "${recorded[@]}"
# one that other code made is compared, and says so
sed 's/by code [0-9a-f]*/by code 0123456789abcdef/' "$golden/force_cuda-grid.txt" >g/force_cuda-grid.txt
expect 0 "0 failed" "${recorded[@]}"
if ! "$bin" doctor | grep -q "^ok    GPU"; then expect 0 "recorded at [0-9a-f]{12}: the family's code has changed since" "${recorded[@]}"; fi
expect 3 "golden: recorded at .*code has changed since" "${recorded[@]}" --strict
expect 0 "1 skipped|2 skipped" "${recorded[@]}"
expect 2 "no variant" "$bin" check --variant cpu/best
expect 2 "whole number above 0" "$bin" check gausssum --largest none
expect 2 "1 to 10000" "$bin" probe cpu/copy --samples 3x
expect 2 "more than 32 names" "$bin" probe $(yes cpu/copy | head -33)
expect 2 "more than 16 families" "$bin" check $(yes force | head -17)
for count in 1e3 40.7 0 -1 007; do # a number that is counted with
  sed -E "s/name: points,.*/name: points, quick: [\"$count\"]}/" "$experiments/shooting2018/scaling.yaml" >count.yaml
  expect 2 "'$count' is no value of kind [a-z-]+: a whole number from 1 on" "$bin" describe count.yaml
done
sed -E 's/name: size, .*/name: size, quick: [" 8"]}/' "$experiments/brunn2020/table4.yaml" >size.yaml
expect 2 "axis size: ' 8'" "$bin" describe size.yaml
ok "describe tells nothing before it fails" test -z "$("$bin" describe size.yaml 2>/dev/null)"
few=$("$bin" check gausssum --variant cpu/omp --largest 31 | tail -1)
all=$("$bin" check gausssum --variant cpu/omp | tail -1)
ok "check leaves large sets out: ${few%% *} of ${all%% *}" test "${few%% *}" -gt 0 -a "${few%% *}" -lt "${all%% *}"
expect 0 "cpu/copy +[0-9.]+ [MGT]B/s" "$bin" probe cpu/copy --samples 3
expect 2 "no variant" "$bin" probe cpu/cpoy
expect 0 "probe.json" "$bin" probe cpu/copy --samples 3 --out probed
ok "a record of roofs names machine, commit and values" perl -MJSON::PP -0ne 'my $r = decode_json $_; exit !($r->{schema} eq "regbench-probe" && $r->{machine}{slug} && $r->{regbench}{commit} && $r->{roofs}[0]{value} > 1e8 && $r->{roofs}[0]{unit} eq "B/s")' probed/*/probe.json
expect 9 "no records" "$bin" report probed
expect 8 "cannot make folder" "$bin" probe cpu/copy --samples 3 --out /dev/null/x
expect 0 "regbench" "$bin" doctor

# scripts/record: a program of ours in regbench's place tells what it is asked for
record=$experiments/../scripts/record
cat >stand-in <<'STANDIN'
#!/bin/bash
if [ "$1" = report ]; then
  [ ! -e changed ] || echo STALE
  exit
fi
[ "$1" != doctor ] || exit 0
if [ "$1" = probe ]; then
  echo "$@" >>probed-for
  mkdir -p recorded/host && echo '{}' >recorded/host/probe.json
  exit
fi
echo "$@" >>asked
mkdir -p "recorded/host/$2" && printf '{\n "complete": true,\n}\n' >"recorded/host/$2/paper.json"
STANDIN
chmod +x stand-in
expect 0 "shooting2018/table1: exit 0" "$record" --program ./stand-in --out recorded shooting2018/table1
ok "record leaves the one thread's half hour out" grep -q -- "--where method=CPU all cores,.*method=ours GPU" asked
expect 0 "shooting2018/table1: there$" "$record" --program ./stand-in --out recorded shooting2018/table1
touch changed
expect 8 "made by other code; remove recorded/host/shooting2018/table1/paper.json" "$record" --program ./stand-in --out recorded shooting2018/table1
ok "record leaves alone what other code made" test "$(wc -l <asked)" = 1
rm changed
expect 0 "demons2020/table1: exit 0" "$record" --program ./stand-in --out recorded
ok "record measures the machine's roofs, once" test "$(cat probed-for)" = "probe --out recorded"
ok "record makes every experiment" test "$(wc -l <asked)" = "$(find "$experiments" -name '*.yaml' | wc -l)"
ok "record ends with an archive whose digests hold" bash -c "tar tzf recorded/records.tar.gz | grep -q shooting2018/table1/paper.json && cd recorded && tar xzOf records.tar.gz SHA256SUMS | sha256sum -c --quiet"
expect 2 "whole number" "$record" --seconds soon
expect 2 "no program" "$record" --program ./absent

# installed, the program finds what it reads, and the families' headers compile by themselves
if [ -f "$(dirname "$bin")/cmake_install.cmake" ] && command -v cmake >/dev/null; then
  cmake --install "$(dirname "$bin")" --prefix "$PWD/installed" >install.log 2>&1
  ok "everything is installed" test -x installed/bin/regbench -a -f installed/share/regbench/experiments/brunn2020/table4.yaml -a ! -e installed/share/regbench/experiments/runner
  (cd / && "$OLDPWD/installed/bin/regbench" list experiments) >listed.txt 2>&1
  ok "the installed program lists the experiments" grep -q "brunn2020/table4" listed.txt
  ok "and their data sets" sh -c 'installed/bin/regbench data list | grep -q nirep'
  for header in installed/include/regbench/kernels/*/*.h; do
    echo "#include \"${header#installed/include/regbench/}\"" | ${CC:-cc} -std=gnu11 -fsyntax-only -Iinstalled/include/regbench -x c - 2>>headers.log || echo "$header" >>broken.txt
  done
  ok "every installed header compiles by itself" test ! -e broken.txt
fi

# completion: verbs, a method's options, a family's variants
complete_as() { # WORD...: what the last one can become
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _regbench; echo "${COMPREPLY[@]}"' - "$experiments/../scripts/completion/regbench" "$bin" "$@"
}
ok "a verb is completed" test "$(complete_as reg)" = register
ok "a method's option is" test "$(complete_as register demons --sigma-f)" = --sigma-fluid
ok "and its variants" test "$(complete_as register demons --variant gpu-fus)" = gpu-fused
ok "and a family" test "$(complete_as check helm)" = helmholtz
# the page of all results: a matrix, tables, figures, and nothing of a record is markup
expect 0 "" bash -c '"$0" report "$1" --html page.html || [ $? = 5 ]' "$bin" "$experiments/../results/intel-xeon-processor-2-cores/ha2009"
ok "the page has a matrix, figures and verdicts" grep -q 'class="bar"' page.html
ok "it names every record once" test "$(grep -c '<section id=' page.html)" = "$(find "$experiments/../results/intel-xeon-processor-2-cores/ha2009" -name '*.json' | wc -l)"
ok "it asks for nothing elsewhere" test "$(grep -cE '(src|href)="?(http|//)' page.html)" = 0
ok "figures are in it" grep -q '<figure><svg' page.html
expect 2 "goes alone" "$bin" report --html page.html --summary
finish

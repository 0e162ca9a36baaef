#!/bin/bash
# The program as a user meets it: every verb, every exit code, bad input, interruption, two runs at once.
# usage: test_cli.sh PATH_TO_REGBENCH
set -u
bin=$(realpath "$1")
golden=$(realpath "$(dirname "$0")/../golden")
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

# help, version, unknown words
expect 0 "usage: regbench VERB" "$bin" --help
expect 2 "usage" "$bin"
expect 2 "nearest is report" "$bin" reprot
expect 0 "regbench [0-9]" "$bin" --version
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

# a run, its record, its report
expect 0 "valid.*CPU-LAG" "$bin" run brunn2020/table4 --backend cpu --where size=32 --out out
record=$(ls out/*/brunn2020/table4/quick.json)
ok "a record is written" test -s "$record"
ok "no partial files remain" test -z "$(find out -name '*.partial')"
expect 0 "Table 4" "$bin" report "$record"
expect 0 "^\| size" "$bin" report "$record" --format md
expect 0 "^size,method" "$bin" report "$record" --format csv
expect 0 "begin.tabular" "$bin" report "$record" --format latex
expect 2 "unknown format" "$bin" report "$record" --format html
# judged anew: the same descriptor changes nothing; a record of other measurements is refused and stays as it was
cp "$record" anew.json
expect 0 "Table 4" "$bin" report anew.json --rejudge
ok "an unchanged descriptor leaves the record as it was" cmp -s "$record" anew.json
sed 's/variant: cpu\/omp, basis: lagrange/variant: cpu\/naive, basis: lagrange/' "$record" >anew.json && cp anew.json before.json
expect 2 "measured by another method" "$bin" report anew.json --rejudge
ok "and the record is kept" cmp -s anew.json before.json
sed 's/Table 4: error and time/Table 4: time and error/' "$record" >anew.json
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
if command -v gnuplot >/dev/null; then
  expect 0 "plots in" "$bin" report "$record" --plots
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
expect 2 "two records" "$bin" compare "$record"
# every time ten times longer: a regression, exit 4
sed -E 's/"(median|low|high)": ([0-9.e-]+)/"\1": 9\2/; s/("value": )([0-9.e-]+,)/\19\2/' "$record" >slow.json
expect 4 "SLOWER" "$bin" compare "$record" slow.json

# nothing ran: only CUDA cases where there is no GPU; data set absent
if ! "$bin" doctor | grep -q "^ok    GPU"; then
  expect 9 "nothing ran" "$bin" run brunn2020/table5 --backend cuda --where size=32 --out out-cuda
  expect 0 "unavailable here" "$bin" list variants
fi
expect 9 "data set nirep is absent" "$bin" run brunn2020/real-images --backend cpu --where data=nirep --out out-absent

# too large: predicted before anything is allocated, with the bytes
cat >huge.yaml <<'YAML'
schema: 1
paper: test
name: huge
title: t
source: s
cache: warm
methods:
  - {label: A, kind: interp, variant: cpu/omp, basis: linear}
axes:
  - {name: size, quick: ["8000"]}
columns:
  - {name: e, metric: error_rms, title: e, class: numeric}
YAML
expect 9 "needs [0-9]{12,} bytes" "$bin" run huge.yaml --out out-huge

# two runs into one folder: the second is told so
(flock -x 9 && sleep 3) 9>"$(dirname "$record")/.lock" &
sleep 0.5
expect 8 "another regbench run" "$bin" run brunn2020/table4 --backend cpu --where size=32 --out out
wait

# Ctrl-C keeps what was measured, --resume goes on
long=(run brunn2020/table4 --preset paper --backend cpu --out out-stop) # minutes, if nobody stopped it
"$bin" "${long[@]}" >log 2>&1 &
pid=$!
for _ in $(seq 1200); do grep -q "2/[0-9]* valid" log && break; sleep 0.05; done
kill -INT $pid
wait $pid
code=$?
ok "an interrupted run exits 130: $code" test $code = 130
expect 0 "Not complete: cases of the preset are missing" "$bin" report out-stop
expect 0 "2/2 kept" "$bin" "${long[@]}" --resume --where size=64,method=CPU-LAG,method=CPU-SPL

# disk full: nothing half-written remains, what was measured stays in the journal's folder. A limit on the size of files stands for the disk.
limited() { # KiB COMMAND...
  (trap '' XFSZ && ulimit -f "$1" && shift && exec "$@")
}
expect 8 "cannot write" limited 4 "$bin" run brunn2020/figure2 --backend cpu --out small
ok "no half-written record" test -z "$(find small -name '*.json' -o -name '*.partial')"
expect 8 "cannot write" limited 4 "$bin" check field --variant cpu/omp --junit junit.xml
ok "no half-written JUnit file" test ! -e junit.xml -a ! -e junit.xml.partial
expect 8 "cannot be written" bash -c "exec '$bin' list >/dev/full"
expect 8 "cannot (make|write)" "$bin" run brunn2020/table5 --backend cpu --where size=32 --out /proc/nowhere

# data
expect 0 "colin27" "$bin" data list
expect 2 "nearest is nirep" "$bin" data import nirp .
expect 2 "no folder" "$bin" data import nirep ./missing
expect 2 "holds none" "$bin" data import nirep .
mkdir fake && echo x >fake/na01.nii.gz
expect 3 "another sha256" "$bin" data import nirep fake
expect 2 "cannot do" "$bin" data fetch nirep
expect 3 "absent" "$bin" data verify nirep

# register: usage, bad images, no convergence, interruption, results
expect 2 "which method" "$bin" register
expect 0 "demons +two images" "$bin" register --help
for method in claire demons landmarks; do expect 0 "usage: regbench register $method" "$bin" register $method --help; done
expect 2 "no method 'affine'" "$bin" register affine
expect 2 "are needed" "$bin" register claire --out r
expect 2 "go together" "$bin" register claire --template a --reference b --template-labels l --out r
expect 2 "not a positive number" "$bin" register claire --template a --reference b --beta -1 --out r
expect 2 "from 4 to 4096" "$bin" register claire --template a --reference b --size 3 --out r
expect 2 "unknown regularisation" "$bin" register claire --template a --reference b --regularisation h7 --out r
expect 2 "unknown argument" "$bin" register claire --template a --reference b --fast --out r
expect 2 "no file a.nii" "$bin" register claire --template a.nii --reference b.nii --variant cpu-fd8-linear --out r
# balls of one value on nothing: NIfTI, 24^3, one byte a voxel
ball() { # FILE CENTRE VALUE
  perl -e 'my ($f, $c, $v) = @ARGV; my $n = 24; my $h = "\0" x 352;
    substr($h, 0, 4) = pack("l", 348); substr($h, 40, 16) = pack("s8", 3, $n, $n, $n, 1, 1, 1, 1); substr($h, 70, 4) = pack("s2", 2, 8);
    substr($h, 76, 32) = pack("f8", (1) x 8); substr($h, 108, 4) = pack("f", 352); substr($h, 344, 4) = "n+1\0";
    open F, ">", $f; print F $h;
    for my $z (0 .. 23) { for my $y (0 .. 23) { for my $x (0 .. 23) { print F chr(($x - $c) ** 2 + ($y - 12) ** 2 + ($z - 12) ** 2 < 36 ? $v : 0) } } }' "$@"
}
ball one.nii 10 1
ball two.nii 13 2
ball three.nii 13 1
expect 6 "nothing moved" "$bin" register demons --template one.nii --reference three.nii --variant cpu --out still
ok "and says so in metrics.json" grep -q '"end": "nothing moved"' still/metrics.json
for method in claire demons; do
  case $method in claire) v=cpu-fd8-linear ;; *) v=cpu ;; esac
  expect 2 "no label in common" "$bin" register $method --template one.nii --reference three.nii --template-labels one.nii --reference-labels two.nii --variant $v --out rl
  touch plain
  expect 2 "plain is a file" "$bin" register $method --template one.nii --reference three.nii --variant $v --out plain
done
expect 0 "mismatch" "$bin" register claire --template one.nii --reference three.nii --template-labels one.nii --reference-labels three.nii --variant cpu-fd8-linear --out rl
brain=/usr/share/mricron/templates/ch2bet.nii.gz head=/usr/share/mricron/templates/ch2.nii.gz labels=/usr/share/mricron/templates/aal.nii.gz
if [ -r $brain ] && [ -r $head ] && [ -r $labels ]; then
  solve=("$bin" register claire --template $brain --reference $head --variant cpu-fd8-linear)
  expect 0 "mismatch .*Dice" "${solve[@]}" --template-labels $labels --reference-labels $labels --size 20,24,18 --out r
  for f in warped velocity displacement detF labels; do ok "register writes $f" test -s r/$f.nii.gz; done
  foretold() { # bytes on the backend, results and labels included, stay below what was predicted (but for a few sums), and above half of it
    awk -F'[:,]' '/"memory_predicted_bytes"/ { p = $2 } /"memory_peak_with_results_bytes"/ { m = $2 } END { exit !(m > 0 && m <= p + 65536 && p <= 2 * m) }' "$1"
  }
  ok "register claire foretells its memory" foretold r/metrics.json
  ok "metrics hold the counts" grep -q '"hessian_products"' r/metrics.json
  expect 6 "iteration limit; the best iterate is in r6" "${solve[@]}" --size 16 --no-continuation --newton 1 --tolerance 1e-6 --out r6
  ok "the best iterate is written" test -s r6/velocity.nii.gz
  expect 2 "no variant" "${solve[@]}" --variant cpu-fd8-quartic --size 16 --out r
  expect 8 "needs about .* GB of cpu memory" "${solve[@]}" --size 4000 --out r
  expect 8 "cannot make /proc" "${solve[@]}" --size 16 --out /proc/nowhere
  expect 2 "unknown resampling" "${solve[@]}" --resample cubic --out r
  gunzip -c $brain >whole.nii
  { head -c 352 whole.nii; head -c $(($(stat -c %s whole.nii) - 352)) /dev/zero; } >flat.nii
  expect 2 "template image is constant" "$bin" register claire --template flat.nii --reference $brain --variant cpu-fd8-linear --size 16 --out r
  expect 2 "reference image is constant" "$bin" register demons --template $brain --reference flat.nii --variant cpu --size 16 --out r
  # 8x8x8 values of float32, in one file the first is not a number
  { head -c 352 whole.nii; printf '\0\0\300\177'; head -c 2044 /dev/zero; } >nan.nii
  { head -c 352 whole.nii; head -c 2048 /dev/zero; } >small.nii
  for field in '42:\010\0\010\0\010\0' '70:\020\0\040\0'; do
    for file in nan.nii small.nii; do
      # shellcheck disable=SC2059
      printf "${field#*:}" | dd of=$file bs=1 seek="${field%%:*}" conv=notrunc status=none
    done
  done
  for method in "claire --variant cpu-fd8-linear" "demons --variant cpu"; do
    # shellcheck disable=SC2086
    expect 2 "NaN" "$bin" register $method --template nan.nii --reference nan.nii --out r
    # shellcheck disable=SC2086
    expect 2 "differ in size" "$bin" register $method --template $brain --reference $head --template-labels small.nii --reference-labels $labels --out r
  done
  head -c 100000 whole.nii >cut.nii
  expect 2 "truncated" "$bin" register claire --template cut.nii --reference $brain --variant cpu-fd8-linear --size 16 --out r
  expect 0 "Linear .*solve converged" "${solve[@]}" --size 12 --petsc "-tao_nls_ksp_converged_reason" --out r
  "${solve[@]}" --size 80 --steps 8 --out r130 >log 2>&1 &
  child=$!
  for _ in $(seq 600); do
    grep -q "^ *1.0e+00 *1 " log && break
    kill -0 $child 2>/dev/null || break
    sleep 0.05
  done
  kill -INT $child 2>/dev/null
  wait $child
  code=$?
  ok "an interrupted solve exits 130: $code" test $code = 130
  ok "and leaves its iterate" test -s r130/velocity.nii.gz -a -s r130/metrics.json
  other=/usr/share/mricron/templates/JHU-WhiteMatter-labels-2mm.nii.gz
  if [ -r $other ]; then expect 2 "bring both to one grid with --size" "$bin" register claire --template $brain --reference $other --variant cpu-fd8-linear --out r; fi
  # the same brain with voxels said to be twice as long along x
  cp whole.nii wide.nii
  for at in 80 280; do printf '\0\0\0\100' | dd of=wide.nii bs=1 seek=$at conv=notrunc status=none; done
  for method in "claire --variant cpu-fd8-linear" "demons --variant cpu"; do
    # shellcheck disable=SC2086
    expect 2 "ignore-geometry" "$bin" register $method --template wide.nii --reference $brain --size 12 --out rg
    # shellcheck disable=SC2086
    expect 0 "mismatch" "$bin" register $method --template wide.nii --reference $brain --size 12 --ignore-geometry --out rg
  done

  # register demons
  solve=("$bin" register demons --template $brain --reference $head --variant cpu)
  expect 0 "mismatch .*Dice" "${solve[@]}" --template-labels $labels --reference-labels $labels --size 20,24,18 --levels 2 --out d
  for f in warped velocity displacement detF labels; do ok "register demons writes $f" test -s d/$f.nii.gz; done
  ok "register demons foretells its memory" foretold d/metrics.json
  ok "metrics hold the energies" grep -q '"mean_squared_difference"' d/metrics.json
  expect 6 "iterations used up; the last iterate is in d6" "${solve[@]}" --size 16 --iterations 3 --stop 1e-9 --out d6
  expect 0 "3 iterations" "${solve[@]}" --size 16 --iterations 3 --stop 0 --out d6
  expect 2 "unknown update" "${solve[@]}" --size 16 --update plus --out d
  expect 0 "3 iterations" "${solve[@]}" --size 16 --iterations 3 --stop 0 --sigma-fluid 40 --out d
  expect 2 "sigma_fluid is 2e\+06 voxels" "${solve[@]}" --size 16 --sigma-fluid 2e6 --out d
  expect 2 "sigma-x .* not a positive number" "${solve[@]}" --sigma-x 0 --out d
  expect 2 "too few to halve" "${solve[@]}" --size 16 --levels 5 --out d
  expect 2 "truncated" "$bin" register demons --template cut.nii --reference $brain --variant cpu --size 16 --out d
  expect 8 "needs about .* GB of cpu memory" "${solve[@]}" --size 4000 --out d
  "${solve[@]}" --size 160 --stop 0 --iterations 1000 --out d130 >log 2>&1 &
  child=$!
  for _ in $(seq 600); do
    grep -q "^ *1 .*voxels" log && break
    kill -0 $child 2>/dev/null || break
    sleep 0.05
  done
  kill -INT $child 2>/dev/null
  wait $child
  code=$?
  ok "an interrupted demons solve exits 130: $code" test $code = 130
  ok "and leaves its iterate" test -s d130/velocity.nii.gz -a -s d130/metrics.json
fi

# register landmarks
seq 1 30 | awk '{printf "%g,%g,%g\n", 3*sin($1), 3*cos(1.7*$1), 0.2*$1}' >a.csv
seq 1 30 | awk '{printf "%g,%g,%g\n", 3*sin($1)+0.2, 3*cos(1.7*$1)+0.1*sin($1), 0.21*$1}' >b.csv
shoot=("$bin" register landmarks --template a.csv --steps 6 --iterations 20 --lambda 100)
expect 0 "usage: regbench register landmarks" "$bin" register landmarks --help
expect 0 "evaluations used up|converged" "${shoot[@]}" --reference b.csv --apply a.csv --out l
for f in matched.csv momentum.csv trajectories.csv applied.csv metrics.json; do ok "register landmarks writes $f" test -s l/$f; done
ok "register landmarks foretells its memory" awk -F'[:,]' '/"memory_predicted_bytes"/ { p = $2 } /"memory_peak_bytes"/ { m = $2 } END { exit !(m > 0 && m <= p && p <= 4 * m) }' l/metrics.json
worst=$(paste -d, l/matched.csv l/applied.csv | awk -F, '{for (c = 1; c <= 3; c++) {d = $c - $(c + 3); if (d < 0) d = -d; if (d > w) w = d}} END {print (NR == 30 && w < 1e-4) ? "same" : w}')
ok "the landmarks themselves, carried along, are the matched ones: $worst" test "$worst" = same
expect 0 "evaluations used up|converged" "${shoot[@]}" --reference b.csv --grid 1.5 --out lg
expect 2 "is a file" "${shoot[@]}" --reference b.csv --out b.csv
expect 6 "Inf or NaN|not finite" "${shoot[@]}" --reference b.csv --sigma 1e-30 --out ln
mkdir lf && ln -s /dev/full lf/trajectories.csv.partial # MPI's own files would not fit a limit
expect 8 "cannot write" "${shoot[@]}" --reference b.csv --out lf
ok "no half-written trajectories" test ! -e lf/trajectories.csv -a ! -L lf/trajectories.csv.partial
for f in velocity displacement; do ok "--grid writes $f.nii.gz" test -s lg/$f.nii.gz; done
expect 2 "too fine" "${shoot[@]}" --reference b.csv --grid 0.001 --out lg
head -29 b.csv >short.csv
expect 2 "30 points and short.csv 29" "${shoot[@]}" --reference short.csv --out l
cut -d, -f1,2 b.csv >flat.csv
expect 2 "a.csv is 3D and flat.csv 2D" "${shoot[@]}" --reference flat.csv --out l
{ head -29 b.csv; head -1 b.csv; } >twice.csv
expect 2 "points 1 and 30 coincide" "${shoot[@]}" --reference twice.csv --out l
sed '3s/.*/nan,1,2/' b.csv >nan.csv
expect 2 "NaN" "${shoot[@]}" --reference nan.csv --out l
: >none.csv
expect 2 "is empty" "${shoot[@]}" --reference none.csv --out l
expect 2 "not a positive number" "${shoot[@]}" --reference b.csv --sigma 0 --out l
expect 6 "line search failed; the best iterate is in l6" "${shoot[@]}" --reference b.csv --petsc "-tao_ls_max_funcs 0" --out l6
ok "the best iterate is written" test -s l6/matched.csv -a -s l6/metrics.json
expect 2 "no variant" "${shoot[@]}" --reference b.csv --variant cpu/best --out l

# an external program: absent it is a skip, failing a failure with its last words; installed, it registers
mkdir -p without failing
printf '#!/bin/sh\n[ "$1" = --version ] && echo "plastimatch version 0" && exit 0\necho "no such stage"; exit 3\n' >failing/plastimatch
chmod +x failing/plastimatch
for tool in sh cut sed; do ln -sf "$(command -v $tool)" without/; done
external=("$bin" run demons2020/figure9 --where "method=ITK (plastimatch)" --out out)
expect 9 "plastimatch is not installed" env PATH="$work/without" "${external[@]}"
expect 8 "failed \(exit 3\); it said: no such stage" env PATH="$work/failing:$PATH" "${external[@]}"
if command -v plastimatch >/dev/null; then expect 0 "1 valid" "${external[@]}"; fi

# check, probe, doctor
expect 0 "cpu/omp +[0-9]+ passed +0 failed" "$bin" check derivative --variant cpu/omp --junit check.xml
ok "JUnit is XML with test cases" grep -q "<testcase classname=\"derivative.cpu/omp\"" check.xml
expect 2 "nearest is interp" "$bin" check intrep
# recorded GPU outputs: a value that drifts fails, and sealing does not paper over it; a loose limit is tightened
mkdir g && cp "$golden/force_cuda-grid.txt" g && recorded=("$bin" check force --variant cuda/grid --golden g)
expect 0 "0 failed" "${recorded[@]}"
sed -i '2s/^[^ ]*/0x1p+1/' g/force_cuda-grid.txt
expect 3 "golden force" "${recorded[@]}"
expect 3 "golden force" "${recorded[@]}" --seal
sed '1s/[^ ]*$/0.5/' "$golden/force_cuda-grid.txt" >g/force_cuda-grid.txt
expect 0 "0 failed" "${recorded[@]}" --seal
ok "sealing tightens a limit" awk 'NR == 1 { exit !($4 > 0 && $4 < 1e-3) }' g/force_cuda-grid.txt
expect 2 "no variant" "$bin" check --variant cpu/best
expect 2 "whole number above 0" "$bin" check gausssum --largest none
few=$("$bin" check gausssum --variant cpu/omp --largest 31 | tail -1)
all=$("$bin" check gausssum --variant cpu/omp | tail -1)
ok "check leaves large sets out: ${few%% *} of ${all%% *}" test "${few%% *}" -gt 0 -a "${few%% *}" -lt "${all%% *}"
expect 0 "cpu/copy +[0-9.]+ [MGT]B/s" "$bin" probe cpu/copy --samples 3
expect 2 "no variant" "$bin" probe cpu/cpoy
expect 0 "regbench" "$bin" doctor

# scripts/record: a program of ours in regbench's place tells what it is asked for
record=$experiments/../scripts/record
cat >stand-in <<'STANDIN'
#!/bin/bash
if [ "$1" = report ]; then
  [ ! -e changed ] || echo STALE
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
ok "record makes every experiment" test "$(wc -l <asked)" = "$(find "$experiments" -name '*.yaml' | wc -l)"
expect 2 "whole number" "$record" --seconds soon
expect 2 "no program" "$record" --program ./absent

echo "$passed passed, $failed failed"
test $failed = 0

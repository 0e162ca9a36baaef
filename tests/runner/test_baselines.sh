#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `run baselines`: lists of pairs, methods, resumption, tables and plots.
# usage: test_baselines.sh PATH_TO_REGBENCH
# shellcheck source=tests/runner/expect.sh
. "$(dirname "$0")/expect.sh"
ball() { # FILE CENTRE [LABEL]: smooth, or a label
  perl -e 'my ($f, $c, $l) = @ARGV; my $n = 20; my $h = "\0" x 352;
    substr($h, 0, 4) = pack("l", 348); substr($h, 40, 16) = pack("s8", 3, $n, $n, $n, 1, 1, 1, 1); substr($h, 70, 4) = pack("s2", 2, 8);
    substr($h, 76, 32) = pack("f8", (1) x 8); substr($h, 108, 4) = pack("f", 352); substr($h, 252, 2) = pack("s", 1); substr($h, 344, 4) = "n+1\0";
    open F, ">", $f; print F $h; my $e = $n - 1;
    for my $z (0 .. $e) { for my $y (0 .. $e) { for my $x (0 .. $e) { my $d = ($x - $c) ** 2 + ($y - 10) ** 2 + ($z - 10) ** 2; print F chr($l ? ($d < 30 ? $l : 0) : 200 * exp(-$d / 30)) } } }' "$@"
}
mkdir imagesTr labelsTr
for i in 8 9 10 11; do ball imagesTr/b$i.nii $i; ball labelsTr/b$i.nii $i 1; done
printf '%s,10,10\n' 8 10 >p8.csv
printf '%s,10,10\n' 10 12 >p10.csv
{
  printf '\xEF\xBB\xBFfixed,moving,fixed_labels,moving_labels,fixed_points,moving_points,name\r\n'
  printf '"imagesTr/b10.nii", imagesTr/b8.nii ,labelsTr/b10.nii,labelsTr/b8.nii,p10.csv,p8.csv,"a ""b"", c"\r\n'
  printf 'imagesTr/b11.nii,imagesTr/b9.nii,labelsTr/b11.nii,labelsTr/b9.nii,,,\r\n\r\n'
} >pairs.csv
methods='demons:--variant cpu --iterations 20 --sigma-fluid 1 --sigma-diffusion 1 --stop 0,demons:--variant cpu --iterations 2 --stop 0'
base=("$bin" run baselines --pairs pairs.csv --methods "$methods" --out o)
expect 0 "usage: regbench run baselines" "$bin" run baselines --help
expect 0 "demons +2 .*0\." "${base[@]}"
ok "a folder a pair and method, names without signs" test -s o/a--b---c/demons/metrics.json -a -s o/b9-to-b11/demons-2/displacement.nii.gz
for f in table.txt table.md table.tex results.csv references.bib; do ok "$f is there" test -s o/$f; done
if command -v gnuplot >/dev/null; then ok "so are plots" test -s o/dice.svg -a -s o/dice-over-time.png; fi
ok "every value has its line" test "$(grep -c ',dice,1,' o/results.csv)" = 4 -a "$(grep -c ',tre,mm,' o/results.csv)" = 2
ok "differences are paired" grep -qE '^Dice +demons-2 +-0\.[0-9]+ +0 of 2 +0\.5$' o/table.txt
ok "points came nearer" awk -F, '$3 == "tre" && $2 == "\"demons\"" { exit !($5 < 2) }' o/results.csv
# what is there is kept; another command is run
expect 0 "4/4 .*kept" "${base[@]}"
expect 0 "1/4 .*done" "${base[@]}" --size 18
expect 0 "Wilcoxon" "$bin" report o
expect 2 "no method 'deamons'" "$bin" run baselines --pairs pairs.csv --methods deamons
expect 2 "names the list" "$bin" run baselines --methods demons
expect 2 "names them" "$bin" run baselines --pairs pairs.csv
# one that fails does not end the others
printf 'name: bad\ntitle: t\nversion: echo 1\ninstall: i\nconvention: itk\ncitation: c\nlicence: l\ncommand: |\n  exit 3 # {fixed} {moving} {out_field}\n' >bad.yaml
expect 8 "2/4 .* demons: done" "$bin" run baselines --pairs pairs.csv --methods "bad.yaml,demons:--variant cpu --iterations 3 --stop 0" --out o2
expect 9 "bad failed \(exit 3\)" "$bin" run baselines --pairs pairs.csv --methods bad.yaml --out o3
expect 9 "more than 63" "$bin" run baselines --pairs pairs.csv --methods "demons:$(printf -- '--iterations 3 %.0s' $(seq 40))" --out o3
# Learn2Reg
printf '{"registration_val": [{"fixed": "./imagesTr/b10.nii", "moving": "./imagesTr/b9.nii"}]}' >dataset.json
expect 0 "before +1 +0\." "$bin" run baselines --pairs dataset.json --methods "demons:--variant cpu --iterations 3 --stop 0" --out o4
mkdir keypointsTr
printf '10,10,10\n' >keypointsTr/b10.csv
printf '9,10,10\n9,11,10\n' >keypointsTr/b9.csv
expect 9 "correspond one to one" "$bin" run baselines --pairs dataset.json --methods "demons:--variant cpu --iterations 3 --stop 0" --out o4
printf '9,10,10\n' >keypointsTr/b9.csv
expect 0 "TRE" "$bin" run baselines --pairs dataset.json --methods "demons:--variant cpu --iterations 3 --stop 0" --out o4
ok "keypoints are voxels" grep -qE '"before": \{ ?"mean": 1\.0,' <(tr -d '\n' <o4/b9-to-b10/demons/metrics.json | sed 's/  */ /g')
# lists that are none
list() { # PATTERN TEXT
  printf "$2" >bad.csv
  expect 2 "$1" "$bin" run baselines --pairs bad.csv --methods demons --out o5
}
list "first row must name" 'fixed,name\n'
list "unknown column 'target'" 'target,moving\n'
list "row 3: no file gone.nii \(moving\)" 'fixed,moving\nimagesTr/b8.nii,imagesTr/b9.nii\nimagesTr/b8.nii,gone.nii\n'
list "row 2: fixed and moving" 'fixed,moving\nimagesTr/b8.nii\n'
list "more values than columns" 'fixed,moving\nimagesTr/b8.nii,imagesTr/b9.nii,imagesTr/b9.nii\n'
list "both called b9-to-b8" 'fixed,moving\nimagesTr/b8.nii,imagesTr/b9.nii\nimagesTr/b8.nii,imagesTr/b9.nii\n'
list "points of both" 'fixed,moving,fixed_points\nimagesTr/b8.nii,imagesTr/b9.nii,p8.csv\n'
list "lists no pair" 'fixed,moving\n'
expect 2 "no file none.csv" "$bin" run baselines --pairs none.csv --methods demons
printf '{' >broken.json
expect 2 "broken.json: line 1" "$bin" run baselines --pairs broken.json --methods demons
printf '{"name": "x"}' >empty.json
expect 2 "registration_val" "$bin" run baselines --pairs empty.json --methods demons
mkfifo pipe.csv
expect 2 "is a pipe" "$bin" run baselines --pairs pipe.csv --methods demons
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The verb `register`: usage, bad images and points, no convergence, interruption, results.
# usage: test_register.sh PATH_TO_REGBENCH
# shellcheck source=tests/runner/expect.sh
. "$(dirname "$0")/expect.sh"

# usage
expect 2 "which method" "$bin" register
expect 0 "demons +.*demons2020" "$bin" register --help
for method in claire demons landmarks; do expect 0 "usage: regbench register $method" "$bin" register $method --help; done
expect 2 "no method 'affine'" "$bin" register affine
expect 2 "are needed" "$bin" register claire --out r
expect 2 "go together" "$bin" register claire --template a --reference b --template-points l --out r
expect 2 "needs --template-labels" "$bin" register claire --template a --reference b --reference-labels l --out r
expect 2 "not a positive number" "$bin" register claire --template a --reference b --beta -1 --out r
expect 2 "from 4 to 4096" "$bin" register claire --template a --reference b --size 3 --out r
expect 2 "unknown regularisation" "$bin" register claire --template a --reference b --regularisation h7 --out r
expect 2 "unknown argument" "$bin" register claire --template a --reference b --fast --out r
expect 2 "not both" "$bin" register demons --template a --reference b --size 8 --spacing 2 --out r
expect 2 "mm, H or X,Y,Z" "$bin" register demons --template a --reference b --spacing 0 --out r
expect 2 "itk, fsl, voxel" "$bin" register demons --template a --reference b --field-convention ras --out r
expect 2 "leaves out the world" "$bin" register demons --template a --reference b --ignore-geometry --center --out r
expect 2 "label maps of both" "$bin" register demons --template a --reference b --label-names n --out r
expect 2 "from 4 to 4096" "$bin" register demons --template a --reference b --size 3 --out r
expect 2 "no file a.nii" "$bin" register demons --template a.nii --reference b.nii --variant cpu --out r
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
# noise that differs a little: moving makes it worse, and iterations without a test for an early end must not hide that
perl -e 'for my $k (0, 1) { srand 1; my $n = 24; my $h = "\0" x 352;
    substr($h, 0, 4) = pack("l", 348); substr($h, 40, 16) = pack("s8", 3, $n, $n, $n, 1, 1, 1, 1); substr($h, 70, 4) = pack("s2", 2, 8);
    substr($h, 76, 32) = pack("f8", (1) x 8); substr($h, 108, 4) = pack("f", 352); substr($h, 344, 4) = "n+1\0";
    open F, ">", "noise-$k.nii"; print F $h; print F chr(int(rand 200) + ($k && $_ % 3 == 0 ? 9 : 1)) for 1 .. $n ** 3; close F }'
expect 6 "the difference grew: .*; the last iterate is in grew" "$bin" register demons --template noise-0.nii --reference noise-1.nii --variant cpu --iterations 10 --stop 0 --sigma-fluid 1 --sigma-diffusion 1 --out grew
ok "and says so in metrics.json" grep -q '"end": "the difference grew"' grew/metrics.json
expect 6 "nothing moved" "$bin" register demons --template one.nii --reference three.nii --variant cpu --out still
ok "and says so in metrics.json" grep -q '"end": "nothing moved"' still/metrics.json
# registration happens in the world: one and the same image 3 mm apart is 3 voxels apart; far apart it is refused
with_origin() { # FROM TO X: qform_code 1, qoffset_x
  perl -e 'my ($from, $to, $x) = @ARGV; local $/; open F, "<", $from; my $d = <F>; substr($d, 252, 2) = pack("s", 1); substr($d, 268, 4) = pack("f", $x); open T, ">", $to; print T $d' "$@"
}
with_origin one.nii at-0.nii 0.001
with_origin one.nii at-3.nii 3
with_origin one.nii at-40.nii 40
centre() { # FILE: mean index along x of the largest value's voxels, float32
  gunzip -c "$1" | tail -c +353 | od -An -v -tf4 -w4 | awk '{ s += $1; m += $1 * ((NR - 1) % 24) } END { printf "%.1f", m / s }'
}
expect 0 "mismatch" "$bin" register claire --template at-0.nii --reference at-3.nii --variant cpu-fd8-linear --out rw
moved=$(centre rw/warped.nii.gz)
ok "what lies at voxel 10 lies at 7 of a lattice that begins 3 mm further: $moved at the start, the ball at 10 after" test "${moved%.*}" -ge 9
expect 0 "mismatch 0," "$bin" register claire --template at-0.nii --reference at-3.nii --ignore-geometry --variant cpu-fd8-linear --out rw
expect 2 "holds 0 % of where at-40.nii lies .* 40 mm apart" "$bin" register demons --template at-0.nii --reference at-40.nii --variant cpu --out rw
ok "labels are whole numbers in the file" test "$("$bin" register claire --template one.nii --reference three.nii --template-labels one.nii --reference-labels three.nii --variant cpu-fd8-linear --out rl >/dev/null && gunzip -c rl/labels.nii.gz | od -An -td2 -j70 -N2 | tr -d ' ')" = 4
# alignment: by centres of mass, by an affine that adds the shift (four rows, ITK's text), labels of the template alone
demons=("$bin" register demons --variant cpu --iterations 5 --stop 0)
value() { awk -F'[:,]' -v key="\"$2\"" '$1 ~ key { print $2 + 0; exit }' "$1/metrics.json"; }
expect 0 "mismatch 0," "${demons[@]}" --template at-40.nii --reference at-0.nii --center --template-labels at-40.nii --out rc
moved=$(centre rc/warped.nii.gz)
ok "--center: the ball is where the reference has it, 10: $moved" test "$moved" = 10.0
ok "its labels are carried, of the template alone" test -s rc/labels.nii.gz
printf '1 0 0 39.999\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' >shift.txt
printf '#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\nParameters: 1 0 0 0 1 0 0 0 1 -39.999 0 0\nFixedParameters: 5 6 7\n' >shift.tfm
perl -e 'print pack("l5", 0, 12, 1, 0, 27), "AffineTransform_double_3_3\0", pack("d12", 1, 0, 0, 0, 1, 0, 0, 0, 1, -39.999, 0, 0), pack("l5", 0, 3, 1, 0, 6), "fixed\0", pack("d3", 5, 6, 7)' >shift.mat
for map in shift.txt shift.tfm shift.mat; do
  expect 0 "mismatch 0," "${demons[@]}" --template at-40.nii --reference at-0.nii --affine $map --out rc
  expect 0 "displacement_mean +39.999" "$bin" measure field rc/displacement.nii.gz
done
expect 0 "correlation +1" bash -c "'$bin' apply rc/displacement.nii.gz at-40.nii --out by-apply.nii.gz && '$bin' measure images by-apply.nii.gz rc/warped.nii.gz"
ok "the inverse is found everywhere" test "$(value rc voxels_without_inverse)" = 0
expect 0 "displacement_mean +39.999" "$bin" measure field rc/inverse_displacement.nii.gz
printf '2 0 0 0\n' >bad.txt
expect 2 "four rows of four" "${demons[@]}" --template one.nii --reference three.nii --affine bad.txt --out rc
sed 's/AffineTransform/Euler3DTransform/' shift.tfm >euler.tfm
expect 2 "AffineTransform and MatrixOffsetTransformBase" "${demons[@]}" --template one.nii --reference three.nii --affine euler.tfm --out rc
head -c 100 shift.mat >cut.mat
expect 2 "neither ITK's affine transform" "${demons[@]}" --template one.nii --reference three.nii --affine cut.mat --out rc
printf '0 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' >flat.txt
expect 2 "no inverse" "${demons[@]}" --template one.nii --reference three.nii --affine flat.txt --out rc
# points, label names, a coarser grid: results at the reference's own resolution
with_origin three.nii three-0.nii 0.001
blob() { # FILE CENTRE: a smooth one
  perl -e 'my ($f, $t, $c) = @ARGV; local $/; open F, "<", $f; my $d = substr(<F>, 0, 352); open T, ">", $t; print T $d;
    for my $z (0 .. 23) { for my $y (0 .. 23) { for my $x (0 .. 23) { print T chr(200 * exp(-(($x - $c) ** 2 + ($y - 12) ** 2 + ($z - 12) ** 2) / 40)) } } }' "$@"
}
blob at-0.nii blob-0.nii 10
blob at-0.nii blob-3.nii 13
printf '%s,12,12\n' 10.001 11.001 >p.csv
printf '%s,12,12\n' 13.001 14.001 >q.csv
printf '0 0 0 0 0 0 0 "Clear Label"\n1 255 0 0 1 1 1 "the ball"\n' >names.txt
expect 0 "Dice" "${demons[@]}" --iterations 60 --template blob-0.nii --reference blob-3.nii --template-labels at-0.nii --reference-labels three-0.nii --label-names names.txt --spacing 2 --out rp
expect 0 "mismatch" "${demons[@]}" --iterations 60 --sigma-fluid 1 --sigma-diffusion 1 --template blob-0.nii --reference blob-3.nii --template-points p.csv --reference-points q.csv --out rq
tre=$(tr -d ' \n' <rq/metrics.json | grep -o '"points":{.*' | grep -o '"mean":[0-9.]*' | cut -d: -f2 | tr '\n' ' ')
ok "points come nearer: $tre" awk -v t="$tre" 'BEGIN { split(t, d, " "); exit !(d[1] == 3 && d[2] > 0 && d[2] < 2) }'
ok "labels have names" grep -q '"name": "the ball"' rp/metrics.json
ok "the registration had a grid of 12" test "$(tr -d ' \n' <rp/metrics.json | grep -o '"grid_xyz":\[[0-9,]*\]')" = '"grid_xyz":[12,12,12]'
expect 0 "correlation" "$bin" measure images rp/warped.nii.gz blob-3.nii # of one lattice
for key in date host device threads cite percent_folds log_sd hd95; do ok "metrics.json has $key" grep -q "\"$key\"" rp/metrics.json; done
printf '%s,12,12\n' 99 14 >out.csv
expect 0 "1 of 2 points of the reference lie outside" "${demons[@]}" --template blob-0.nii --reference blob-3.nii --template-points p.csv --reference-points out.csv --outputs displacement --out rq
printf '1,2,3\n' >single.csv
expect 2 "correspond one to one" "${demons[@]}" --template one.nii --reference three.nii --template-points p.csv --reference-points single.csv --out rq
# conventions: the same map in voxels and as FSL counts, x from the other end
for c in voxel fsl; do expect 0 "mismatch" "${demons[@]}" --template at-40.nii --reference at-0.nii --affine shift.txt --field-convention $c --out r$c; done
first() { gunzip -c "$1" | tail -c +353 | od -An -tf4 -N4 | awk '{ printf "%.3f", $1 * $1 < 1e-9 ? 0 : $1 }'; }
ok "voxels: $(first rvoxel/displacement.nii.gz)" test "$(first rvoxel/displacement.nii.gz)" = 39.999
ok "FSL, both images having x from the left: $(first rfsl/displacement.nii.gz)" test "$(first rfsl/displacement.nii.gz)" = 0.000
# a folder is one run's; inputs are not overwritten, earlier results go
ok "rq holds labels no more" test ! -e rq/labels.nii.gz
expect 0 "mismatch" "${demons[@]}" --template at-40.nii --reference at-0.nii --affine shift.txt --outputs warped --out rc
ok "what an earlier run left is gone" test ! -e rc/displacement.nii.gz -a ! -e rc/labels.nii.gz -a -s rc/warped.nii.gz
touch rc/detF.nii.gz rc/notes.txt && printf 'detF.nii.gz\nnotes.txt\n' >>rc/.results
expect 0 "mismatch" "${demons[@]}" --template at-40.nii --reference at-0.nii --affine shift.txt --outputs warped --out rc
ok "so is what another method left, and nothing else" test ! -e rc/detF.nii.gz -a -e rc/notes.txt
cp at-0.nii rc/warped.nii
expect 2 "is an input that a result could overwrite" "${demons[@]}" --template rc/warped.nii --reference at-0.nii --out rc
expect 8 "another registration is writing into rc" flock rc "${demons[@]}" --template at-0.nii --reference at-0.nii --out rc
# values below 0
perl -0777 -pe 'substr($_, 70, 4) = pack("s2", 256, 8); substr($_, 400, 1) = chr(246)' one.nii >ct.nii
expect 2 "intensities down to -10: --shift-negative" "$bin" register demons --template ct.nii --reference three.nii --variant cpu --out rn
expect 0 "mismatch" "$bin" register demons --template ct.nii --reference three.nii --shift-negative --variant cpu --iterations 2 --stop 0 --out rn
for method in claire demons; do
  case $method in claire) v=cpu-fd8-linear ;; *) v=cpu ;; esac
  expect 2 "no label in common" "$bin" register $method --template one.nii --reference three.nii --template-labels one.nii --reference-labels two.nii --variant $v --out rl
  touch plain
  expect 2 "plain is a file" "$bin" register $method --template one.nii --reference three.nii --variant $v --out plain
done
expect 0 "mismatch" "$bin" register claire --template one.nii --reference three.nii --template-labels one.nii --reference-labels three.nii --variant cpu-fd8-linear --out rl
templates=/usr/share/mricron/templates brain=
if [ -r $templates/ch2bet.nii.gz ] && [ -r $templates/ch2.nii.gz ] && [ -r $templates/aal.nii.gz ]; then
  # every third voxel along each axis: results are written at the reference's own resolution, which takes long where it is that of a whole brain and the program is built with sanitizers
  for name in ch2bet ch2 aal; do
    gunzip -c $templates/$name.nii.gz | perl -e 'local $/; my $d = <STDIN>; my $h = substr($d, 0, 352); my @n = unpack("s3", substr($h, 42, 6)); my @m = map { int(($_ + 2) / 3) } @n;
      substr($h, 42, 6) = pack("s3", @m); substr($h, 80, 12) = pack("f3", 3, 3, 3);
      for my $row (0 .. 2) { substr($h, 280 + 16 * $row, 12) = pack("f3", map { 3 * $_ } unpack("f3", substr($h, 280 + 16 * $row, 12))) }
      print $h;
      for my $z (0 .. $m[2] - 1) { for my $y (0 .. $m[1] - 1) { print join("", map { substr($d, 352 + 3 * $_ + $n[0] * (3 * $y + $n[1] * 3 * $z), 1) } 0 .. $m[0] - 1) } }' | gzip -1 >$name.nii.gz
  done
  brain=ch2bet.nii.gz head=ch2.nii.gz labels=aal.nii.gz
  solve=("$bin" register claire --template $brain --reference $head --variant cpu-fd8-linear)
  expect 0 "mismatch .*Dice" "${solve[@]}" --template-labels $labels --reference-labels $labels --size 20,24,18 --out r
  for f in warped velocity displacement jacobian detF labels; do ok "register writes $f" test -s r/$f.nii.gz; done
  as_predicted() { # bytes on the backend, results and labels included, stay below what was predicted (but for a few sums), and above half of it
    awk -F'[:,]' '/"memory_predicted_bytes"/ { p = $2 } /"memory_peak_with_results_bytes"/ { m = $2 } END { exit !(m > 0 && m <= p + 65536 && p <= 2 * m) }' "$1"
  }
  ok "register claire predicts its memory" as_predicted r/metrics.json
  ok "metrics hold the counts" grep -q '"hessian_products"' r/metrics.json
  expect 6 "iterations used up; the best iterate is in r6" "${solve[@]}" --size 16 --no-continuation --newton 1 --tolerance 1e-6 --out r6
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
  interrupted "an interrupted solve" "^ +0 +1 " "${solve[@]}" --size 80 --steps 8 --out r130
  ok "and leaves its iterate" test -s r130/velocity.nii.gz -a -s r130/metrics.json
  other=$templates/JHU-WhiteMatter-labels-2mm.nii.gz
  if [ -r $other ]; then expect 2 "bring both to one grid with --size" "$bin" register claire --template $brain --reference $other --ignore-geometry --variant cpu-fd8-linear --out r; fi
  # the same brain with voxels said to be twice as long along x
  cp whole.nii wide.nii
  for at in 80 280; do printf '\0\0\300\100' | dd of=wide.nii bs=1 seek=$at conv=notrunc status=none; done # 6.0
  for method in "claire --variant cpu-fd8-linear" "demons --variant cpu"; do
    # shellcheck disable=SC2086
    expect 0 "mismatch" "$bin" register $method --template wide.nii --reference $brain --size 12 --out rg
    # shellcheck disable=SC2086
    expect 0 "mismatch" "$bin" register $method --template wide.nii --reference $brain --size 12 --ignore-geometry --out rg
  done

  # register demons
  solve=("$bin" register demons --template $brain --reference $head --variant cpu)
  expect 0 "mismatch .*Dice" "${solve[@]}" --template-labels $labels --reference-labels $labels --size 20,24,18 --levels 2 --out d
  for f in warped velocity displacement jacobian labels; do ok "register demons writes $f" test -s d/$f.nii.gz; done
  ok "register demons predicts its memory" as_predicted d/metrics.json
  expect 0 "mismatch" "${solve[@]}" --size 16 --iterations 3 --stop 0 --outputs warped,jacobian --out few
  ok "--outputs writes what it names" test -s few/warped.nii.gz -a -s few/jacobian.nii.gz -a -s few/metrics.json
  ok "and nothing else" test ! -e few/velocity.nii.gz -a ! -e few/displacement.nii.gz
  expect 2 "has no output 'speed'" "${solve[@]}" --outputs warped,speed --out few
  ok "metrics hold the energies" grep -q '"mean_squared_difference"' d/metrics.json
  expect 6 "iterations used up; the best iterate is in d6" "${solve[@]}" --size 16 --iterations 3 --stop 1e-9 --out d6
  expect 0 "iterations 3," "${solve[@]}" --size 16 --iterations 3 --stop 0 --out d6
  expect 2 "no variant" "${solve[@]}" --size 16 --variant gpu-fussed --out d
  expect 2 "unknown resampling" "${solve[@]}" --resample cubic --out d
  expect 8 "cannot make /proc" "${solve[@]}" --size 16 --out /proc/nowhere
  expect 2 "unknown update" "${solve[@]}" --size 16 --update plus --out d
  expect 0 "iterations 3," "${solve[@]}" --size 16 --iterations 3 --stop 0 --sigma-fluid 40 --out d
  expect 2 "sigma_fluid is 2e\+06 voxels" "${solve[@]}" --size 16 --sigma-fluid 2e6 --out d
  expect 2 "sigma-x .* not a positive number" "${solve[@]}" --sigma-x 0 --out d
  expect 2 "too few to halve" "${solve[@]}" --size 16 --levels 5 --out d
  expect 2 "truncated" "$bin" register demons --template cut.nii --reference $brain --variant cpu --size 16 --out d
  expect 8 "needs about .* GB of cpu memory" "${solve[@]}" --size 4000 --out d
  interrupted "an interrupted demons solve" "^ +1 +1 " "${solve[@]}" --size 96 --stop 0 --iterations 1000 --out d130
  ok "and leaves its iterate" test -s d130/velocity.nii.gz -a -s d130/metrics.json
fi

# register landmarks
seq 1 30 | awk '{printf "%g,%g,%g\n", 3*sin($1), 3*cos(1.7*$1), 0.2*$1}' >a.csv
seq 1 30 | awk '{printf "%g,%g,%g\n", 3*sin($1)+0.2, 3*cos(1.7*$1)+0.1*sin($1), 0.21*$1}' >b.csv
shoot=("$bin" register landmarks --template a.csv --steps 6 --iterations 20 --lambda 100)
expect 0 "usage: regbench register landmarks" "$bin" register landmarks --help
expect 0 "iterations used up|converged" "${shoot[@]}" --reference b.csv --apply a.csv --out l
for f in matched.csv momentum.csv trajectories.csv applied.csv metrics.json; do ok "register landmarks writes $f" test -s l/$f; done
ok "register landmarks predicts its memory" awk -F'[:,]' '/"memory_predicted_bytes"/ { p = $2 } /"memory_peak_bytes"/ { m = $2 } END { exit !(m > 0 && m <= p && p <= 4 * m) }' l/metrics.json
worst=$(paste -d, l/matched.csv l/applied.csv | awk -F, '{for (c = 1; c <= 3; c++) {d = $c - $(c + 3); if (d < 0) d = -d; if (d > w) w = d}} END {print (NR == 30 && w < 1e-4) ? "same" : w}')
ok "the landmarks themselves, carried along, are the matched ones: $worst" test "$worst" = same
expect 0 "iterations used up|converged" "${shoot[@]}" --reference b.csv --grid 1.5 --out lg
expect 2 "is a file" "${shoot[@]}" --reference b.csv --out b.csv
expect 6 "Inf or NaN|not finite" "${shoot[@]}" --reference b.csv --sigma 1e-30 --out ln
mkdir lf && ln -s /dev/full lf/trajectories.csv # MPI's own files would not fit a limit
expect 8 "cannot write" "${shoot[@]}" --reference b.csv --out lf
ok "no metrics of a registration that is not whole" test ! -e lf/metrics.json
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

# the same points as VTK, a mesh carried along, float64; points of a plane
vtk() { # CSV: a legacy file whose first three points make a triangle
  printf '# vtk DataFile Version 2.0\npoints\nASCII\nDATASET POLYDATA\nPOINTS %d float\n' "$(wc -l <"$1")"
  tr ',' ' ' <"$1"
  printf 'POLYGONS 1 4\n3 0 1 2\n'
}
vtk a.csv >a.vtk && vtk b.csv >b.vtk
expect 0 "iterations used up|converged" "$bin" register landmarks --template a.vtk --reference b.vtk --steps 6 --iterations 20 --lambda 100 --apply a.vtk --out lv
for f in matched.vtk applied.vtk; do ok "register landmarks writes $f of a mesh" grep -q '^3 0 1 2' lv/$f; done
values() { # coordinates of a file of either kind, a line a point
  sed -n '/^POINTS/,/^POLYGONS/p' "$1" | grep -E '^[-0-9]' | tr ' ' ','
}
worst=$(paste -d, <(values lv/matched.vtk) l/matched.csv | awk -F, '{for (c = 1; c <= 3; c++) {d = $c - $(c + 3); if (d < 0) d = -d; if (d > w) w = d}} END {print (NR == 30 && w < 1e-4) ? "same" : NR " " w}')
ok "VTK and CSV give the same match: $worst" test "$worst" = same
expect 0 "iterations used up|converged" "${shoot[@]}" --reference b.csv --variant cpu-f64 --out ld
worst=$(paste -d, ld/matched.csv l/matched.csv | awk -F, '{for (c = 1; c <= 3; c++) {d = $c - $(c + 3); if (d < 0) d = -d; if (d > w) w = d}} END {print (NR == 30 && w < 1e-2) ? "near" : w}')
ok "float64 ends where float32 ends: $worst" test "$worst" = near
cut -d, -f1,2 a.csv >plane-a.csv && cut -d, -f1,2 b.csv >plane-b.csv
expect 0 "iterations used up|converged" "$bin" register landmarks --template plane-a.csv --reference plane-b.csv --steps 6 --iterations 20 --lambda 100 --grid 1.5 --out lp
ok "points of a plane stay in it" awk -F, 'NF != 2 { bad = 1 } END { exit bad || NR != 30 }' lp/matched.csv
ok "--grid writes a plane's displacement" test -s lp/displacement.nii.gz
# Ctrl-C leaves the iterate
seq 1 1500 | awk '{printf "%g,%g,%g\n", 30*sin($1), 30*cos(1.7*$1), 0.02*$1}' >many-a.csv
awk -F, '{printf "%g,%g,%g\n", $1+0.3*sin($2), $2+0.2, 1.02*$3}' many-a.csv >many-b.csv
interrupted "an interrupted shooting" "^ +[1-9] TAO|iter = +[1-9]" "$bin" register landmarks --template many-a.csv --reference many-b.csv --iterations 400 --petsc "-tao_monitor" --out l130
ok "and leaves its iterate" test -s l130/matched.csv -a -s l130/metrics.json
# metrics.json has one shape
keys() { grep -oE '^ "[a-z_A-Z0-9]+"' "$1" | sort | grep -vE 'images|reference|grid_xyz|points|jacobian|detF|dice|energy_joule|label_table|inverse_displacement|by_displacement' | tr -d '\n'; }
for f in r d; do [ ! -e $f/metrics.json ] || ok "the shape of $f/metrics.json" test "$(keys $f/metrics.json)" = "$(keys l/metrics.json)"; done

# register atlas: three balls of 24^3
for i in 1 2 3; do ball ball$i.nii $((9 + i)) 100; done
ball zero.nii 10 0
atlas=("$bin" register atlas --variant cpu-fft --iterations 5)
expect 2 "either --images" "${atlas[@]}" --out at
expect 2 "either --images" "${atlas[@]}" --images ball1.nii ball2.nii --list balls.csv --out at
expect 2 "one image has no atlas" "${atlas[@]}" --images ball1.nii --out at
expect 2 "no file balls.csv|balls.csv" "${atlas[@]}" --list balls.csv --out at
expect 2 "unknown argument '--template'" "${atlas[@]}" --template ball1.nii --out at
expect 0 "iterations 5" "${atlas[@]}" --images ball1.nii ball2.nii ball3.nii --out at
for f in atlas warped_001_ball1 displacement_002_ball2 inverse_displacement_003_ball3 jacobian_001_ball1; do ok "register atlas writes $f" test -s at/$f.nii.gz; done
if command -v gnuplot >/dev/null; then ok "and draws its history" test -s at/history.svg -a -s at/history.png -a ! -e at/.history.dat; fi
ok "the shape of at/metrics.json" test "$(keys at/metrics.json)" = "$(keys l/metrics.json)"
expect 0 "iterations 5" "${atlas[@]}" --images ball1.nii --reference ball3.nii --out ar
expect 0 "voxels are anisotropic, 1 x 1 x 2 mm, .* --size 19,19,19 makes them isotropic" "${atlas[@]}" --size 24,24,12 --images ball1.nii ball3.nii --out ac1
"${atlas[@]}" --size 24,24,12 --voxels spacing --images ball1.nii ball3.nii --out ac3 >spacing.log 2>&1
ok "nor with the files' spacing, which moves other ways" bash -c "grep -q 'iterations 5' spacing.log && ! grep anisotropic spacing.log && ! cmp -s ac1/displacement_001_ball1.nii.gz ac3/displacement_001_ball1.nii.gz"
expect 2 "unknown voxels 'mm'; these are known: cubes spacing" "${atlas[@]}" --voxels mm --images ball1.nii ball3.nii --out ac4
"${atlas[@]}" --images ball1.nii ball3.nii --out ac2 >isotropic.log 2>&1
ok "no warning for isotropic voxels" bash -c "grep -q 'iterations 5' isotropic.log && ! grep anisotropic isotropic.log"
expect 2 "neglects it and takes 0" "${atlas[@]}" --variant cpu-sor --beta 0.1 --images ball1.nii ball2.nii --out at
expect 2 "gamma '-0.02' is not a positive" "${atlas[@]}" --gamma -0.02 --images ball1.nii ball2.nii --out at
# labels of an atlas: the part of the images that have one
for i in 1 2 3; do ball map$i.nii $((9 + i)) 7; done
maps=(--labels map1.nii map2.nii map3.nii)
expect 0 "iterations 5" "${atlas[@]}" --images ball1.nii ball2.nii ball3.nii "${maps[@]}" --step 0.01 --outputs probability --out al
values_of() { gunzip -c "$1" | tail -c +353 | od -An -v -tf4 -w4 | sort -gu | awk '{ printf "%.3g ", $1 }'; }
ok "probabilities are thirds: $(values_of al/probability_007.nii.gz)" test "$(values_of al/probability_007.nii.gz)" = "0 0.333 0.667 1 "
ok "the label that most have is written" test -s al/labels.nii.gz -a ! -e al/atlas.nii.gz
ok "files are told" grep -q '"file": "probability_007.nii.gz"' al/metrics.json
printf 'image,labels,age\nball1.nii,map1.nii\nball2.nii, map2.nii \r\n# no\nball3.nii,map3.nii,more\n' >labelled.csv
expect 0 "iterations 5" "${atlas[@]}" --list labelled.csv --step 0.01 --outputs probability --out al2
ok "a list gives the same" cmp al/probability_007.nii.gz al2/probability_007.nii.gz
printf 'ball1.nii\r\nball2.nii\r\nball3.nii\r\n' >crlf.csv
expect 0 "iterations 5" "${atlas[@]}" --list crlf.csv --outputs atlas --out al2
printf 'image,labels\nball1.nii,map1.nii\nball2.nii\n' >some.csv
expect 2 "behind some images and not behind others \(ball2.nii\)" "${atlas[@]}" --list some.csv --out al
expect 2 "2 label maps for 3 images" "${atlas[@]}" --images ball1.nii ball2.nii ball3.nii --labels map1.nii map2.nii --out al
expect 2 "no file gone.nii" "${atlas[@]}" --images ball1.nii ball2.nii --labels map1.nii gone.nii --out al
head -c 4000 map1.nii >short-map.nii
expect 2 "short-map.nii" "${atlas[@]}" --images ball1.nii ball2.nii --labels map1.nii short-map.nii --out al
expect 2 "no output 'probability'" "${atlas[@]}" --images ball1.nii ball2.nii --outputs probability --out al
expect 0 "box 0.[0-9]+" "${atlas[@]}" --clip 2 --images ball1.nii ball2.nii ball3.nii --out ak
# registration happens in the world: one and the same image 3 mm apart is 3 voxels apart, far apart it is refused
with_origin ball1.nii here.nii 1
with_origin ball3.nii there.nii 7
expect 0 "iterations 5" "${atlas[@]}" --images here.nii --reference there.nii --out ao
ok "results lie where the reference lies" test "$(gunzip -c ao/warped_001_here.nii.gz | od -An -tf4 -j268 -N4 | tr -d ' ')" = 7
with_origin ball1.nii first.nii 2
with_origin ball3.nii far.nii 802
with_origin ball3.nii same-place.nii 0
expect 6 "nothing moved" "${atlas[@]}" --images first.nii --reference same-place.nii --out aw
expect 2 "holds 0 % of where first.nii lies .*800 mm apart" "${atlas[@]}" --images first.nii far.nii --out aw
expect 0 "iterations 5" "${atlas[@]}" --images first.nii far.nii --ignore-geometry --out aw
ok "the inverse's error is told" grep -q '"inverse_error"' ao/metrics.json
expect 2 "0 images are left: too few for a registration" "${atlas[@]}" --images zero.nii --reference ball3.nii --leave-out-bad --out ao
expect 6 "the difference grew: take a smaller --step" "${atlas[@]}" --iterations 1 --step 40 --no-halving --images ball1.nii ball3.nii --out ao
# checkpoints: killed, gone on with, the same bits; a full disk ends the run and keeps the checkpoint before
expect 2 "name the folder of the checkpoints" "${atlas[@]}" --resume --images ball1.nii ball3.nii --out ac
long=("$bin" register atlas --variant cpu-fft --iterations 600 --images ball1.nii ball2.nii ball3.nii)
expect 0 "iterations 600" "${long[@]}" --out whole
which=() # of the processes, as pkill chooses; none: all
killed() { # COMMAND...: killed as soon as there is a checkpoint
  rm -rf saved ac
  "$@" --checkpoint saved --checkpoint-minutes 0 --out ac >killed.log 2>&1 &
  local child=$!
  for _ in $(seq 200); do [ -e saved/current ] && break; sleep 0.05; done
  pkill -9 "${which[@]}" -P $child -x regbench 2>/dev/null || kill -9 $child
  wait $child 2>/dev/null
  ok "a killed run leaves no result" test ! -e ac/metrics.json
}
killed "${long[@]}"
expect 2 "of other options" "${long[@]}" --gamma 0.03 --checkpoint saved --resume --out ac
expect 0 "iterations 600" "${long[@]}" --checkpoint saved --resume --out ac
for f in whole/*.nii.gz; do ok "what goes on from a checkpoint makes the same ${f#whole/}" cmp -s "$f" "ac/${f#whole/}"; done
# images that stay on the host, killed and gone on with, in turns with those that do not
killed "${long[@]}" --stream
expect 0 "iterations 600" "${long[@]}" --checkpoint saved --resume --out ac
for f in whole/*.nii.gz; do ok "a streamed run that goes on makes the same ${f#whole/}" cmp -s "$f" "ac/${f#whole/}"; done
killed "${long[@]}"
expect 0 "iterations 600" "${long[@]}" --stream --checkpoint saved --resume --out ac
for f in whole/*.nii.gz; do ok "a run that goes on streamed makes the same ${f#whole/}" cmp -s "$f" "ac/${f#whole/}"; done
expect 8 "cannot write saved/. ?.*File too large" bash -c 'ulimit -f 100; rm -rf saved; "$@"' - "${long[@]}" --checkpoint saved --checkpoint-minutes 0 --out ac
# a list: all that cannot be used is told at once; left out when asked for
head -c 5000 ball1.nii >short.nii
printf 'ball1.nii,first\n# a comment\n\nball2.nii\nzero.nii\nshort.nii\nnowhere.nii\n  ball3.nii  ,last\n' >balls.csv
expect 2 "3 of 6 images cannot be used" "${atlas[@]}" --list balls.csv --out at
told=$("${atlas[@]}" --list balls.csv --out at 2>&1)
for f in zero.nii short.nii nowhere.nii; do ok "the list's $f is told" grep -q "$f" <<<"$told"; done
expect 0 "3 of 6 images are left out" "${atlas[@]}" --list balls.csv --leave-out-bad --out al
ok "and the others make the same atlas" cmp -s al/atlas.nii.gz at/atlas.nii.gz
printf '\xef\xbb\xbfnowhere.nii\nball1.nii\nball2.nii\nball3.nii\n' >first.csv
expect 2 "no file .*nowhere.nii" "${atlas[@]}" --list first.csv --out al
expect 0 "1 of 4 images are left out" "${atlas[@]}" --list first.csv --leave-out-bad --out al
ok "a bad first file does not end the run" cmp -s al/atlas.nii.gz at/atlas.nii.gz
ok "metrics.json names what was used" grep -q '"images_left_out": 1' al/metrics.json
ok "by its checksum" grep -q "\"sha256\": \"$(sha256sum ball3.nii | cut -d' ' -f1)\"" al/metrics.json
expect 6 "nothing moved: the images are equal" "${atlas[@]}" --images ball1.nii ball1.nii --out ae
if [ -n "$brain" ]; then expect 2 "bring all to one grid with --size" "${atlas[@]}" --images ball1.nii --reference $brain --ignore-geometry --out ae; fi
# several processes: the same bits; more of them than images; a verb that works in one
if command -v mpirun >/dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
  several=(mpirun --oversubscribe -n 3)
  expect 0 "iterations 5" "${several[@]}" "${atlas[@]}" --images ball1.nii ball2.nii ball3.nii --out am
  for f in at/*.nii.gz; do ok "three processes make the same ${f#at/}" cmp -s "$f" "am/${f#at/}"; done
  expect 0 "iterations 5" "${several[@]}" "${atlas[@]}" --stream --images ball1.nii ball2.nii ball3.nii --out am
  for f in at/*.nii.gz; do ok "three processes that stream make the same ${f#at/}" cmp -s "$f" "am/${f#at/}"; done
  killed "${several[@]}" "${long[@]}"
  expect 0 "iterations 600" "${several[@]:0:2}" -n 2 "${long[@]}" --checkpoint saved --resume --out ac
  for f in whole/*.nii.gz; do ok "two processes that go on from three make the same ${f#whole/}" cmp -s "$f" "ac/${f#whole/}"; done
  which=(--newest) # one of three: the launcher ends the others and says which; what is saved works
  killed "${several[@]}" "${long[@]}"
  ok "the launcher tells of the process that was killed" grep -q "exited on signal 9" killed.log
  ok "and no other process had to be waited for" test -z "$(pgrep -f 'register atlas .*--checkpoint [s]aved')"
  expect 0 "iterations 600" "${long[@]}" --checkpoint saved --resume --out ac
  for f in whole/*.nii.gz; do ok "what goes on after one of three was killed makes the same ${f#whole/}" cmp -s "$f" "ac/${f#whole/}"; done
  expect 2 "3 processes for 2 images" "${several[@]}" "${atlas[@]}" --images ball1.nii ball2.nii --out am
  expect 2 "2 of 4 images cannot be used" "${several[@]}" "${atlas[@]}" --images ball1.nii zero.nii ball3.nii short.nii --out am
  expect 2 "works in one process and 3 were started" "${several[@]}" "$bin" register demons --template ball1.nii --reference ball2.nii --out am
  expect 2 "works in one process and 3 were started" "${several[@]}" "$bin" doctor
  ok "one process prints" test "$("${several[@]}" "${atlas[@]}" --bogus 2>&1 | grep -c "unknown argument")" = 1
fi
finish

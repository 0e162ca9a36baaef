#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ITK's own reading of what `register` and `apply` write: images, labels and points carried by transformix (elastix, built on ITK) are ours, whatever
# the files' axes. Without transformix there is nothing to compare with: the test is skipped.
# The images are 0 at their borders, where elastix's interpolators and fields go on differently than ITK's own (SimpleITK 2.5 agreed there to 1.5e-5 of 200, once).
# usage: test_itk.sh PATH_TO_REGBENCH
# shellcheck source=tests/runner/expect.sh
. "$(dirname "$0")/expect.sh"
command -v transformix >/dev/null || { echo "transformix is not installed (apt-get install elastix): not compared"; exit 77; }

# image FILE CENTRE KIND AXES: 20 x 24 x 22 voxels of 2, 1.5, 1.8 mm; a smooth ball around the voxel CENTRE, or (KIND 1) a label; AXES: columns of the world's
# right, anterior, superior along x, y, z. With "print" as KIND the lattice as elastix's parameters, whose world counts left and posterior.
image() {
  perl -e 'my ($f, $c, $kind, @d) = @ARGV; my @n = (20, 24, 22); my @s = (2, 1.5, 1.8); my @o = (-30, 20, 11);
    if ($kind eq "print") { my @turn = (-1, -1, 1); printf "(Size %d %d %d)\n(Index 0 0 0)\n(Spacing %g %g %g)\n(Origin %.9g %.9g %.9g)\n(Direction", @n, @s, map { $turn[$_] * $o[$_] } 0 .. 2;
      for my $k (0 .. 2) { printf " %.12g", $turn[$_] * $d[3 * $k + $_] for 0 .. 2 } print ")\n"; exit }
    my $h = "\0" x 352; substr($h, 0, 4) = pack("l", 348); substr($h, 40, 16) = pack("s8", 3, @n, 1, 1, 1, 1); substr($h, 70, 4) = pack("s2", 2, 8);
    substr($h, 76, 32) = pack("f8", 1, @s, 1, 1, 1, 1); substr($h, 108, 4) = pack("f", 352); substr($h, 254, 2) = pack("s", 1);
    for my $r (0 .. 2) { substr($h, 280 + 16 * $r, 16) = pack("f4", (map { $d[3 * $_ + $r] * $s[$_] } 0 .. 2), $o[$r]) } substr($h, 344, 4) = "n+1\0";
    open F, ">", $f; print F $h;
    for my $z (0 .. $n[2] - 1) { for my $y (0 .. $n[1] - 1) { for my $x (0 .. $n[0] - 1) { my $q = (($x - $c) * 2) ** 2 + (($y - 12) * 1.5) ** 2 + (($z - 11) * 1.8) ** 2; print F chr($kind ? ($q < 80 ? 7 : 0) : 200 * exp(-$q / 40)) } } }' "$@"
}
parameters() { # ORDER AXES...: of the interpolation, 0 nearest, 1 linear
  printf '(Transform "DeformationFieldTransform")\n(NumberOfParameters 0)\n(InitialTransformParametersFileName "NoInitialTransform")\n(HowToCombineTransforms "Compose")\n(DeformationFieldFileName "u.nii")\n(DeformationFieldInterpolationOrder 1)\n(FixedImageDimension 3)\n(MovingImageDimension 3)\n(FixedInternalImagePixelType "float")\n(MovingInternalImagePixelType "float")\n(UseDirectionCosines "true")\n(ResampleInterpolator "FinalBSplineInterpolator")\n(FinalBSplineInterpolationOrder %s)\n(Resampler "DefaultResampler")\n(DefaultPixelValue 0)\n(ResultImageFormat "nii")\n(ResultImagePixelType "float")\n(CompressResultImage "false")\n' "$1"
  image none 0 print "${@:2}"
}
value() { awk -F'[:,]' -v key="\"$1\"" '$1 ~ key { print $2 + 0; exit }'; }
below() { awk -v a="${1:-none}" -v b="$2" 'BEGIN { exit !(a != "none" && a + 0 < b) }'; }
key() { "$bin" measure "${@:2}" --json | value "$1"; }

while read -r name axes; do
  # shellcheck disable=SC2086
  for f in "t.nii 9 0" "r.nii 11 0" "tl.nii 9 1"; do image $f $axes; done
  expect 0 "mismatch" "$bin" register demons --variant cpu --template t.nii --reference r.nii --sigma-fluid 1 --sigma-diffusion 1 --iterations 30 --stop 0 --out d
  gunzip -c d/displacement.nii.gz >u.nii
  mkdir -p o
  # shellcheck disable=SC2086
  parameters 1 $axes >t.txt
  expect 0 "has finished" transformix -in t.nii -out o -tp t.txt
  off=$(key relative_difference images o/result.nii d/warped.nii.gz)
  ok "$name: ITK's image is ours: $off" below "$off" 1e-5
  ok "$name: and not the template" below 0.05 "$(key relative_difference images t.nii d/warped.nii.gz)"
  # shellcheck disable=SC2086
  parameters 0 $axes >n.txt
  expect 0 "has finished" transformix -in tl.nii -out o -tp n.txt
  expect 0 "" "$bin" apply d/displacement.nii.gz tl.nii --like r.nii --interpolation nearest --out l.nii.gz
  ok "$name: ITK's labels are ours" test "$(key greatest_difference images o/result.nii l.nii.gz)" = 0
  # points of the reference to the template: voxels 8, 12, 11 and so on, in the world that counts left and posterior
  # shellcheck disable=SC2086
  perl -e 'my @d = @ARGV; my @s = (2, 1.5, 1.8); my @o = (-30, 20, 11); my @t = (-1, -1, 1);
    for my $v ([8, 12, 11], [12.5, 10, 9], [11, 14, 12]) { print join(",", map { my $r = $_; my $x = $o[$r]; $x += $d[3 * $_ + $r] * $s[$_] * $v->[$_] for 0 .. 2; sprintf "%.9g", $t[$r] * $x } 0 .. 2), "\n" }' -- $axes >p.csv
  { printf 'point\n3\n'; tr , ' ' <p.csv; } >p.txt
  expect 0 "has finished" transformix -def p.txt -out o -tp t.txt
  sed -n 's/.*OutputPoint = \[ \([^]]*\) \].*/\1/p' o/outputpoints.txt | awk '{ print $1 "," $2 "," $3 }' >itk.csv
  expect 0 "" "$bin" apply d/displacement.nii.gz p.csv --inverse --lps --out ours.csv
  ok "$name: ITK's points are ours" below "$(key distance_greatest points itk.csv ours.csv)" 1e-3
  ok "$name: and moved" below 0.3 "$(key distance_greatest points p.csv ours.csv)"
done <<'LIST'
RAS 1 0 0 0 1 0 0 0 1
LPS -1 0 0 0 -1 0 0 0 1
flipped -1 0 0 0 1 0 0 0 1
oblique 0.8 0.6 0 -0.48 0.64 0.6 0.36 -0.48 0.8
LIST
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `apply` and `measure images|labels|field|points`: on what `register` wrote, and what is wrong with their files.
# usage: test_apply.sh PATH_TO_REGBENCH
# shellcheck source=tests/runner/expect.sh
. "$(dirname "$0")/expect.sh"

# balls of one value on nothing, and with a last argument smooth ones: NIfTI, 24^3, one byte a voxel, the first voxel at x in the world
ball() { # FILE CENTRE RADIUS VALUE X
  perl -e 'my ($f, $c, $r, $v, $o, $smooth) = @ARGV; my $n = 24; my $h = "\0" x 352;
    substr($h, 0, 4) = pack("l", 348); substr($h, 40, 16) = pack("s8", 3, $n, $n, $n, 1, 1, 1, 1); substr($h, 70, 4) = pack("s2", 2, 8);
    substr($h, 76, 32) = pack("f8", (1) x 8); substr($h, 108, 4) = pack("f", 352); substr($h, 252, 2) = pack("s", 1); substr($h, 268, 4) = pack("f", $o); substr($h, 344, 4) = "n+1\0";
    open F, ">", $f; print F $h;
    for my $z (0 .. 23) { for my $y (0 .. 23) { for my $x (0 .. 23) { my $d = ($x - $c) ** 2 + ($y - 12) ** 2 + ($z - 12) ** 2; print F chr($smooth ? $v * exp(-$d / $r ** 2) : $d < $r ** 2 ? $v : 0) } } }' "$@"
}
ball one.nii 11 6 200 0.001 smooth
ball two.nii 13 7 200 0.001 smooth
ball label.nii 11 6 9 0.001
ball target.nii 13 7 9 0.001
ball far.nii 13 7 200 4000
value() { "$bin" measure "$@" --json | awk -F'[:,]' '/"'"$key"'"/ { print $2 + 0; exit }'; }
less() { [ -n "$1" ] && [ -n "$2" ] && awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 < b + 0) }'; }

expect 0 "usage: regbench apply" "$bin" apply --help
expect 0 "mismatch" "$bin" register demons --template one.nii --reference two.nii --variant cpu --iterations 40 --stop 0 --sigma-fluid 1 --sigma-diffusion 1 --out d
u=d/displacement.nii.gz

# an image: what `register` itself wrote; there and back
expect 0 "" "$bin" apply $u one.nii --out w.nii.gz
key=relative_difference # they differ at the border, where register lets images fade over a voxel
ok "apply gives register's warped image" less "$(value images w.nii.gz d/warped.nii.gz)" 0.002
key=correlation
ok "and that is more like the reference" less "$(value images one.nii two.nii)" "$(value images w.nii.gz two.nii)"
expect 0 "" "$bin" apply $u w.nii.gz --inverse --out back.nii.gz
ok "--inverse brings it back" less 0.97 "$(value images back.nii.gz one.nii)"
ok "and not by doing nothing" less "$(value images w.nii.gz one.nii)" "$(value images back.nii.gz one.nii)"
expect 2 "lies nowhere within" "$bin" apply $u one.nii --like far.nii --out no.nii.gz
ok "nothing is written then" test ! -e no.nii.gz
expect 0 "" "$bin" apply $u $u one.nii --out twice.nii.gz
expect 0 "" "$bin" apply $u one.nii --interpolation cubic --out cubic.nii.gz

# labels
expect 0 "" "$bin" apply $u label.nii --interpolation labels --out carried.nii.gz
key=dice_mean
ok "labels overlap more" less "$(value labels label.nii target.nii)" "$(value labels carried.nii.gz target.nii)"
key=hd95_mean
ok "and lie nearer" less "$(value labels carried.nii.gz target.nii)" "$(value labels label.nii target.nii)"
expect 0 "^9 +0\.[89]" "$bin" measure labels carried.nii.gz target.nii
expect 0 "^9 +1\.0+ +0 +0" "$bin" measure labels target.nii target.nii

# points and meshes stay with the image
printf '11,12,12\n14,12,12\n11,15,12\n' >p.csv
expect 0 "" "$bin" apply $u p.csv --out q.csv
expect 0 "" "$bin" apply $u q.csv --inverse --out r.csv
key=distance_greatest
ok "points come back" less "$(value points p.csv r.csv)" 0.001
ok "and went" less 0.3 "$(value points p.csv q.csv)"
expect 0 "faces" "$bin" data surface one.nii --level 90 --out one.gii
expect 0 "faces" "$bin" data surface two.nii --level 90 --out two.gii
expect 0 "" "$bin" apply $u one.gii --out moved.gii
key=squared_distance
ok "a surface lies nearer" less "$(value surfaces moved.gii two.gii --sigma 3)" "$(value surfaces one.gii two.gii --sigma 3)"
sed 's/^\([0-9]*\),\([0-9]*\)/-\1,-\2/' p.csv >lps.csv
expect 0 "" "$bin" apply $u lps.csv --lps --out qlps.csv
awk -F, '{ printf "%.9f,%.9f,%.9f\n", -$1, -$2, $3 }' qlps.csv >qras.csv
key=distance_greatest
ok "--lps turns two axes" less "$(value points q.csv qras.csv)" 0.0001

# fields
expect 0 "folds +0 %" "$bin" measure field $u
key=det_least
ok "the determinant is register's" awk -v a="$(value field $u)" -v b="$(awk -F'[:,]' '/"jacobian"/ { seen = 1 } seen && /"least"|"min"/ { print $2 + 0; exit }' d/metrics.json)" 'BEGIN { exit !(b == 0 || (a - b) ^ 2 < 1e-6) }'

# what is wrong
expect 2 "a field and a file are needed" "$bin" apply one.nii --out o.nii.gz
expect 2 "no displacement" "$bin" apply one.nii two.nii --out o.nii.gz
expect 2 "no file none.nii.gz" "$bin" apply none.nii.gz one.nii --out o.nii.gz
expect 2 "no file none.nii" "$bin" apply $u none.nii --out o.nii.gz
expect 2 "no file none.nii" "$bin" apply $u one.nii --like none.nii --out o.nii.gz
expect 2 "names the result" "$bin" apply $u one.nii
expect 2 "would be overwritten" "$bin" apply $u one.nii --out one.nii
ln -s one.nii link.nii
expect 2 "would be overwritten" "$bin" apply $u one.nii --out link.nii
expect 2 "would be overwritten" "$bin" apply $u one.nii --out ./$u
expect 2 "would be overwritten" "$bin" apply $u one.nii --like two.nii --out $PWD/two.nii
expect 2 "unknown interpolation 'spline'" "$bin" apply $u one.nii --interpolation spline --out o.nii.gz
expect 2 "unknown option '--linear'" "$bin" apply $u one.nii --linear --out o.nii.gz
expect 2 "an image becomes" "$bin" apply $u one.nii --out o.csv
expect 2 ".nii, .nii.gz, .csv" "$bin" apply $u one.png --out o.png
expect 2 "like is of images" "$bin" apply $u p.csv --like one.nii --out q.csv
printf '1,2\n3,4\n' >plane.csv
expect 2 "points of the plane" "$bin" apply $u plane.csv --out q2.csv
head -c "$(($(stat -c %s $u) / 2))" $u >cut.nii.gz
expect 2 "cut.nii.gz" "$bin" apply cut.nii.gz one.nii --out o.nii.gz
expect 8 "cannot write" "$bin" apply $u one.nii --out nowhere/o.nii.gz
mkfifo pipe.nii.gz
expect 2 "pipe.nii.gz" "$bin" apply pipe.nii.gz one.nii --out o.nii.gz
expect 2 "different lattices" "$bin" measure images one.nii far.nii
expect 2 "voxel .* holds" "$bin" measure labels w.nii.gz target.nii
expect 2 "no displacement" "$bin" measure field one.nii
printf '1,2,3\n' >single.csv
expect 2 "as many" "$bin" measure points p.csv single.csv
expect 2 "2 files are needed" "$bin" measure images one.nii
expect 2 "'voxels' is not known" "$bin" measure voxels one.nii
expect 2 "1 file, not more" "$bin" measure field $u $u

finish

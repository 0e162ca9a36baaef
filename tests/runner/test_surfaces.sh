#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Surfaces: `data surface`, `measure surfaces`, `register currents`, and what is wrong with their files.
# usage: test_surfaces.sh PATH_TO_REGBENCH
# shellcheck source=tests/runner/expect.sh
. "$(dirname "$0")/expect.sh"

# balls of one value on nothing: NIfTI, 24^3, one byte a voxel, the first voxel at x in the world
ball() { # FILE CENTRE VALUE X
  perl -e 'my ($f, $c, $v, $o) = @ARGV; my $n = 24; my $h = "\0" x 352;
    substr($h, 0, 4) = pack("l", 348); substr($h, 40, 16) = pack("s8", 3, $n, $n, $n, 1, 1, 1, 1); substr($h, 70, 4) = pack("s2", 2, 8);
    substr($h, 76, 32) = pack("f8", (1) x 8); substr($h, 108, 4) = pack("f", 352); substr($h, 252, 2) = pack("s", 1); substr($h, 268, 4) = pack("f", $o); substr($h, 344, 4) = "n+1\0";
    open F, ">", $f; print F $h;
    for my $z (0 .. 23) { for my $y (0 .. 23) { for my $x (0 .. 23) { print F chr(($x - $c) ** 2 + ($y - 12) ** 2 + ($z - 12) ** 2 < 36 ? $v : 0) } } }' "$@"
}
ball one.nii 10 1 0.001
ball two.nii 13 2 0.001
ball three.nii 13 1 0.001
ball far.nii 13 1 400

# isosurfaces
expect 2 "needs --level and --out" "$bin" data surface one.nii
expect 2 "does not know" "$bin" data surface one.nii --size 3
expect 2 "not a positive number" "$bin" data surface one.nii --level x --out o.gii
expect 2 "no file none.nii" "$bin" data surface none.nii --level 0.5 --out o.gii
expect 2 "no voxel reaches the level 3" "$bin" data surface one.nii --level 3 --out o.gii
expect 8 "cannot write" "$bin" data surface one.nii --level 0.5 --out nowhere/o.gii
for f in one three far; do expect 0 " 0 open edges" "$bin" data surface $f.nii --level 0.5 --out $f.gii; done
expect 0 " (4[0-9][0-9]|500) faces, .* 0 open edges" "$bin" data surface one.nii --level 0.5 --out coarse.gii --faces 500

# distances
expect 0 "regbench measure surfaces" "$bin" measure --help
expect 2 "what" "$bin" measure
expect 2 "'curves' is not known" "$bin" measure curves a b
expect 2 "two surfaces are needed" "$bin" measure surfaces one.gii --sigma 2
expect 2 "--sigma is needed" "$bin" measure surfaces one.gii three.gii
expect 2 "unknown method" "$bin" measure surfaces one.gii three.gii --sigma 2 --method fast
expect 2 "--spacing is of a particle mesh" "$bin" measure surfaces one.gii three.gii --sigma 2 --spacing 1
expect 2 "is below a quarter of the grid" "$bin" measure surfaces one.gii three.gii --sigma 0.2 --method plain --spacing 1
expect 2 "is too narrow for a corrected kernel" "$bin" measure surfaces one.gii three.gii --sigma 1 --method corrected --spacing 2
expect 2 "no file none.gii" "$bin" measure surfaces one.gii none.gii --sigma 2
expect 2 "is no surface" "$bin" measure surfaces one.gii one.nii --sigma 2
head -c 700 one.gii >cut.gii
expect 2 "no GIFTI that can be read" "$bin" measure surfaces one.gii cut.gii --sigma 2
mkfifo pipe.gii
expect 2 "is a pipe" "$bin" measure surfaces one.gii pipe.gii --sigma 2
apart() { "$bin" measure surfaces "$@" --json 2>/dev/null | sed -n 's/.*"squared_distance": *\([-0-9.e+]*\).*/\1/p'; }
ok "a surface is nowhere from itself" perl -e 'exit !(abs($ARGV[0]) < 1e-9)' "$(apart one.gii one.gii --sigma 3)"
exact=$(apart one.gii three.gii --sigma 3) mesh=$(apart one.gii three.gii --sigma 3 --method cubic) coarse=$(apart coarse.gii three.gii --sigma 3)
ok "a mesh gives nearly the exact distance: $mesh, $exact" perl -e 'exit !(abs($ARGV[0] / $ARGV[1] - 1) < 1e-2)' "$mesh" "$exact"
ok "and another triangulation nearly the same: $coarse" perl -e 'exit !(abs($ARGV[0] / $ARGV[1] - 1) < 5e-2)' "$coarse" "$exact"
printf 'OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 0 2 3\n' >turned.off
expect 2 "differ in orientation at 3 edges; --orient" "$bin" measure surfaces turned.off turned.off --sigma 1
expect 0 "1 faces turned|A - B" "$bin" measure surfaces turned.off turned.off --sigma 1 --orient

# registration
expect 0 "usage: regbench register currents --template-posteriors" "$bin" register currents --help
expect 2 "are needed" "$bin" register currents --out r
expect 2 "needs files" "$bin" register currents --template-posteriors --reference-posteriors three.nii --out r
expect 2 "unknown argument '--template'" "$bin" register currents --template one.nii --reference three.nii --out r
expect 2 "as many of the template" "$bin" register currents --template-posteriors one.nii --reference-posteriors three.nii --template-surfaces one.gii --out r
expect 2 "posteriors are probabilities" "$bin" register currents --variant cpu --template-posteriors one.nii --reference-posteriors two.nii --out r
expect 2 "add up to 2" "$bin" register currents --variant cpu --template-posteriors one.nii one.nii --reference-posteriors three.nii three.nii --out r
expect 2 "not in one space" "$bin" register currents --variant cpu --template-posteriors one.nii --reference-posteriors three.nii --template-surfaces far.gii --reference-surfaces three.gii --out r
expect 2 "align them first" "$bin" register currents --variant cpu --template-posteriors far.nii --reference-posteriors three.nii --out r
expect 2 "one number each a level" "$bin" register currents --variant cpu --template-posteriors one.nii --reference-posteriors three.nii --steps 0.5 --out r
anatomy=(--template-posteriors one.nii --reference-posteriors three.nii --template-surfaces one.gii --reference-surfaces three.gii --variant cpu --sigmas 3,1.5 --steps 0.3,0.2 --iterations 30,20)
expect 0 "iterations used up" "$bin" register currents "${anatomy[@]}" --out r
for f in warped_1.nii.gz displacement.nii.gz inverse_displacement.nii.gz jacobian.nii.gz surface_1.gii metrics.json; do ok "r/$f is there" test -s "r/$f"; done
after=$(apart r/surface_1.gii three.gii --sigma 3)
ok "the surface has come closer: $exact before, $after after" perl -e 'exit !($ARGV[1] < 0.1 * $ARGV[0])' "$exact" "$after"
ok "and the posterior, too" perl -MJSON::PP -e 'local $/; open F, "<", "r/metrics.json"; my $m = decode_json(<F>); exit !($m->{classes}{after}{class_1}{dice} > 0.95 && $m->{classes}{before}{class_1}{dice} < 0.75 && $m->{jacobian}{min} > 0)'
printf 'OFF\n4 2 0\n8 8 8\n14 8 9\n14 14 10\n8 14 9\n3 0 1 2\n3 0 2 3\n' >open.off
expect 0 "open.off has 4 edges of one face \(open\)" "$bin" register currents --template-posteriors one.nii --reference-posteriors three.nii --template-surfaces open.off --reference-surfaces three.gii --variant cpu --sigmas 3 --steps 0.1 --iterations 2 --out ro
narrow=("${anatomy[@]}" --sigmas 0.8 --steps 0.1 --iterations 2 --method plain)
expect 0 "narrower than its particle mesh.s spacing, .* off by tens of per cent" "$bin" register currents "${narrow[@]}" --out rn
ok "a finer mesh has no such warning" bash -c "! '$bin' register currents ${narrow[*]} --mesh 0.5 --out rn 2>&1 | grep narrower"
expect 2 "is below a quarter of the grid" "$bin" register currents "${narrow[@]}" --sigmas 0.2 --out rn
"$bin" measure surfaces one.gii three.gii --sigma 3 --method mesh >mesh.txt 2>/dev/null
"$bin" measure surfaces one.gii three.gii --sigma 3 --method corrected >corrected.txt 2>/dev/null
ok "mesh is the corrected particle mesh" bash -c "grep -q 'A - B' mesh.txt && cmp mesh.txt corrected.txt"
expect 6 "nothing moved|equal" "$bin" register currents --variant cpu-f64 --template-posteriors one.nii --reference-posteriors one.nii --out same
finish

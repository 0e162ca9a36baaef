#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs of others by their adapters (solvers/external): stand-in programs that write a known field, in every convention, or do wrong.
# usage: test_external.sh PATH_TO_REGBENCH
# shellcheck source=tests/runner/expect.sh
. "$(dirname "$0")/expect.sh"
adapters=$experiments/../solvers/external/adapters

# smooth balls, NIfTI, 24^3, one byte a voxel
ball() { # FILE CENTRE
  perl -e 'my ($f, $c) = @ARGV; my $n = 24; my $h = "\0" x 352;
    substr($h, 0, 4) = pack("l", 348); substr($h, 40, 16) = pack("s8", 3, $n, $n, $n, 1, 1, 1, 1); substr($h, 70, 4) = pack("s2", 2, 8);
    substr($h, 76, 32) = pack("f8", (1) x 8); substr($h, 108, 4) = pack("f", 352); substr($h, 344, 4) = "n+1\0";
    open F, ">", $f; print F $h;
    for my $z (0 .. 23) { for my $y (0 .. 23) { for my $x (0 .. 23) { print F chr(200 * exp(-(($x - $c) ** 2 + ($y - 12) ** 2 + ($z - 12) ** 2) / 40)) } } }' "$@"
}
ball one.nii 10
ball two.nii 13
# field SCALE FROM TO [4d]: on the lattice of FROM, along x SCALE x exp(-r^2 / 200); -3 voxels lay one.nii onto two.nii
cat >field <<'PROGRAM'
#!/bin/bash
scale=$1 warp=${4:-}
gunzip -c "$2" | perl -0777 -e 'my ($scale, $warp) = @ARGV; my $t = <STDIN>; my $h = substr($t, 0, 352); my ($nx, $ny, $nz) = (unpack("s8", substr($h, 40, 16)))[1 .. 3]; my $n = $nx * $ny * $nz;
  substr($h, 40, 16) = $warp ? pack("s8", 4, $nx, $ny, $nz, 3, 1, 1, 1) : pack("s8", 5, $nx, $ny, $nz, 1, 3, 1, 1); substr($h, 68, 2) = pack("s", 1007);
  print $h; for my $z (0 .. $nz - 1) { for my $y (0 .. $ny - 1) { for my $x (0 .. $nx - 1) { print pack("f", $scale * exp(-(($x - 13) ** 2 + ($y - 12) ** 2 + ($z - 12) ** 2) / 200)) } } } print pack("f", 0) x (2 * $n)' -- "$scale" "$warp" | gzip >"$3"
PROGRAM
chmod +x field
adapter() { # NAME CONVENTION COMMAND
  printf 'name: %s\ntitle: a stand-in\nversion: echo stand-in 1\ninstall: nowhere\nconvention: %s\ncitation: nobody\nlicence: none\nparameters:\n  - {name: scale, value: "-3", help: voxels}\ncommand: |\n  %s\n' "$1" "$2" "$3" >"$1.yaml"
}
register=("$bin" register external --variant adapter --template one.nii --reference two.nii --out r)
mismatch() { awk -F'[:,]' '/"mismatch"/ { print $2 + 0; exit }' r/metrics.json; }
found=
# one map in four conventions: x runs to the left in the files that a program gets, and FSL counts it from the other end
while read -r convention scale warp; do
  adapter "$convention" "$convention" "$work/field {scale} {fixed} {out_field} $warp # {moving}"
  expect 0 "mismatch" "${register[@]}" --adapter "$convention.yaml" --set "scale=$scale"
  found="$found $(mismatch)"
done <<'LIST'
itk -3
voxel -3
ras 3
fsl 3 4d
LIST
ok "four conventions, one mismatch:$found" awk -v f="$found" 'BEGIN { n = split(f, m, " "); for (i = 2; i <= n; i++) if ((m[i] - m[1]) ^ 2 > 1e-12) exit 1; exit !(n == 4 && m[1] > 0 && m[1] < 0.2) }'
ok "the program's authors are cited" grep -q '"nobody"' r/metrics.json
expect 0 "mismatch" "${register[@]}" --adapter itk.yaml
expect 6 "made the images differ more" "${register[@]}" --adapter itk.yaml --set scale=3
expect 6 "one and the same displacement" "${register[@]}" --adapter itk.yaml --set scale=0
# adapters that are none
expect 2 "no parameter 'knots'" "${register[@]}" --adapter itk.yaml --set knots=4
expect 2 "plain words" "${register[@]}" --adapter itk.yaml --set 'scale=$(id)'
expect 2 "needs --adapter" "${register[@]}"
expect 2 "no adapter 'nonsense': .*elastix" "${register[@]}" --adapter nonsense
expect 2 "no file none.yaml" "${register[@]}" --adapter none.yaml
echo '# nothing yet' >nothing.yaml
expect 2 "no adapter stands in it" "$bin" register external --variant adapter --adapter nothing.yaml --template one.nii --reference two.nii --out r
expect 2 "has an adapter of its own" "$bin" register external --variant elastix-squares --adapter itk.yaml --template one.nii --reference two.nii --out r
adapter nowhere itk "true {fixed} {moving}"
expect 2 "where the displacement goes" "${register[@]}" --adapter nowhere.yaml
adapter lps lps "true {fixed} {moving} {out_field}"
expect 2 "itk, ras, fsl or voxel" "${register[@]}" --adapter lps.yaml
sed '/^licence/d' itk.yaml >short.yaml
expect 2 "short.yaml: .*licence" "${register[@]}" --adapter short.yaml
printf 'name: [\n' >broken.yaml
expect 2 "broken.yaml" "${register[@]}" --adapter broken.yaml
sed 's/^version: .*/version: absent-program --version/' itk.yaml >absent.yaml
expect 2 "itk is not installed \(nowhere\)" "${register[@]}" --adapter absent.yaml
expect 2 "makes a template of several images" "${register[@]}" --adapter "$adapters/ants-template.yaml"
sed 's/{images}/{list}/' "$adapters/ants-template.yaml" >bad-template.yaml
expect 2 "does not name the list of images" "${register[@]}" --adapter bad-template.yaml
# programs that do wrong
wrong() { # CODE PATTERN COMMAND
  adapter wrong itk "$3 # {fixed} {moving} {out_field}"
  expect "$1" "$2" "${register[@]}" --adapter wrong.yaml
}
wrong 8 "wrong failed \(exit 4\); it said: out of luck" "echo out of luck; exit 4"
wrong 6 "wrote no displacement" "cp reference.nii.gz warped.nii.gz"
wrong 2 "field.nii.gz" "$work/field -3 reference.nii.gz whole.nii.gz; head -c 3000 whole.nii.gz >field.nii.gz"
wrong 2 "no field of three|no displacement" "cp reference.nii.gz field.nii.gz"
adapter slow itk "sleep 60 # {fixed} {moving} {out_field}"
echo "seconds: 1" >>slow.yaml
expect 8 "slow: .*1 s" "${register[@]}" --adapter slow.yaml
# the adapters that are shipped: those whose programs nobody has here run stand-ins
for y in "$adapters"/*.yaml; do ok "$y has its name" grep -q "^name: $(basename "$y" .yaml)\$" "$y"; done
mkdir bin && for p in reg_f3d reg_transform claire python3; do
  cat >bin/$p <<'PROGRAM'
#!/bin/bash
case $(basename "$0") in
  reg_f3d) [ "$1" = --version ] && echo 1.5 && exit 0; [ "$1 $3 $5" = "-ref -flo -vel" ] && touch velocity.nii.gz ;;
  reg_transform) [ "$1 $3 $4" = "-ref -disp velocity.nii.gz" ] && "$STANDIN" 3 "$2" "$5" ;;
  claire) [ "$1" = -help ] && echo "CLAIRE version 0" && exit 0; [ "$1 $3" = "-mr -mt" ] && touch velocity-field-x{1,2,3}.nii.gz ;;
  python3) [ "$1" = -c ] && echo "fireants 1" && exit 0; grep -qE 'save_as_ants_transforms\("field.nii.gz"\)|nibabel.save\(image, "field.nii.gz"\)' && "$STANDIN" -3 reference.nii.gz field.nii.gz ;;
esac
PROGRAM
  chmod +x bin/$p
done
for v in niftyreg fireants claire-original; do expect 0 "mismatch 0\.1|mismatch 0\.0" env PATH="$work/bin:$PATH" STANDIN="$work/field" "$bin" register external --variant $v --template one.nii --reference two.nii --out r; done
finish

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recipes for conda and Spack build the same libraries from the same sources, those that scripts/packaging/libraries.sh builds.
# usage: packaging.sh
set -u
cd "$(dirname "$0")/../scripts/packaging" || exit 2
conda=conda/recipe.yaml spack=spack/spack_repo/regbench/packages/regbench/package.py
failed=0
fail() { echo "FAIL $1"; failed=1; }
hashes() { grep -oE '\b([0-9a-f]{64}|[0-9a-f]{40})\b' "$1" | LC_ALL=C sort; }
[ "$(hashes $conda | wc -l)" = 8 ] || fail "$conda: not four sources, each by its address and its sha256"
[ "$(hashes $conda)" = "$(hashes $spack)" ] || fail "other sources in $spack than in $conda"
folders=$(sed -n 's/^for folder in \(.*\); do$/\1/p' libraries.sh)
[ "$(wc -w <<<"$folders")" = 4 ] || fail "libraries.sh: not four folders"
for folder in $folders; do
  grep -q "target_directory: libraries/$folder$" $conda || fail "$conda: no $folder"
  grep -q "\"$folder\"" $spack || fail "$spack: no $folder"
done
if command -v python3 >/dev/null; then
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' $spack || fail "$spack is no Python"
fi
bash -n conda/build.sh && bash -n libraries.sh || fail "a script is no shell"
[ $failed = 0 ] && echo "recipes agree"
exit $failed

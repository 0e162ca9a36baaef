#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The texture unit's model against what an H200 gave, bit by bit. The fetches that differ must be those of texture_known.txt: 28 of 29259, by a unit of the last
# place, where no rule that was tried gives them and all others.
# usage: test_texture.sh PATH_TO_texture_fetches [--list]      --list: print those that differ
here=$(dirname "$0")
mine=$(mktemp)
trap 'rm -f "$mine"' EXIT
# compare RECORDING [ARGUMENT]: recording, group and number of each fetch that differs, then their count
compare() {
  EMULATOR_QUIET=1 "$program" ${2:+"$2"} | { [ -z "${2:-}" ] && cat || cut -d' ' -f1,2,6; } >"$mine" || exit 1
  xz -dc "$here/$1.txt.xz" | paste -d' ' - "$mine" | awk -v of="$1" '
    { half = NF / 2; same = NF % 2 == 0; for (i = 1; i <= half; i++) if ($i != $(i + half)) same = 0; if (!same) print of, $1, $2 }
    END { print of ": " NR " fetches" }'
}
program=$1
found=$(compare texture_h200 && compare texture_exponents_h200 more)
[ "${2:-}" != --list ] || { echo "$found"; exit 0; }
diff "$here/texture_known.txt" - <<<"$found" && echo "$(tail -n 1 <<<"$found"); $(grep -vc fetches <<<"$found") of all differ, as is known"

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The texture unit's model against what an H200 and an H100 gave: all 47691 fetches in all bits.
# usage: test_texture.sh PATH_TO_texture_fetches
program=$1
here=$(dirname "$0")
mine=$(mktemp)
trap 'rm -f "$mine"' EXIT
# compare RECORDING [GROUPS]: prints the fetches that differ, then their count; of some groups the recording has no coordinates
compare() {
  EMULATOR_QUIET=1 "$program" ${2:+"$2"} | { [ -z "${2:-}" ] && cat || cut -d' ' -f1,2,6; } >"$mine" || exit 1
  xz -dc "$here/$1.txt.xz" | paste -d' ' - "$mine" | awk -v of="$1" '
    { half = NF / 2; same = NF % 2 == 0; for (i = 1; i <= half; i++) if ($i != $(i + half)) same = 0; if (!same) { print of, $1, $2; n++ } }
    END { print of ": " NR " fetches, " n + 0 " differ"; exit n > 0 || NR < 5000 }'
}
compare texture_h200 && compare texture_exponents_h200 exponents && compare texture_cancelling_h100 cancelling

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Write a C header with the sha256 of the sources behind each family's CPU and CUDA code: what its variants and kinds of case are compiled from, by what they include,
# with the backend, the timing and the run of a case. So a record can say which code produced it and a rendered table can mark cells whose code has changed since. Comments, blanks and line breaks
# do not count, nor where a string or a macro is broken into lines. results/same_code.csv lists hashes that stand for the same code (scripts/same_code).
# usage: source_hashes.sh PROJECT_FOLDER OUTPUT_HEADER
set -eu
cd "$1"
out=$2.new
words=$2.words
rm -rf "$words" # one file a source, without blanks
mkdir -p "$words"
# one run of the preprocessor takes the comments out of all files; its line marks tell where each begins
sources=$(find kernels cpu_ref solvers datasets experiments/runner -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' | LC_ALL=C sort)
# shellcheck disable=SC2086
${CC:-cc} -x c -fpreprocessed -dD -E $sources 2>/dev/null | awk -v to="$words" '
  /^# [0-9]+ "/ { name = $3; gsub(/"/, "", name); gsub(/\//, "%", name); if (name != last) { if (last) close(to "/" last); last = name }; next }
  { gsub(/[ \t\r\f]/, ""); sub(/\\$/, ""); printf "%s", $0 >> (to "/" name) }'
# a string's pieces count as one string: quotes become marks, of which those between pieces go
start=$(printf '\001') end=$(printf '\002')
(cd "$words" && sed -i -E "s/'\\\\?\"'/'/g; s/\"(([^\"\\]|\\\\.)*)\"/$start\\1$end/g; s/$end$start//g" -- * && sha256sum -- *) | sed 's/%/\//g' >"$words.sums"
: >"$words.files" # "FAMILY BACKEND FILE": what each hash is of
# "FILE INCLUDED" for all sources, system headers left out; a .cuh, .h or .def that is included counts with its includer
# shellcheck disable=SC2086
awk 'match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]*"/) { name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name); print FILENAME, name }' $sources >"$words.includes"
families=$(sed -n 's/^RB_FAMILY(\([a-z0-9_]*\),.*/\1/p' kernels/registry/families.def)
contracts="$families fft" # what has code for each backend behind one header
solvers=$(sed -n 's/^RB_SOLVER(\([a-z0-9_]*\))/\1/p' solvers/solvers.def)
# What a compiled source stands on: what it includes; with a header its .c or .cu; with a family's contract the family's code for the backend;
# with a header of a solver's folder all of that folder. What sets up and judges cases (experiments/runner) leads to data and inputs only: a solver that makes a kernel's input is no part of the kernel.
# The solvers' tables of the verb (solvers/X/X_solver.c) are the verb's.
closure() { # BACKEND FAMILY ROOT...: files, one a line
  printf '%s\n' "$@" | awk -v families=" $(echo $contracts) " -v list="$words.sums" -v pairs="$words.includes" '
    function want(f) { if (f in exists && !(f in seen)) { seen[f] = 1; queue[++last] = f } }
    function folder(prefix, pattern,   f) { for (f in exists) if (index(f, prefix) == 1 && f ~ pattern) want(f) }
    function reach(f, from,   part, stem, judging) {
      judging = from ~ /^experiments\/runner\//
      if (judging && f ~ /^(solvers|kernels\/[a-z0-9]+)\// && f !~ /^kernels\/base\//) return
      want(f)
      stem = f; sub(/\.(h|cuh)$/, "", stem)
      if (stem == f) return
      if (f ~ /^experiments\/runner\/(machine|record|descriptor|report|check|run|cli)\//) return
      want(stem ".c")
      split(f, part, "/")
      if (part[1] == "kernels" && index(families, " " part[2] " ")) family(part[2])
      if (part[1] == "solvers" && part[3] != "") folder("solvers/" part[2] "/", "\\.[ch]$")
    }
    function family(name) {
      if (name in taken) return
      taken[name] = 1
      folder("kernels/" name "/", backend == "cpu" ? "\\.[ch]$" : "\\.(c|h|cu|cuh)$")
      if (backend == "cpu") folder("cpu_ref/" name "/", "\\.[ch]$")
    }
    BEGIN {
      while ((getline line < list) > 0) { sub(/^[0-9a-f]*  */, "", line); exists[line] = 1 }
      while ((getline line < pairs) > 0) { split(line, p, " "); includes[p[1]] = includes[p[1]] " " p[2] }
    }
    NR == 1 { backend = $0; next }
    NR == 2 { if (index(families, " " $0 " ")) family($0); next }
    { want($0) }
    END {
      for (i = 1; i <= last; i++) {
        n = split(includes[queue[i]], to, " ")
        for (k = 1; k <= n; k++) reach(to[k], queue[i])
      }
      for (f in seen) if (f !~ /^solvers\/[a-z]*\/[a-z]*_solver\.c$/ || f ~ verb) print f
    }' verb="$verb" -
}
# Flags of the build that CMakeLists.txt chooses, without the machine's own
options=$(grep -E 'target_compile_options|COMPILE_OPTIONS|CMAKE_(C|CUDA)_STANDARD|add_compile' CMakeLists.txt | tr -d ' \t' | sha256sum | cut -c1-64)
hash() { # FAMILY BACKEND ROOT...: of the words and names of the files that the roots stand on
  family=$1 backend=$2
  shift 2
  closure "$backend" "$family" "$@" | awk 'NR == FNR { sum[$2] = $1; next } $1 in sum { print sum[$1], $1 }' "$words.sums" - |
    LC_ALL=C sort -u -k2 >"$words.list"
  { cat "$words.list"; echo "$options CMakeLists.txt"; } | sha256sum | cut -c1-16
  sed "s/^[0-9a-f]* /$family $backend /" "$words.list" >>"$words.files"
}
{
  echo "/* Written by scripts/source_hashes.sh. */"
  echo "static const struct { const char *family, *cpu, *cuda; } rb_source_hashes[] = {"
  # a solver may have the name of a family of kernels that it stands on: one hash is of both
  for family in $(printf '%s\n' $families $solvers register contest template | awk '!seen[$0]++'); do
    # the solver's folder, the kinds of case of the family, and what runs and times every case
    roots="experiments/runner/run/run_case.c experiments/runner/workloads/measure.c kernels/base/backend.c kernels/base/statistics.c"
    cpu="cpu_ref/base/backend_cpu.c" cuda="kernels/cuda/backend_cuda.cu" verb="^$"
    case " $(echo $solvers) " in *" $family "*) roots="$roots $(echo solvers/$family/*.c)" ;; esac
    kinds=$(grep -lE "^ *(\"[a-z-]*\", *)?&rb_${family}(_solver)?_family,|^const rb_workload .*&rb_${family}(_solver)?_family," experiments/runner/workloads/*.c || true)
    if [ $family = register ]; then # the verb on images by claire
      roots="$roots solvers/claire/claire.c solvers/claire/claire_solver.c experiments/runner/cli/cmd_register.c $(echo experiments/runner/cli/register_*.c)" verb="claire_solver"
    fi
    if [ $family = contest ]; then # the verb on images by all its methods
      roots="$roots $(echo solvers/claire/*.c solvers/demons/*.c solvers/atlas/*.c solvers/external/*.c) experiments/runner/cli/cmd_register.c $(echo experiments/runner/cli/register_*.c)" verb="(claire|demons|atlas|external)_solver"
    fi
    if [ $family = template ]; then # the verb on a cohort, and programs of others
      roots="$roots $(echo solvers/atlas/*.c solvers/external/*.c) experiments/runner/cli/cmd_register.c $(echo experiments/runner/cli/register_*.c)" verb="(atlas|external)_solver"
    fi
    # shellcheck disable=SC2086
    printf '    {"%s", "%s", "%s"},\n' $family "$(hash $family cpu $roots $kinds $cpu)" "$(hash $family cuda $roots $kinds $cuda)"
  done
  echo "};"
  echo "/* Of results/same_code.csv: a record with the hash 'then' was made by code that is the same as that with the hash 'now', but for cases of the kinds or variants in 'except'. */"
  echo "static const struct { const char *family, *backend, *then, *now, *except; } rb_same_code[] = {"
  sed -n '/^[a-z]/p' results/same_code.csv 2>/dev/null | awk -F, 'NR > 1 { printf "    {\"%s\", \"%s\", \"%s\", \"%s\", \"%s\"},\n", $1, $2, $3, $4, $5 }'
  echo "    {\"\", \"\", \"\", \"\", \"\"},"
  echo "};"
  if commit=$(git rev-parse --short=12 HEAD 2>/dev/null); then
    # results/ is written by the program itself and does not change what it does
    if [ -n "$(git status --porcelain -- . ':!results' 2>/dev/null | head -1)" ]; then dirty=1; else dirty=0; fi
  else
    commit=unknown; dirty=0
  fi
  echo "#define RB_COMMIT \"$commit\""
  echo "#define RB_DIRTY $dirty"
} > "$out"
if cmp -s "$out" "$2"; then rm "$out"; else mv "$out" "$2"; fi

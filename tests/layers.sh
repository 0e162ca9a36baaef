#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Arrows between the project's parts run one way, in includes and in symbols: base <- contracts <- {cpu_ref, cuda} <- registry <- solvers <- runner, base <- data sets <- solvers.
# usage: layers.sh BUILD     a folder with the built libraries
set -u
cd "$(dirname "$0")/.."
build=$1
failed=0
fail() { echo "FAIL $*"; failed=$((failed + 1)); }

# includes FILES PATTERN: what these files include of the project and of libraries must match
includes() {
  local bad
  bad=$(git ls-files --cached --others --exclude-standard -- "${@:2}" | xargs grep -nE '^ *# *include' | grep -vE "$1")
  [ -z "$bad" ] || fail "an include that the layer must not have: $bad"
}
c_library='<(assert|complex|ctype|dirent|errno|fcntl|float|inttypes|limits|math|omp|pthread|sched|signal|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|strings|time|unistd|sys/[a-z]+)\.h>'
includes "$c_library|\"kernels/base/|\"cpu_ref/base/|team_mpi.c:[0-9]*:#include <mpi.h>" 'kernels/base/*.[ch]' 'cpu_ref/base/*.[ch]'
includes "$c_library|\"kernels/(base|$(ls -d kernels/*/ | cut -d/ -f2 | grep -vE '^(base|cuda|registry)$' | paste -sd'|'))/" \
  $(ls -d kernels/*/ | grep -vE 'kernels/(base|cuda|registry)/' | sed 's|$|*.[ch]|')
includes "$c_library|<(fftw3|cblas|immintrin|mpi)\.h>|\"(cpu_ref|kernels)/|RB_" 'cpu_ref/*.[ch]'
includes '<|"kernels/' 'kernels/*.cu' 'kernels/*.cuh'
includes "$c_library|<petsc[a-z0-9/]*\.h>|<mpi\.h>|<zlib\.h>|<cyaml/cyaml\.h>|\"(solvers|kernels/[a-z0-9_]+|datasets)/" 'solvers/*.[ch]'
if git ls-files -- 'solvers/*.[ch]' | xargs grep -nE '#include "(kernels/cuda|cpu_ref)/|<(cuda|cufft|fftw)'; then fail "a solver includes CUDA, FFTW or the CPU's variants"; fi
if git ls-files -- 'datasets/*.[ch]' | xargs grep -nE '#include "(solvers|experiments|cpu_ref|kernels/(cuda|[a-z]+)/)' | grep -v 'kernels/base/'; then fail "datasets includes more than base"; fi
if git ls-files -- kernels cpu_ref solvers datasets | xargs grep -nE '#include "experiments/'; then fail "something below the runner includes it"; fi

# A property of a variant is a field of its ops table; no code reads it off a name.
if git ls-files -- kernels cpu_ref solvers experiments/runner | xargs grep -nE 'str(str|n?cmp)\([^;]*"([^"]*(cpu|cuda|gpu)[/-]|[^"]*texture|[^"]*linear[0-9"]|[^"]*fused)'; then fail "a property read off a variant's name"; fi

# The runner's parts: cli > run > check, report > record > descriptor > workloads > inputs, machine > base. A part includes itself and what is after it.
part() { # NAME MAY_INCLUDE
  includes "^[^:]*:[0-9]*:#include (<|\"(kernels|solvers|datasets|cpu_ref)/|\"experiments/runner/($1${2:+|$2})/)" "experiments/runner/$1/*.[ch]"
}
part base ''
part inputs base
part machine base
below="inputs|machine|base"
for name in workloads descriptor record; do
  part $name "$below"
  below="$name|$below"
done
part check "$below"
part report "$below"
part run "report|$below"
part cli "run|check|report|$below"
if git ls-files -- experiments/runner | grep -v '^experiments/runner/cli/' | xargs grep -nE 'RB_EXIT_|exit_codes.h|\bstd(err|out)\b|\bputs\(|[^fns]printf\('; then fail "exit codes and prints belong to experiments/runner/cli"; fi

# Budgets of what is built and installed: a function fits a screen, a file has one subject.
for f in $(git ls-files -- kernels cpu_ref solvers datasets experiments | grep -E '\.(c|h|cu|cuh)$'); do
  case $f in *.cu | *.cuh) most=350 ;; cpu_ref/*_ref.c | cpu_ref/*_ref_*.c) most=150 ;; *) most=400 ;; esac
  n=$(wc -l <"$f")
  [ "$n" -le "$most" ] || fail "$f has $n lines; $most at most"
  awk -v file="$f" '
    /^[a-zA-Z_].*\{$/ || (/^ +.*\) \{$/ && previous ~ /^(static|extern|template|[a-z])/) { if (!start && !/^(struct|enum|typedef|union)/) { start = NR; name = $0 } }
    { previous = $0 }
    /^}/ { if (start && NR - start + 1 > 60 && name !~ /=/) { print file ": " NR - start + 1 " lines: " name; over = 1 } start = 0 }
    END { exit over }' "$f" || fail "functions have 60 lines at most"
done

# What stands in front of a table is short; the rest belongs on the paper's page.
for y in $(git ls-files 'experiments/*/*.yaml'); do
  n=$(awk '/^note: \|/ { in_note = 1; next } in_note && /^[a-z]/ { exit } in_note { n++ } END { print n + 0 }' "$y")
  [ "$n" -le 6 ] || fail "$y: its note has $n lines; six at most, the rest goes into the paper's README.md"
done

# Undefined symbols of a library that another one defines.
defines() { nm "$build/librb_$1.a" 2>/dev/null | awk 'NF == 3 && $2 ~ /[TDBRVW]/ { print $3 }' | sort -u; }
lacks() { comm -23 <(nm "$build/librb_$1.a" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u) <(defines "$1"); }
# never LIBRARY OTHER...: it needs nothing of the others
never() {
  local from=$1 other found
  shift
  for other in "$@"; do
    found=$(comm -12 <(lacks "$from") <(defines "$other") | paste -sd' ')
    [ -z "$found" ] || fail "librb_$from needs of librb_$other: $found"
  done
}
[ -f "$build/librb_base.a" ] || fail "no libraries in $build"
never base contracts cpu cuda registry solvers datasets runner
never contracts cpu cuda registry solvers datasets runner
never cpu cuda registry solvers datasets runner
never cuda cpu registry solvers datasets runner
never registry solvers datasets runner
never solvers cpu cuda runner
never datasets contracts cpu cuda registry solvers runner
echo "$failed failed"
test $failed = 0

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Write a C header with the sha256 of the sources behind each family's CPU and CUDA code, so that a record can say
# which code produced it and a rendered table can mark cells whose code has changed since. Comments, blanks and line breaks
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
hash() { # FAMILY BACKEND FILE...: of the words and names of the files that exist among the arguments, but those in $unused
  label="$1 $2"
  shift 2
  printf '%s\n' "$@" | awk -v unused=" $unused " 'NR == FNR { sum[$2] = $1; next } $1 in sum && !index(unused, " " $1 " ") { print sum[$1], $1 }' "$words.sums" - |
    LC_ALL=C sort -u -k2 | tee "$words.list" | sha256sum | cut -c1-16
  sed "s/^[0-9a-f]* /$label /" "$words.list" >>"$words.files"
}
{
  echo "/* Written by scripts/source_hashes.sh. */"
  echo "static const struct { const char *family, *cpu, *cuda; } rb_source_hashes[] = {"
  families=$(sed -n 's/^RB_FAMILY(\([a-z0-9_]*\),.*/\1/p' kernels/registry/families.def)
  solvers=$(sed -n 's/^RB_SOLVER(\([a-z0-9_]*\))/\1/p' solvers/solvers.def)
  adapters=$(for s in $solvers; do printf '%s ' "solvers/$s/${s}_solver.c"; done) # the verb's
  for family in $families $solvers external register; do
    # the contract, and what sets up, judges and times the family's cases
    shared="kernels/base/grid.h kernels/base/rng.h kernels/base/statistics.c kernels/$family/*.h kernels/$family/*.c datasets/phantom.c datasets/resample.c
      experiments/runner/inputs/inputs.c experiments/runner/workloads/measure.c"
    parts=$family # the families whose code runs
    unused=""     # kernels of theirs that no configuration of this family's names
    case $family in
      interp) shared="$shared solvers/common/field_variant.c experiments/runner/workloads/workload_interp.c experiments/runner/workloads/workload_advection.c" ;;
      derivative) shared="$shared experiments/runner/workloads/workload_derivative.c experiments/runner/workloads/workload_copy.c" parts="derivative spectral" ;;
      probe) shared="$shared experiments/runner/workloads/workload_copy.c" ;;
      transport) parts="interp derivative spectral field transport" ;;
      l2force) shared="$shared kernels/cuda/block_sum.cuh" ;;
      helmholtz) parts="helmholtz spectral" shared="$shared cpu_ref/helmholtz/helmholtz_oracle.c experiments/runner/workloads/workload_helmholtz.c" ;;
      average) shared="$shared experiments/runner/workloads/workload_average.c experiments/runner/workloads/workload_subsets.c experiments/runner/workloads/image_statistics.c
        experiments/runner/inputs/cohort.c experiments/runner/inputs/cohort_known.c" ;;
      atlas) parts="l2force helmholtz compose average field spectral"
        shared="$shared solvers/atlas/* solvers/common/field_variant.c kernels/base/team.c cpu_ref/base/team_mpi.c kernels/cuda/block_sum.cuh
          experiments/runner/workloads/workload_atlas.c experiments/runner/workloads/atlas_twin.c experiments/runner/workloads/workload_subsets.c
          experiments/runner/workloads/image_statistics.c experiments/runner/workloads/workload_processes.c
          experiments/runner/inputs/cohort.c experiments/runner/inputs/cohort_known.c experiments/runner/inputs/letter.c experiments/runner/inputs/pairs.c" ;;
      gausssum) shared="$shared kernels/cuda/together.cuh experiments/runner/workloads/workload_gausssum.c" ;;
      landmarks) parts="gausssum field"
        shared="$shared solvers/common/field_variant.c kernels/cuda/together.cuh solvers/krylov/* solvers/landmarks/* experiments/runner/workloads/workload_landmarks.c
          experiments/runner/workloads/workload_cohort.c experiments/runner/workloads/landmark_cohort.c experiments/runner/workloads/landmark_case.c datasets/points.c" ;;
      smooth | compose | force) shared="$shared experiments/runner/workloads/workload_demons_kernels.c experiments/runner/workloads/demons_images.c
          solvers/demons/* experiments/runner/inputs/pairs.c" ;;
      demons) parts="smooth compose force field"
        shared="$shared solvers/demons/* solvers/common/* experiments/runner/workloads/workload_demons.c experiments/runner/workloads/demons_images.c
          experiments/runner/inputs/pairs.c" ;;
      external) shared="$shared solvers/external/* solvers/common/* experiments/runner/workloads/workload_external.c experiments/runner/workloads/demons_images.c experiments/runner/inputs/pairs.c" ;;
      claire) parts="interp derivative spectral field transport"
        shared="$shared solvers/krylov/* solvers/common/* solvers/claire/* experiments/runner/workloads/workload_registration.c
          experiments/runner/workloads/registration.c experiments/runner/inputs/pairs.c" ;;
      register) parts="interp derivative spectral field transport"
        shared="$shared datasets/gzip_write.c datasets/volume.c solvers/external/child.c solvers/krylov/* solvers/common/* solvers/claire/* experiments/runner/workloads/registration.c
          experiments/runner/inputs/pairs.c experiments/runner/workloads/workload_verb.c solvers/solver.h solvers/solver.c experiments/runner/cli/cmd_register.c experiments/runner/cli/register_inputs.c experiments/runner/cli/register_results.c" ;;
      *) case " $families " in *[[:space:]]"$family"[[:space:]]*) ;; *) echo "source_hashes.sh: say what code $family runs" >&2; exit 1 ;; esac ;;
    esac
    [ $family = register ] || unused=$adapters
    case $family in
      transport | claire | register)
        grep -q '\.interp *= *"cuda/march"' solvers/claire/*.c || unused="$unused kernels/interp/interp_cuda_march.cu"
        grep -q '\.derivative *= *"cuda/direct"' solvers/claire/*.c || {
          d=kernels/derivative/derivative
          unused="$unused ${d}_cuda_direct.cu ${d}_direct.cuh ${d}_staged.cuh"
        } ;;
    esac
    cpu="" cuda="kernels/cuda/cuda.cuh kernels/cuda/language.cuh"
    for part in $parts; do
      cpu="$cpu cpu_ref/$part/*.c cpu_ref/$part/*.h kernels/$part/*.c kernels/$part/*.h"
      cuda="$cuda kernels/$part/*.cu kernels/$part/*.cuh kernels/$part/*.c kernels/$part/*.h"
    done
    # shellcheck disable=SC2086
    printf '    {"%s", "%s", "%s"},\n' $family "$(hash $family cpu $shared $cpu)" "$(hash $family cuda $shared $cuda)"
  done
  echo "};"
  echo "/* Of results/same_code.csv: a record with the hash 'then' was made by code that is the same as that with the hash 'now'. */"
  echo "static const struct { const char *family, *backend, *then, *now; } rb_same_code[] = {"
  sed -n '/^[a-z]/p' results/same_code.csv 2>/dev/null | awk -F, 'NR > 1 { printf "    {\"%s\", \"%s\", \"%s\", \"%s\"},\n", $1, $2, $3, $4 }'
  echo "    {\"\", \"\", \"\", \"\"},"
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

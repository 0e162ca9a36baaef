#!/bin/sh
# Write a C header with the sha256 of the sources behind each family's CPU and CUDA code, so that a record can say
# which code produced it and a rendered table can mark cells whose code has changed since.
# usage: source_hashes.sh PROJECT_FOLDER OUTPUT_HEADER
set -eu
cd "$1"
out=$2.new
hash() { # of the contents and names of the files that exist among the arguments, but those in $unused
  for f in "$@"; do
    case " $unused " in *" $f "*) continue ;; esac
    [ -f "$f" ] && sha256sum "$f"
  done | LC_ALL=C sort -k2 | sha256sum | cut -c1-16
}
{
  echo "/* Written by scripts/source_hashes.sh. */"
  echo "static const struct { const char *family, *cpu, *cuda; } rb_source_hashes[] = {"
  for family in interp derivative spectral field transport gausssum smooth compose force probe claire landmarks demons external register; do
    # the contract, and what sets up, judges and times the family's cases
    shared="kernels/base/grid.h kernels/base/rng.h kernels/$family/*.h kernels/$family/*.c datasets/phantom.c datasets/resample.c
      experiments/runner/inputs.c experiments/runner/measure.c"
    parts=$family # the families whose code runs
    unused=""     # kernels of theirs that no configuration of this family's names
    case $family in
      interp) shared="$shared experiments/runner/workload_interp.c experiments/runner/workload_advection.c" ;;
      derivative) shared="$shared experiments/runner/workload_derivative.c experiments/runner/workload_copy.c" parts="derivative spectral" ;;
      probe) shared="$shared experiments/runner/workload_copy.c" ;;
      transport) parts="interp derivative spectral field transport" ;;
      gausssum) shared="$shared kernels/cuda/together.cuh experiments/runner/workload_gausssum.c" ;;
      landmarks) parts="gausssum field"
        shared="$shared kernels/cuda/together.cuh solvers/krylov/* solvers/landmarks/* experiments/runner/workload_landmarks.c
          experiments/runner/workload_cohort.c experiments/runner/landmark_cohort.c experiments/runner/landmark_case.c datasets/points.c" ;;
      smooth | compose | force) shared="$shared kernels/cuda/texture4.cuh experiments/runner/workload_demons_kernels.c experiments/runner/demons_images.c
          solvers/demons/* experiments/runner/pairs.c" ;;
      demons) parts="smooth compose force field"
        shared="$shared kernels/cuda/texture4.cuh solvers/demons/* solvers/common/* experiments/runner/workload_demons.c experiments/runner/demons_images.c
          experiments/runner/pairs.c" ;;
      external) shared="$shared solvers/external/* solvers/common/* experiments/runner/workload_external.c experiments/runner/demons_images.c experiments/runner/pairs.c" ;;
      claire) parts="interp derivative spectral field transport"
        shared="$shared solvers/krylov/* solvers/common/* solvers/claire/* experiments/runner/workload_registration.c
          experiments/runner/registration.c experiments/runner/pairs.c" ;;
      register) parts="interp derivative spectral field transport"
        shared="$shared datasets/gzip_write.c datasets/volume.c solvers/external/child.c solvers/krylov/* solvers/common/* solvers/claire/* experiments/runner/registration.c
          experiments/runner/pairs.c experiments/runner/workload_verb.c experiments/runner/cmd_register_claire.c experiments/runner/registration_memory.c experiments/runner/register_images.c" ;;
    esac
    case $family in
      transport | claire | register)
        grep -q '\.interp *= *"cuda/march"' solvers/claire/*.c || unused="kernels/interp/interp_cuda_march.cu"
        grep -q '\.derivative *= *"cuda/direct"' solvers/claire/*.c || {
          d=kernels/derivative/derivative
          unused="$unused ${d}_cuda_direct.cu ${d}_direct.cuh ${d}_staged.cuh"
        } ;;
    esac
    cpu="" cuda="kernels/cuda/cuda.cuh"
    for part in $parts; do
      cpu="$cpu cpu_ref/$part/*.c cpu_ref/$part/*.h kernels/$part/*.c kernels/$part/*.h"
      cuda="$cuda kernels/$part/*.cu kernels/$part/*.cuh kernels/$part/*.c kernels/$part/*.h"
    done
    # shellcheck disable=SC2086
    printf '    {"%s", "%s", "%s"},\n' $family "$(hash $shared $cpu)" "$(hash $shared $cuda)"
  done
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

#!/bin/bash
# Bugs planted in copies of .cu files, one at a time, must be caught where CUDA sources are executed on the CPU: by the watching build, or (marked sanitize) by AddressSanitizer or
# UndefinedBehaviorSanitizer. Not part of scripts/test, and not run as a whole yet: each builds the emulated program anew. Names as arguments choose some.
# usage: planted_bugs.sh [NAME...]
set -u
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$work" 2>/dev/null
failed=0 passed=0
# planted NAME BUILD FILE SED-PROGRAM FAMILY VARIANT PATTERN: after the edit `check` must fail and tell the pattern
planted() {
  local name=$1 build=$2 file=$3 program=$4 family=$5 variant=$6 pattern=$7
  case " ${wanted[*]} " in *" $name "* | "  ") ;; *) return ;; esac
  cp "$work/$file" "$work/before"
  sed -i "$program" "$work/$file"
  if cmp -s "$work/$file" "$work/before"; then
    echo "FAIL $name: nothing was changed in $file"; failed=$((failed + 1)); return
  fi
  local on=WATCH; [ "$build" = sanitize ] && on=SANITIZE
  cmake -S "$work" -B "$work/build-$build" -G Ninja -DRB_CUDA=EMULATED -DRB_$on=ON -DCMAKE_BUILD_TYPE=Release >/dev/null 2>&1
  cmake --build "$work/build-$build" --target regbench >"$work/log" 2>&1 || tail -3 "$work/log"
  local said code
  said=$(EMULATOR_PROCESSORS=6 ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 timeout 300 "$work/build-$build/regbench" check "$family" --variant "$variant" --largest 30 2>&1)
  code=$?
  if [ $code != 0 ] && grep -qE -- "$pattern" <<<"$said"; then echo "caught $name"; passed=$((passed + 1)); else echo "FAIL $name: exit $code, not told '$pattern'"; failed=$((failed + 1)); fi
  cp "$work/before" "$work/$file"
}
wanted=("$@")
planted barrier watch kernels/interp/interp_cuda_shared_lagrange.cu '/__syncthreads();/d' interp cuda/shared-lagrange 'race: .*interp_cuda_shared_lagrange.cu:[0-9]+'
planted barrier-march watch kernels/derivative/derivative_cuda_march.cu '0,/__syncthreads();/s///' derivative cuda/march 'race: .*derivative_cuda_march.cu:[0-9]+'
planted write-after-read watch kernels/smooth/smooth_cuda_wide.cu 's/__syncthreads(); \/\* the values before are done with \*\///' smooth cuda/march 'race: .*smooth_cuda_wide.cu:[0-9]+'
planted beyond-the-end watch kernels/interp/interp_texture.cuh 's/if (p < np) out/if (p <= np) out/' interp cuda/texture-linear 'out of bounds: .*interp_texture.cuh'
planted halo-row watch kernels/derivative/derivative_cuda_tile.cu 's/s\[threadIdx.y + q\]/s[threadIdx.y + q + 1]/' derivative cuda/tile 'FAIL'
planted texture-half watch kernels/interp/interp_cuda_texture_linear.cu 's/0\.5f/0.0f/' interp cuda/texture-linear 'FAIL'
planted copies-not-waited watch kernels/derivative/derivative_staged.cuh 's/__pipeline_wait_prior(DEPTH - 2)/__pipeline_wait_prior(DEPTH - 1)/' derivative cuda/direct 'race|FAIL'
planted atomic watch kernels/compose/compose_cuda_common.cu 's/atomicMax(most, mine)/*most = max(*most, mine)/' compose cuda/global 'race: .*compose_cuda_common.cu'
planted warp-sum watch kernels/force/force_cuda_grid.cu 's/int o = 16; o > 0/int o = 16; o > 1/' force cuda/grid 'FAIL'
planted threads watch kernels/interp/interp_texture.cuh 's/rb_blocks(np, 256), 256, 0/rb_blocks(np, 256), 2048, 0/' interp cuda/texture-linear '2048 threads a block'
planted shared-too-short sanitize kernels/interp/interp_cuda_shared_lagrange.cu 's/float cell\[64\]/float cell[63]/' interp cuda/shared-lagrange 'runtime error|out of bounds|overflow'
echo "$passed passed, $failed failed"
test $failed = 0

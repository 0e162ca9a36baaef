#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Bugs planted in copies of kernels, one at a time, must be caught where CUDA sources are executed on a CPU: by the build that watches every access, or by the one with AddressSanitizer and
# UndefinedBehaviorSanitizer. A copy shadows the kernel's file on the include path; only what includes it is compiled again, and linked before the library that holds the original.
# In a build without either: slips in the atlas, to be caught by its tests.
# usage: planted_bugs.sh BUILD [NAME... | --barriers]     BUILD: a folder configured with Ninja, and for kernels -DRB_CUDA=EMULATED, -DRB_WATCH=ON or -DRB_SANITIZE=ON; the bugs that this build must catch;
# --barriers: each barrier of each kernel left out in turn, by the watching build
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")
shift
wanted=" $* "
work=$(mktemp -d)
trap 'rm -rf "$work"; kill $(jobs -p) 2>/dev/null' EXIT
failed=0 passed=0
export EMULATOR_PROCESSORS=6 EMULATOR_QUIET=1 ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=0
grep -q '^CMAKE_GENERATOR:INTERNAL=Ninja' "$build/CMakeCache.txt" || { echo "planted_bugs.sh reads Ninja's commands; $build has none"; exit 77; }
kind=plain
grep -q '^RB_WATCH:BOOL=ON' "$build/CMakeCache.txt" && kind=watch
grep -q '^RB_SANITIZE:BOOL=ON' "$build/CMakeCache.txt" && kind=sanitize

# command of PROGRAM matching PATTERN: what Ninja runs for it
command_of() { ninja -C "$build" -t commands "$1" | grep -E -- "$2" | tail -1; }

# planted NAME BUILDS PROGRAM "SOURCE..." FILE SED PATTERN COMMAND...: after the edit of FILE, which each SOURCE is or includes, the command fails and tells the pattern; {} stands for the program.
# That the edit changes the file is looked at in any build, all else in those of BUILDS
planted() {
  local name=$1 builds=$2 program=$3 sources=$4 file=$5 edit=$6 pattern=$7 source compile link code objects=
  shift 7
  case $wanted in "  " | *" $name "*) ;; *) return ;; esac
  rm -rf "$work/tree" && mkdir -p "$work/tree/$(dirname "$file")"
  sed "$edit" "$root/$file" >"$work/tree/$file"
  if cmp -s "$work/tree/$file" "$root/$file"; then
    echo "FAIL $name: the edit changes nothing in $file"
    failed=$((failed + 1))
    return
  fi
  case $builds in *"$kind"*) ;; *) return ;; esac
  for source in $sources; do
    mkdir -p "$work/tree/$(dirname "$source")"
    [ -e "$work/tree/$source" ] || cp "$root/$source" "$work/tree/$source"
    compile=$(command_of "$program" "-c [^ ]*/$source\$")
    compile=$(sed -E "s# -I# -I$work/tree -I#; s# -MD -MT [^ ]+ -MF [^ ]+##; s# -o [^ ]+ -c .*# -o $work/$(basename "$source").o -c $work/tree/$source#" <<<"$compile")
    if ! (cd "$build" && eval "$compile") 2>"$work/log"; then
      echo "FAIL $name: does not compile: $(grep -m1 error "$work/log")"
      failed=$((failed + 1))
      return
    fi
    objects="$objects $work/$(basename "$source").o"
  done
  link=$(command_of "$program" " -o $program ")
  (cd "$build" && eval "$(sed -E "s# -o $program #$objects -o $work/$program #" <<<"$link")") || return
  # the watching build is ended as soon as it has told; the others are to end by themselves, and to fail
  if [ $kind = watch ]; then
    : >"$work/said" # of the bug before
    timeout 300 stdbuf -oL "${@//\{\}/$work/$program}" >"$work/said" 2>&1 &
    local running=$!
    tail -n +1 -s 0.1 --pid=$running -f "$work/said" 2>/dev/null | grep -qE -m 1 -- "$pattern" && kill $running 2>/dev/null
    wait $running 2>/dev/null
  else
    timeout 300 "${@//\{\}/$work/$program}" >"$work/said" 2>&1
  fi
  code=$?
  if [ $code != 0 ] && grep -qE -- "$pattern" "$work/said"; then
    echo "caught $name"
    passed=$((passed + 1))
  else
    echo "FAIL $name: exit code $code, and nothing told '$pattern': $(tail -1 "$work/said")"
    failed=$((failed + 1))
  fi
}
# in_kernel NAME BUILDS FILE EDIT PATTERN FAMILY VARIANT: a bug in one .cu, found by regbench check
in_kernel() { planted "$1" "$2" regbench "$3" "$3" "$4" "$5" {} check "$6" --variant "$7" --largest 30; }

# every_barrier FILE SOURCE FAMILY VARIANT LARGEST [FIRST LAST]: each __syncthreads() of FILE (between two of its lines) left out, one at a time
every_barrier() {
  local line
  for line in $(grep -n "__syncthreads();" "$root/$1" | awk -F: -v first="${6:-1}" -v last="${7:-100000}" '$1 >= first && $1 <= last { print $1 }'); do
    planted "$(basename "$1"):$line" watch regbench "$2" "$1" "${line}s/__syncthreads();//" 'race: |nobody wrote: |FAIL' {} check "$3" --variant "$4" --largest "$5"
  done
}
if [ "$wanted" = " --barriers " ]; then
  wanted="  "
  k=kernels
  every_barrier $k/derivative/derivative_cuda_march.cu $k/derivative/derivative_cuda_march.cu derivative cuda/march 30
  every_barrier $k/derivative/derivative_cuda_tile.cu $k/derivative/derivative_cuda_tile.cu derivative cuda/tile 30
  every_barrier $k/derivative/derivative_staged.cuh $k/derivative/derivative_cuda_direct.cu derivative cuda/direct 4000
  every_barrier $k/field/field_cuda_grid.cu $k/field/field_cuda_grid.cu field cuda/grid 30
  every_barrier $k/force/force_cuda_grid.cu $k/force/force_cuda_grid.cu force cuda/grid 30
  every_barrier $k/gausssum/gausssum_cuda_shared_reduction.cu $k/gausssum/gausssum_cuda_shared_reduction.cu gausssum cuda/shared-reduction 30
  # not the two of gausssum_cuda_tiled.cu: its blocks have one warp below 16000 points, which needs no barrier, and larger sets take minutes
  every_barrier $k/gausssum/gausssum_rows.cuh $k/gausssum/gausssum_cuda_tiled.cu gausssum cuda/tiled 30
  every_barrier $k/gausssum/gausssum_flow.cuh $k/gausssum/gausssum_cuda_tiled.cu gausssum cuda/tiled 30
  every_barrier $k/helmholtz/helmholtz_cuda_axes.cu $k/helmholtz/helmholtz_cuda_axes.cu helmholtz cuda/axes 30
  every_barrier $k/helmholtz/helmholtz_cuda_sor_block.cu $k/helmholtz/helmholtz_cuda_sor_block.cu helmholtz cuda/sor-block 10
  every_barrier $k/cuda/block_sum.cuh $k/l2force/l2force_cuda_grid.cu l2force cuda/grid 30
  every_barrier $k/interp/interp_cuda_prefilter.cu $k/interp/interp_cuda_prefilter.cu interp cuda/texture-bspline 30 1 62
  every_barrier $k/interp/interp_cuda_prefilter.cu $k/interp/interp_cuda_prefilter.cu interp cuda/tiled 30 63
  every_barrier $k/interp/interp_cuda_shared_lagrange.cu $k/interp/interp_cuda_shared_lagrange.cu interp cuda/shared-lagrange 30
  every_barrier $k/interp/interp_cuda_tiled.cu $k/interp/interp_cuda_tiled.cu interp cuda/tiled 30
  every_barrier $k/steps/steps_cuda_grid.cu $k/steps/steps_cuda_grid.cu steps cuda/grid 30
  every_barrier $k/smooth/smooth_cuda_coalesced.cu $k/smooth/smooth_cuda_coalesced.cu smooth cuda/shared-coalesced 30
  # not the one between tiles (line 99): the last turns of a tile read no plane that was loaded, and begin with a barrier
  every_barrier $k/smooth/smooth_cuda_march.cu $k/smooth/smooth_cuda_march.cu smooth cuda/march 30 1 98
  every_barrier $k/smooth/smooth_cuda_march.cu $k/smooth/smooth_cuda_march.cu smooth cuda/march 30 100
  every_barrier $k/smooth/smooth_cuda_shared.cu $k/smooth/smooth_cuda_shared.cu smooth cuda/shared 30
  every_barrier $k/smooth/smooth_cuda_wide.cu $k/smooth/smooth_cuda_wide.cu smooth cuda/march 30
  echo "$passed caught, $failed not"
  test $failed = 0
  exit
fi

march=kernels/derivative/derivative_cuda_march.cu
in_kernel shared-array-too-short sanitize kernels/interp/interp_cuda_shared_lagrange.cu 's/float cell\[64\]/float cell[63]/' 'runtime error: .*(out of bounds|insufficient)' interp cuda/shared-lagrange
in_kernel missing-barrier watch kernels/interp/interp_cuda_shared_lagrange.cu '/__syncthreads();/d' 'race: .*interp_cuda_shared_lagrange.cu:[0-9]+' interp cuda/shared-lagrange
in_kernel missing-barrier-march watch $march '/^      __syncthreads();/d' 'race: .*derivative_cuda_march.cu:[0-9]+' derivative cuda/march
in_kernel write-after-read watch kernels/smooth/smooth_cuda_wide.cu '/__syncthreads(); .. the values before are done with/d' 'race: .*smooth_cuda_wide.cu:[0-9]+' smooth cuda/march
in_kernel last-barrier-of-a-sum watch kernels/gausssum/gausssum_cuda_shared_reduction.cu '/^    __syncthreads();/d' 'race: .*gausssum_cuda_shared_reduction.cu:[0-9]+' gausssum cuda/shared-reduction
in_kernel unwritten-shared-memory watch kernels/smooth/smooth_cuda_shared.cu 's/s\[t\] = at >= 0 \&\& at < v.length ? \(.*\) : 0.0f;/if (at >= 0 \&\& at < v.length) s[t] = \1;/' 'nobody wrote: .*smooth_cuda_shared.cu:[0-9]+' smooth cuda/shared
planted beyond-the-end watch regbench kernels/interp/interp_cuda_texture_linear.cu kernels/interp/interp_texture.cuh 's/if (p < np) out/if (p <= np) out/' \
  'out of bounds: .*interp_texture.cuh:[0-9]+' {} check interp --variant cuda/texture-linear --largest 30
in_kernel wrong-halo-row watch $march 's/row < HALO ? row : ROWS + row;/row < HALO ? row : ROWS + row - 1;/' FAIL derivative cuda/march
planted index-of-32-bits sanitize test_huge_grid kernels/derivative/derivative_cuda_naive.cu kernels/derivative/derivative_cuda_naive.cu 's/int64_t n = (int64_t)n1 \* n2 \* n3, p/int n = n1 * n2 * n3; int64_t p/' \
  'signed integer overflow' env RB_TEST_VARIANT=cuda/naive {}
in_kernel half-a-texel-off watch kernels/interp/interp_cuda_texture_linear.cu 's/(x3 + 0.5f)/(x3)/' FAIL interp cuda/texture-linear
planted copies-not-waited-for watch regbench kernels/derivative/derivative_cuda_direct.cu kernels/derivative/derivative_staged.cuh 's/__pipeline_wait_prior(DEPTH - 2)/__pipeline_wait_prior(DEPTH - 1)/' \
  'race: .*derivative_staged.cuh:[0-9]+' {} check derivative --variant cuda/direct --largest 4000
in_kernel host-reads-too-early watch kernels/field/field_cuda_grid.cu '/cudaStreamSynchronize/d' FAIL field cuda/grid
in_kernel loads-off-16-bytes watch $march 's/return g.n\[2\] % 4 == 0 .*/return 1 || (a \&\& b \&\& g.n[0]);/' 'out of bounds: .*derivative_cuda_march.cu:[0-9]+' derivative cuda/march
planted atomic-left-out watch regbench kernels/compose/compose_cuda_common.cu kernels/cuda/longest.cuh 's/atomicMax(most, mine);/*most = max(*most, mine);/' \
  'race: .*longest.cuh:[0-9]+' {} check compose --variant cuda/global --largest 30
in_kernel sum-one-step-short watch kernels/force/force_cuda_grid.cu 's/int o = 16; o > 0/int o = 16; o > 1/' FAIL force cuda/grid
in_kernel colours-swapped watch kernels/helmholtz/helmholtz_cuda_sor_block.cu 's/first + half) & 1/first + half + 1) \& 1/' FAIL helmholtz cuda/sor-block
planted roots-not-conjugated watch regbench kernels/helmholtz/helmholtz_cuda_axes.cu kernels/fft/register_dft.cuh 's/SIGN < 0 ? b.y : -b.y/b.y/' 'FAIL .*: solve' {} check helmholtz --variant cuda/axes --largest 30
in_kernel halved-where-it-falls watch kernels/steps/steps_cuda_grid.cu 's/is > e\[k\]/is < e[k]/' FAIL steps cuda/grid
in_kernel row-counted-too-early watch kernels/steps/steps_cuda_grid.cu '/__syncthreads/d' 'race: .*steps_cuda_grid.cu:[0-9]+' steps cuda/grid
s=kernels/splat
planted tile-race watch regbench $s/splat_cuda_fixed.cu $s/splat_cuda_fixed.cu 's|__syncthreads(); /\* 1 \*/||' 'race: .*splat_cuda_fixed.cu:[0-9]+' {} check splat --variant cuda/shared-fixed --largest 30
in_kernel box-not-cleared watch $s/splat_cuda_tile.cu 's/i < count; i += THREADS) sums\[i\] = 0;/i < count - 1; i += THREADS) sums[i] = 0;/' 'nobody wrote: |FAIL' splat cuda/tile
planted truncated-not-floored watch regbench $s/splat_cuda_float_atomic.cu $s/splat_cuda.cuh 's/const float f = floorf(x);/const float f = truncf(x);/' FAIL {} check splat --variant cuda/float-atomic --largest 30
planted half-a-weight watch regbench $s/splat_cuda_float_atomic.cu $s/splat_cuda.cuh 's/w\[0\] = u, w\[1\] = t;/w[0] = u, w[1] = 0.5f * t;/' FAIL {} check splat --variant cuda/float-atomic --largest 30
in_kernel overflow-not-told watch $s/splat_cuda_fixed.cu 's/held = splat_weighted(i, s);/held = report->given;/' FAIL splat cuda/fixed-atomic
u=kernels/currents
planted derivative-left-out watch regbench $u/currents_cuda_tiled.cu $u/currents_exact.cuh 's/s->z\[0\] += c \* d\[0\],/s->z[0] += 0 * d[0],/' FAIL {} check currents --variant cuda/tiled --largest 30
planted near-tiles-left-out watch regbench $u/currents_cuda_culled.cu $u/currents_sorted.cuh 's/#define REACH 6.0/#define REACH 2.0/' FAIL {} check currents --variant cuda/culled --largest 30
planted list-without-a-barrier watch regbench $u/currents_cuda_culled.cu $u/currents_sorted.cuh '/if (near) list/,/__syncthreads/{/__syncthreads/d}' 'race: .*currents_(sorted.cuh|cuda_culled.cu):[0-9]+' \
  {} check currents --variant cuda/culled --largest 30
in_kernel wide-tiles-unscaled watch $u/currents_cuda_tensor.cu 's|over \* s \* part.z|over / s * part.z|' FAIL currents cuda/tensor
in_kernel columns-swapped watch $u/currents_cuda_tensor.cu 's/const int j = 8 \* far + 2 \* q;/const int j = 8 * (1 - far) + 2 * q;/' FAIL currents cuda/tensor
in_kernel exponents-swapped watch $u/currents_cuda_tiled.cu 's/rb_half_pack(exponent\[0\], exponent\[1\])/rb_half_pack(exponent[1], exponent[0])/' FAIL currents cuda/half-exponential
in_kernel chunk-without-a-barrier watch $s/splat_cuda_bins.cu '/^  __syncthreads();/d' 'race: .*splat_cuda_bins.cu:[0-9]+' splat cuda/bins
in_kernel last-cell-left-out watch $s/splat_cuda_bins.cu 's/b1 < 0 ? l.n1 - 1/b1 < 0 ? 0/' FAIL splat cuda/bins
in_kernel channel-left-out watch kernels/l2force/l2force_cuda_grid.cu 's/k == 0, mean + k/k <= 1, mean + k/' FAIL l2force cuda/grid
in_kernel sum-taken-twice watch $s/splat_cuda_fixed.cu 's/atomicExch(at, 0ull) : 0ull/rb_look_relaxed(at) : 0ull/' 'race: .*splat_cuda_fixed.cu:[0-9]+|FAIL' splat cuda/fixed64
in_kernel weight-left-out watch kernels/l2force/l2force_cuda_grid.cu 's/weight \* sum/0 * weight + sum/' FAIL l2force cuda/grid
in_kernel planes-left-out watch kernels/l2force/l2force_cuda_grid.cu 's/i1 += (int)gridDim.z/i1 += n1/' FAIL l2force cuda/grid
in_kernel step-not-bounded watch kernels/steps/steps_cuda_grid.cu 's/fmin(first, most/fmax(first, most/' FAIL steps cuda/grid

# slips in what stands on the CPU: NAME "SOURCE..." FILE EDIT FAMILY VARIANT
in_check() { planted "$1" plain regbench "$2" "$3" "$4" FAIL {} check "$5" --variant "$6"; }
in_check width-not-corrected $u/currents.c $u/currents.c 's|RB_CURRENTS_CORRECTED ? 1.0 / 3|RB_CURRENTS_CORRECTED ? 0.0 / 3|' currents cpu/mesh
in_check normals-turned cpu_ref/elements/elements_omp.c kernels/elements/elements_body.h 's|out\[0\] = a\[1\] \* b\[2\] - a\[2\] \* b\[1\]|out[0] = a[2] * b[1] - a[1] * b[2]|' elements cpu/omp
in_check two-thirds-of-a-centre cpu_ref/elements/elements_omp.c kernels/elements/elements_body.h 's|(a\[k\] + b\[k\] + c\[k\]) / 3|(a[k] + b[k]) / 3|' elements cpu/omp
in_check slab-too-narrow cpu_ref/splat/splat_omp.c cpu_ref/splat/splat_omp.c 's|for (int i = 0; i < (d->basis == RB_SPLAT_LINEAR ? 2 : 4); i++)|for (int i = 0; i < 1; i++)|' splat cpu/omp
c=solvers/currents
# in_currents NAME "SOURCE..." FILE EDIT: a slip that test_currents must see
in_currents() { planted "$1" plain test_currents "$2" "$3" "$4" FAILED {}; }
in_currents surfaces-pushed-away $c/currents_iteration.c $c/currents_iteration.c 's/n, c->weight, of_one(c, c->force)/n, -c->weight, of_one(c, c->force)/'
in_currents fixed-norm-moves $c/surface_match.c $c/surface_match.c 's/2 \* kept\[1\] - kept\[0\] + q->fixed_energy/2 * kept[1] + q->fixed_energy/'
in_currents vertices-stay $c/currents_iteration.c $c/currents_iteration.c 's/3 \* s->vertices, -1, s->moved/3 * s->vertices, -0.5, s->moved/'

# in_atlas NAME "SOURCE..." FILE EDIT [COMMAND...]: a slip that test_atlas must see
in_atlas() {
  local name=$1 sources=$2 file=$3 edit=$4
  shift 4
  planted "$name" plain test_atlas "$sources" "$file" "$edit" FAILED "$@" {}
}
a=solvers/atlas
in_atlas force-away-from-the-mean cpu_ref/l2force/l2force_omp.c cpu_ref/l2force/l2force_real.h 's/REAL d = m\[i\] - v\[i\],/REAL d = v[i] - m[i],/'
in_atlas gamma-as-printed cpu_ref/helmholtz/helmholtz_fftw.c kernels/helmholtz/helmholtz_symbol.h 's/lambda = gamma - alpha/lambda = -gamma - alpha/'
in_atlas omega-of-the-sum kernels/helmholtz/helmholtz.c kernels/helmholtz/helmholtz.c 's|rho = sum / diagonal|rho = 3 * sum / diagonal|'
in_atlas mean-one-iteration-late $a/atlas.c $a/atlas.c 's/^    RB_TRY((behind ? rb_atlas_update_mean_behind : rb_atlas_update_mean)(a));$/;/; s/^    if (it >= iterations) break;.*/    if (it >= iterations) break;\n    RB_TRY(rb_atlas_update_mean(a));/'
in_atlas velocity-not-kept $a/atlas.c $a/atlas.c 's/a->omega, w->f, m->v)/a->omega, w->f, a->member[0].v)/'
in_atlas step-not-guarded $a/atlas.c $a/atlas.c 's|longest > noise_floor(a) ? a->options.step / longest : 0|longest > 0 * noise_floor(a) ? a->options.step / longest : 0|'
in_atlas displacement-not-scaled $a/atlas_levels.c $a/atlas_levels.c 's|(double)fine.n\[c\] / (double)coarse.n\[c\]|1|'
in_atlas half-a-voxel-off $a/atlas_levels.c $a/atlas_levels.c 's|((double)i + 0.5) \* r - 0.5|(double)i * r|'
planted half-a-sample-off plain test_datasets datasets/resample.c datasets/resample.c 's|((double)i + 0.5) \* s - 0.5|(double)i * s|' FAILED {}
planted box-too-small plain test_atlas_options $a/atlas_clip.c $a/atlas_clip.c 's|b->greatest\[axis\] + a->options.clip|b->greatest[axis] - 3 * a->options.clip|' FAILED {}
planted streamed-velocity-lost plain test_atlas_options $a/atlas_stream.c $a/atlas_stream.c 's|if (m->v.data) RB_TRY(download(a->backend, buffer->v, m->v));|;|' FAILED {}
# what runs side by side, executed on a CPU
emulated=none
grep -q '^RB_CUDA:.*=EMULATED' "$build/CMakeCache.txt" && emulated="plain watch"
twins() { planted "$1" "$emulated" test_cuda_twins "$2" "$2" "$3" FAILED {} "${4:-replays*}"; }
twins fork-without-waiting kernels/cuda/stream.cu 's/RB_CUDA_TRY(cudaStreamWaitEvent(streams\[k\], fork_event, 0));/{}/'
twins join-without-waiting kernels/cuda/stream.cu 's/RB_CUDA_TRY(cudaStreamWaitEvent(stream, ends\[k\], 0));/;/'
twins background-not-joined kernels/cuda/stream.cu '/rb_cuda_join/,/^}/s/is_of(k, count, background)/is_of(k, count, 0)/' 'currents*'
twins workspaces-shared $a/atlas_replay.c 's/return &a->work\[k % a->concurrent\];/return \&a->work[k % a->concurrent \& 1];/'
twins downloaded-too-soon $a/atlas_stream.c 's/download_image(a, &a->buffers\[(k - 1) % RB_BUFFERS\], &a->member\[k - 1\])/download_image(a, \&a->buffers[k % RB_BUFFERS], \&a->member[k])/'
if command -v mpirun >/dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  planted divided-by-the-own-images plain test_atlas_team $a/atlas_level.c $a/atlas_level.c 's/rb_average_finish(a->average\[s\], a->count,/rb_average_finish(a->average[s], a->own,/' FAILED mpirun --oversubscribe -n 2 {}
fi
planted threads-beyond-the-limit watch regbench kernels/interp/interp_cuda_texture_linear.cu kernels/interp/interp_texture.cuh 's/rb_blocks(np, 256), 256, 0/rb_blocks(np, 2048), 2048, 0/' \
  '2048 threads a block' {} check interp --variant cuda/texture-linear --largest 30
echo "$passed caught, $failed not"
test $failed = 0 && test $passed -gt 0

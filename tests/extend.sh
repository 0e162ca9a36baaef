#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# CONTRIBUTING's recipes, followed in a copy of the tree with a smallest example each: a variant, a family, a kind of case, a solver, a data set, an experiment. Each may touch the files that the recipe
# names and no other; then it is built (without CUDA), must stand in `regbench list`, and is checked and run.
# usage: extend.sh [FOLDER]     a folder to work in and to keep; without one a temporary one
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$(mktemp -d)}
[ -n "${1:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
failed=0
expect() { # WHAT COMMAND...: its exit code is 0
  local what=$1
  shift
  if "$@" >"$work/said" 2>&1; then echo "ok   $what"; else echo "FAIL $what:"; tail -5 "$work/said"; failed=$((failed + 1)); fi
}
shows() { # WHAT PATTERN COMMAND...: its output has the pattern
  local what=$1 pattern=$2
  shift 2
  "$@" >"$work/said" 2>&1 || true
  if grep -qE -- "$pattern" "$work/said"; then echo "ok   $what"; else echo "FAIL $what: no '$pattern' in:"; tail -5 "$work/said"; failed=$((failed + 1)); fi
}

git -C "$root" ls-files -z --cached --others --exclude-standard -- CMakeLists.txt LICENSE README.md CITATION.cff kernels cpu_ref solvers datasets experiments scripts tests results/same_code.csv |
  (cd "$root" && xargs -0 sh -c 'for f; do [ ! -f "$f" ] || echo "$f"; done' sh) | tar -C "$root" -c -T - | tar -C "$work" -x
cd "$work"
licence="/* SPDX-License-Identifier: BSD-3-Clause */"

# A variant: a file and a line.
{ sed 's/rb_average_omp/rb_average_twin/' cpu_ref/average/average_omp.c; } >cpu_ref/average/average_twin.c
echo 'RB_VARIANT(rb_average_twin, "cpu/twin", "", "an example")' >>kernels/average/average_variants.def

# A family: its folder here and in cpu_ref, a line in the registry, a file with its check.
mkdir kernels/scale cpu_ref/scale
cat >kernels/scale/scale.h <<C
$licence
/* scale: out = a f. Arrays [n], float64. */
#ifndef RB_SCALE_H
#define RB_SCALE_H
#include "kernels/base/variant.h"
#include <stdint.h>
typedef struct {
  rb_status (*run)(int64_t n, double a, const double *f, double *out);
} rb_scale_ops;
rb_status rb_scale(const rb_variant *v, int64_t n, double a, const double *f, double *out);
#endif
C
cat >kernels/scale/scale.c <<C
$licence
#include "kernels/scale/scale.h"
rb_status rb_scale(const rb_variant *v, int64_t n, double a, const double *f, double *out) {
  const rb_scale_ops *ops = v->ops;
  return n >= 0 ? ops->run(n, a, f, out) : RB_FAIL(RB_EINVAL, "scale: %lld values", (long long)n);
}
C
echo 'RB_VARIANT(rb_scale_ref, "cpu/ref", "", "an example")' >kernels/scale/scale_variants.def
cat >cpu_ref/scale/scale_ref.c <<C
$licence
#include "kernels/scale/scale.h"
static rb_status run(int64_t n, double a, const double *f, double *out) {
  for (int64_t i = 0; i < n; i++) out[i] = a * f[i];
  return RB_OK;
}
const rb_scale_ops rb_scale_ref = {run};
C
echo 'RB_FAMILY(scale, "an example")' >>kernels/registry/families.def
cat >experiments/runner/check/check_scale.c <<C
$licence
#include "experiments/runner/check/check.h"
#include "kernels/scale/scale.h"
void rb_check_scale(rb_checker *c) {
  double f[3] = {1, 2, 3}, out[3];
  if (rb_check_status(c, rb_scale(c->variant, 3, 2, f, out), "scale")) rb_check_value(c, out[2] - 6, 0, "twice three");
}
C

# A kind of case: a file and a line.
cat >experiments/runner/workloads/workload_scale.c <<C
$licence
#include "experiments/runner/workloads/workload.h"
#include "kernels/scale/scale.h"
#include <stdlib.h>
typedef struct {
  const rb_case *c;
  double f[1000], out[1000];
} state;
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)c, (void)rotations;
  *backend = 0, *host = sizeof(state);
}
static size_t footprint(const rb_case *c) {
  (void)c;
  return sizeof(state);
}
static void teardown(void *p) { free(p); }
static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  state *s = calloc(1, sizeof *s);
  (void)b, (void)rotations;
  if (!s) return RB_FAIL(RB_ENOMEM, "host memory");
  s->c = c;
  for (int i = 0; i < 1000; i++) s->f[i] = i;
  *out = s;
  return RB_OK;
}
static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_scale(s->c->variant, 1000, 2, s->f, s->out);
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  s->out[999] = -1;
  return RB_OK;
}
static rb_status verify(void *p, int turn, rb_outcome *o) {
  state *s = p;
  (void)turn;
  rb_outcome_verify(o, "last value", s->out[999] - 1998, 0, "twice 999");
  return RB_OK;
}
static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE}, {NULL, NULL}};
const rb_workload rb_workload_scale = {"scale", &rb_scale_family, predict, footprint, setup,
                                       run,     poison,           verify,  teardown,  axes, NULL};
C
echo 'RB_WORKLOAD(scale)' >>experiments/runner/workloads/workloads.def

# A solver: its folder and a line. This one finds that nothing moves.
mkdir solvers/still
cat >solvers/still/still_solver.c <<C
$licence
#include "kernels/registry/registry.h"
#include "solvers/solver.h"
#include <stdlib.h>
#include <string.h>
typedef struct {
  double unused;
} options;
static const rb_variant variants[] = {{"cpu", "", "an example", RB_ON_CPU("cpu")}};
static const rb_family family = {.name = "still", .what = "an example: nothing moves", .variants = variants, .count = 1};
typedef struct {
  rb_problem problem;
} state;
static void made_of(const rb_variant *v, char *out, size_t size) {
  (void)v;
  if (size) out[0] = '\\0';
}
static void defaults(void *o) { *(options *)o = (options){0}; }
static rb_status predict(const rb_variant *v, const void *o, const rb_problem_shape *shape, size_t *backend, size_t *host) {
  (void)v, (void)o, (void)shape;
  *backend = *host = 0;
  return RB_OK;
}
static rb_status create(const rb_variant *v, const void *o, const rb_problem *p, const rb_team *team,
                        const volatile int *interrupted, void **out) {
  state *s = calloc(1, sizeof *s);
  (void)v, (void)o, (void)team, (void)interrupted;
  if (!s) return RB_FAIL(RB_ENOMEM, "host memory");
  s->problem = *p;
  *out = s;
  return RB_OK;
}
static rb_status solve(void *p, rb_solution *solution) {
  (void)p;
  solution->end = RB_END_CONVERGED;
  rb_solution_scalar(solution, "moved", 0, "voxel", "0");
  return RB_OK;
}
static rb_status displacement(void *p, int t, void *out) {
  const state *s = p;
  (void)t;
  memset(out, 0, 3 * (size_t)rb_grid_points(s->problem.shape.grid) * sizeof(float));
  return RB_OK;
}
static void destroy(void *p) { free(p); }
static const rb_solver_option options_table[] = {{0}};
static const rb_history_column history[] = {{NULL, NULL}};
static const rb_output outputs[] = {{.name = "displacement", .kind = RB_OUTPUT_VECTOR, .what = "0", .get = displacement}, {0}};
const rb_solver rb_solver_still = {.family = &family, .preferred = "cpu", .otherwise = "cpu", .takes = RB_TAKES_IMAGES, .about = "",
                                   .made_of = made_of, .options = options_table, .options_size = sizeof(options), .defaults = defaults,
                                   .history = history, .outputs = outputs, .predict = predict, .create = create, .solve = solve, .destroy = destroy};
C
echo 'RB_SOLVER(still)' >>solvers/solvers.def

# A data set: a YAML, whose pair any experiment that takes pairs reads by name.
export REGBENCH_DATA=$work/data
mkdir -p images data
cat >make_image.c <<C
#include "datasets/phantom.h"
#include "datasets/volume.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  const rb_grid g = {{16, 16, 16}};
  float *image = malloc(4096 * sizeof *image), *labels = malloc(4096 * sizeof *labels);
  rb_phantom_head(g, image, labels);
  for (int i = 0; i < 2 && argc == 3; i++) {
    if (i) for (int k = 4095; k > 0; k--) image[k] = image[k - 1];
    if (rb_volume_write(argv[1 + i], NULL, g, image) != RB_OK) return 1;
  }
  return 0;
}
C
cat >>CMakeLists.txt <<C
add_executable(make_image make_image.c)
target_link_libraries(make_image PRIVATE rb_datasets)
C

# An experiment: a YAML in a paper's folder.
mkdir -p experiments/example
cat >experiments/example/scale.yaml <<Y
schema: 1
paper: example
name: scale
title: "An example"
source: "none"
cache: warm
methods:
  - {label: CPU, kind: scale, variant: cpu/ref}
axes:
  - {name: size, quick: ["16"]}
columns:
  - {name: time, metric: time, title: time, class: info}
Y
sed -e 's/^name: .*/name: pair/' -e 's/kind: scale, variant: cpu.ref/kind: registration, variant: cpu-fd8-linear/' -e '/^columns/i \  - {name: data, quick: [shifted]}' \
  experiments/example/scale.yaml >experiments/example/pair.yaml

cmake -S . -B build -G Ninja -DRB_CUDA=OFF -DCMAKE_BUILD_TYPE=Debug -DBUILD_TESTING=OFF -DRB_WERROR=ON >configured 2>&1 || { tail -5 configured; exit 1; }
cmake --build build -j "$(nproc)" >built 2>&1 || { grep -m 5 -E 'error|FAILED' built; exit 1; }
build/make_image images/one.nii.gz images/two.nii.gz
{
  printf 'name: shifted\ntitle: an example\nsource: none\nlicence: none\ncitation: none\nimage: one.nii.gz\nfiles:\n'
  for f in one two; do echo "  - {name: $f.nii.gz, sha256: $(sha256sum images/$f.nii.gz | cut -c1-64)}"; done
  printf 'pairs:\n  - {name: shifted-pair, template: one.nii.gz, reference: two.nii.gz}\n'
} >datasets/shifted.yaml
sed -i 's/\[shifted\]/[shifted, shifted-pair]/' experiments/example/pair.yaml

regbench=$work/build/regbench
shows "a variant is listed" 'cpu/twin' "$regbench" list average
expect "and checked" "$regbench" check average --variant cpu/twin
shows "a family is listed" 'scale' "$regbench" list
expect "and checked" "$regbench" check scale
expect "a kind of case runs, in an experiment of its own" "$regbench" run example/scale --out out
shows "with a valid case" '"status": "valid"' cat out/*/example/scale/quick.json
shows "a solver is listed" 'still' "$regbench" list
expect "registers" "$regbench" register still --template images/one.nii.gz --reference images/two.nii.gz --out registered
shows "and writes its numbers" '"moved"' cat registered/metrics.json
shows "a data set is listed" 'shifted-pair' "$regbench" data list
expect "and imported" "$regbench" data import shifted images
shows "its pair and its image are read by name" '2 valid, 0 invalid' "$regbench" run example/pair --out out
# a build without CUDA describes every experiment, too
for file in experiments/*/*.yaml; do
  name=${file#experiments/}
  for preset in quick paper; do expect "${name%.yaml} is described at preset $preset" "$regbench" describe "${name%.yaml}" --preset $preset; done
done
echo "$failed failed"
test $failed = 0

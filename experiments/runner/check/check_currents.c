/* SPDX-License-Identifier: BSD-3-Clause */
/* currents: every method against the oracle; formulas of spheres and circles; what a norm promises; the gradient by
 * Taylor's remainder; the particle mesh against the exact sums, with its order and its correction. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_currents.h"
#include "kernels/splat/splat.h"
#include "kernels/base/rng.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sources (y, m) and targets (x, p), [3][n] in dtype. */
typedef struct {
  rb_currents_desc d;
  int64_t n;
  void *y, *m, *x, *p, *u, *z, *u_want, *z_want;
} example;

static void release(example *e) {
  free(e->y), free(e->m), free(e->x), free(e->p);
  free(e->u), free(e->z), free(e->u_want), free(e->z_want);
}
static const rb_variant *splat_of(const rb_variant *v) {
  const rb_variant *splat = NULL;
  if (rb_variant_find(&rb_splat_family, v->backend == RB_CUDA ? "cuda/fixed64" : "cpu/omp", &splat) != RB_OK)
    rb_clear();
  return splat;
}
static void on_grid_of(example *e, rb_currents_method method, double spacing) {
  const double low[3] = {-3, -3, -3}, high[3] = {3, 3, 3};
  e->d.method = method, e->d.spacing = spacing;
  if (method != RB_CURRENTS_EXACT) rb_currents_fit_grid(low, high, &e->d);
}
static int reserve(rb_checker *c, rb_dtype t, double sigma, int64_t sources, int64_t targets, example *e) {
  const size_t size = rb_dtype_size(t), s = 3 * (size_t)sources * size, n = 3 * (size_t)targets * size;
  *e = (example){.n = targets,
                 .y = malloc(s),
                 .m = malloc(s),
                 .x = malloc(n),
                 .p = malloc(n),
                 .u = malloc(n),
                 .z = malloc(n),
                 .u_want = malloc(n),
                 .z_want = malloc(n)};
  e->d = (rb_currents_desc){.sigma = sigma, .sources = sources, .targets = targets, .dtype = t};
  if (e->y && e->m && e->x && e->p && e->u && e->z && e->u_want && e->z_want) return 1;
  return rb_check_status(c, RB_FAIL(RB_ENOMEM, "host memory"), "currents");
}
static int make_random(rb_checker *c, rb_dtype t, double sigma, int64_t sources, int64_t targets, example *e) {
  if (!reserve(c, t, sigma, sources, targets, e)) return 0;
  rb_check_random(t, e->y, 3 * sources, 61), rb_check_random(t, e->m, 3 * sources, 62);
  rb_check_random(t, e->x, 3 * targets, 63), rb_check_random(t, e->p, 3 * targets, 64);
  for (int64_t i = 0; i < 3 * sources; i++) rb_check_set(t, e->y, i, 2.5 * rb_check_at(t, e->y, i));
  for (int64_t i = 0; i < 3 * targets; i++) rb_check_set(t, e->x, i, 2.5 * rb_check_at(t, e->x, i));
  return 1;
}
static int make_sphere(rb_checker *c, rb_dtype t, int divisions, double radius, double sigma, example *e) {
  const double centre[3] = {0, 0, 0};
  rb_mesh mesh = {0};
  double *centres = NULL, *moments = NULL;
  int ok = rb_check_status(c, rb_mesh_sphere(divisions, radius, centre, &mesh), "a sphere") &&
           rb_check_status(c, rb_mesh_moments(&mesh, &centres, &moments), "its moments");
  *e = (example){0};
  if (ok) ok = reserve(c, t, sigma, mesh.faces, mesh.faces, e);
  for (int64_t i = 0; ok && i < 3 * mesh.faces; i++) {
    rb_check_set(t, e->y, i, centres[i]), rb_check_set(t, e->m, i, moments[i]);
    rb_check_set(t, e->x, i, centres[i]), rb_check_set(t, e->p, i, moments[i]);
  }
  free(moments), free(centres);
  rb_mesh_free(&mesh);
  return ok;
}

static int supported(const rb_variant *v, rb_currents_desc *d) {
  d->splat = splat_of(v);
  const int ok = ((const rb_currents_ops *)v->ops)->supports(d) == RB_OK;
  rb_clear();
  return ok;
}
static const char *name_of(rb_currents_method m) {
  static const char *const names[] = {"exact", "plain", "corrected", "cubic"};
  return names[m];
}

/* The largest sum of K |m| over the targets, and the sum of all |m|. */
static double largest_sum(const example *e, double *total) {
  const int64_t n = e->d.sources;
  double most = 0;
  *total = 0;
  for (int64_t i = 0; i < e->n; i++) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
      double d2 = 0, m2 = 0;
      for (int a = 0; a < 3; a++) {
        const double d = rb_check_at(e->d.dtype, e->x, a * e->n + i) - rb_check_at(e->d.dtype, e->y, a * n + j),
                     m = rb_check_at(e->d.dtype, e->m, a * n + j);
        d2 += d * d, m2 += m * m;
      }
      sum += exp(-d2 / (2 * e->d.sigma * e->d.sigma)) * sqrt(m2);
      if (i == 0) *total += sqrt(m2);
    }
    most = fmax(most, sum);
  }
  return most;
}

static void against_oracle(rb_checker *c, example *e, const char *what) {
  double total, energy[2], longest = 0;
  rb_currents_desc oracle = e->d;
  oracle.splat = NULL;
  if (!rb_check_status(c, rb_host_currents(c->variant, &e->d, e->y, e->m, e->n, e->x, e->p, e->u, e->z, &energy[0]),
                       "%s %s", name_of(e->d.method), what) ||
      !rb_check_status(c,
                       rb_host_currents(&rb_currents_family.variants[0], &oracle, e->y, e->m, e->n, e->x, e->p,
                                        e->u_want, e->z_want, &energy[1]),
                       "oracle"))
    return;
  const double size = largest_sum(e, &total), limit = rb_currents_tolerance(c->variant, &e->d, size, total);
  for (int64_t i = 0; i < e->n; i++) {
    double p2 = 0;
    for (int a = 0; a < 3; a++) p2 += pow(rb_check_at(e->d.dtype, e->p, a * e->n + i), 2);
    longest = fmax(longest, sqrt(p2));
  }
  const double turn = e->d.method == RB_CURRENTS_EXACT ? 2 * longest / e->d.sigma : 4 * longest / e->d.spacing;
  rb_check_value(c, rb_check_distance(e->d.dtype, e->u, e->u_want, 3 * e->n), limit, "u %s %s %s",
                 name_of(e->d.method), what, rb_dtype_name(e->d.dtype));
  rb_check_value(c, rb_check_distance(e->d.dtype, e->z, e->z_want, 3 * e->n), limit * turn, "z %s %s %s",
                 name_of(e->d.method), what, rb_dtype_name(e->d.dtype));
  rb_check_value(c, fabs(energy[0] - energy[1]), limit * total, "energy %s %s %s", name_of(e->d.method), what,
                 rb_dtype_name(e->d.dtype));
  if (rb_check_status(c, rb_host_currents(c->variant, &e->d, e->y, e->m, e->n, e->x, NULL, e->z, NULL, NULL),
                      "u alone"))
    rb_check_value(c, rb_check_distance(e->d.dtype, e->u, e->z, 3 * e->n),
                   c->variant->backend == RB_CUDA ? 16 * FLT_EPSILON * size : 0, "u without z: %s %s",
                   name_of(e->d.method), what);
}

static rb_status energy_of(const rb_variant *v, const rb_currents_desc *d, const void *y, const void *m,
                           double *out) {
  return rb_host_currents(v, d, y, m, 0, NULL, NULL, NULL, NULL, out);
}

/* Spheres of radius 20, sigma 5: 8 pi^2 R^4 (1/b - 1/b^2 + exp(-2 R^2/sigma^2) (1/b + 1/b^2)), b = R^2/sigma^2. The
 * faces' own error falls four times a division: it is .0095 at 320 of them. */
static void sphere(rb_checker *c, rb_dtype t) {
  const double r = 20, sigma = 5, b = r * r / (sigma * sigma);
  const double want = 8 * M_PI * M_PI * pow(r, 4) * (1 / b - 1 / (b * b) + exp(-2 * b) * (1 / b + 1 / (b * b)));
  for (int divisions = 2; divisions <= 3; divisions++) {
    example e;
    double energy;
    if (make_sphere(c, t, divisions, r, sigma, &e) && supported(c->variant, &e.d) &&
        rb_check_status(c, energy_of(c->variant, &e.d, e.y, e.m, &energy), "a sphere")) {
      const double expected = -0.0095 * pow(0.25, divisions - 2);
      rb_check_value(
          c, fabs((energy / want - 1) / expected - 1), 0.05 + rb_currents_pair_error(c->variant) / fabs(expected),
          "energy of a sphere of %lld faces, by formula: its error over the faces' own", (long long)e.d.sources);
    }
    release(&e);
  }
}

/* A circle, but for low precision, which is off by more than the segments: 4 pi^2 R^2 exp(-a) I_1(a), a =
 * R^2/sigma^2; what 32 segments lack is four times what 64 do. */
static void circle(rb_checker *c, rb_dtype t) {
  enum { MOST = 64 };
  const double r = 1, sigma = 1, a = r * r / (sigma * sigma);
  double bessel = 0, term = a / 2, lack[2] = {0};
  if (rb_currents_pair_error(c->variant) > 0) return;
  for (int k = 1; k < 30; k++) bessel += term, term *= a * a / 4 / (k * (k + 1));
  for (int half = 0; half < 2; half++) {
    const int n = half ? MOST / 2 : MOST;
    example e;
    double energy;
    if (reserve(c, t, sigma, n, n, &e) && supported(c->variant, &e.d)) {
      for (int i = 0; i < n; i++) {
        const double from = 2 * M_PI * i / n, to = 2 * M_PI * (i + 1) / n,
                     p[2][3] = {{cos(from), sin(from), 0}, {cos(to), sin(to), 0}};
        for (int k = 0; k < 3; k++)
          rb_check_set(t, e.y, k * n + i, r * (p[0][k] + p[1][k]) / 2),
              rb_check_set(t, e.m, k * n + i, r * (p[1][k] - p[0][k]));
      }
      if (rb_check_status(c, energy_of(c->variant, &e.d, e.y, e.m, &energy), "a circle"))
        lack[half] = 1 - energy / (4 * M_PI * M_PI * r * r * exp(-a) * bessel);
      if (half)
        rb_check_value(c, fabs(lack[1] / lack[0] - 4), 0.05,
                       "energy of a circle by formula, lacking with 32 over 64 segments");
    }
    release(&e);
  }
}

/* Moments turned and added to themselves; places moved; all scaled by 2: E by 2^4 with moments by 4. */
static void norm(rb_checker *c, example *e) {
  const int64_t n = e->d.sources;
  const rb_dtype t = e->d.dtype;
  double first, other, total;
  largest_sum(e, &total);
  const double small = (t == RB_F64 ? 1e-12 : 1e-5) + rb_currents_pair_error(c->variant);
  if (!rb_check_status(c, energy_of(c->variant, &e->d, e->y, e->m, &first), "a norm")) return;
  rb_check_value(c, -first, 0, "-energy (positive: it is a norm), %s", name_of(e->d.method));
  for (int64_t i = 0; i < 3 * n; i++) rb_check_set(t, e->m, i, -rb_check_at(t, e->m, i));
  if (rb_check_status(c, energy_of(c->variant, &e->d, e->y, e->m, &other), "turned"))
    rb_check_value(c, fabs(other / first - 1), 0, "energy of what is turned, to the bit, %s", name_of(e->d.method));
  if (e->d.method == RB_CURRENTS_EXACT)
    for (int64_t i = 0; i < 3 * n; i++) rb_check_set(t, e->y, i, rb_check_at(t, e->y, i) + (double)(8 * (i / n)));
  if (e->d.method == RB_CURRENTS_EXACT &&
      rb_check_status(c, energy_of(c->variant, &e->d, e->y, e->m, &other), "moved"))
    rb_check_value(c, fabs(other / first - 1), 10 * small, "energy of what is moved");
  for (int64_t i = 0; i < 3 * n; i++)
    rb_check_set(t, e->y, i, 2 * rb_check_at(t, e->y, i)), rb_check_set(t, e->m, i, 4 * rb_check_at(t, e->m, i));
  rb_currents_desc twice = e->d;
  twice.sigma *= 2, twice.spacing *= 2;
  for (int a = 0; a < 3; a++) twice.origin[a] *= 2;
  if (rb_check_status(c, energy_of(c->variant, &twice, e->y, e->m, &other), "scaled"))
    rb_check_value(c, fabs(other / first / 16 - 1), 10 * small, "energy of what is scaled by 2 is 2^4 times, %s",
                   name_of(e->d.method));
}

/* A set and its negative together have no energy: places twice, moments with both signs. */
static void itself(rb_checker *c, rb_dtype t, rb_currents_method method) {
  example e;
  if (make_random(c, t, 1, 200, 1, &e)) {
    on_grid_of(&e, method, 0.5);
    for (int64_t k = 0; k < 6; k++) /* [3][200]: the second hundred is the first, turned */
      if (k % 2)
        for (int64_t i = 0; i < 100; i++) {
          const int64_t at = k / 2 * 200 + i;
          rb_check_set(t, e.y, at + 100, rb_check_at(t, e.y, at)),
              rb_check_set(t, e.m, at + 100, -rb_check_at(t, e.m, at));
        }
    double energy, total;
    const double size = largest_sum(&e, &total), of_pairs = rb_currents_pair_error(c->variant) * size / total;
    if (supported(c->variant, &e.d) && rb_check_status(c, energy_of(c->variant, &e.d, e.y, e.m, &energy), "itself"))
      rb_check_value(c, fabs(energy) / (total * total), (t == RB_F64 ? 1e-15 : 1e-6) + of_pairs,
                     "energy of a set and its negative, %s", name_of(method));
  }
  release(&e);
}

/* E along a direction of the places: what E(h) - E - h slope leaves falls a hundred times for a tenth of h. */
static void taylor(rb_checker *c, rb_currents_method method, double spacing) {
  enum { N = 60 };
  example e;
  if (make_random(c, RB_F64, 1, N, N, &e)) {
    double *direction = malloc(3 * N * sizeof *direction), *y = malloc(3 * N * sizeof *y), energy, slope, rest[2];
    on_grid_of(&e, method, spacing);
    if (direction && y && supported(c->variant, &e.d) &&
        rb_check_status(c, rb_host_currents(c->variant, &e.d, e.y, e.m, N, e.y, e.m, e.u, e.z, &energy), "taylor")) {
      rb_check_random(RB_F64, direction, 3 * N, 66);
      slope = 2 * rb_check_dot(RB_F64, e.z, direction, 3 * N);
      for (int k = 0; k < 2; k++) {
        const double h = k ? 1e-4 : 1e-3;
        double there;
        for (int i = 0; i < 3 * N; i++) y[i] = ((double *)e.y)[i] + h * direction[i];
        if (!rb_check_status(c, energy_of(c->variant, &e.d, y, e.m, &there), "taylor")) break;
        rest[k] = fabs(there - energy - h * slope);
        if (k)
          rb_check_value(c, fabs(rest[0] / rest[1] / 100 - 1), 0.1, "Taylor's remainder falls as the square, %s",
                         name_of(method));
      }
    }
    free(y), free(direction);
  }
  release(&e);
}

/* The particle mesh against the exact sums of a sphere, radius 2.5, sigma 1, by the spacing over sigma. What the
 * facts of real surfaces show: plain is off by some -h^2/(2 sigma^2), of second order; corrected a hundred times
 * less. */
static void approximation(rb_checker *c) {
  example e;
  double exact, of[3][3];
  const double spacing[3] = {0.5, 0.25, 0.125};
  if (make_sphere(c, c->variant->backend == RB_CUDA ? RB_F32 : RB_F64, 3, 2.5, 1, &e)) {
    rb_currents_desc sums = e.d;
    int ok = rb_check_status(c, energy_of(&rb_currents_family.variants[0], &sums, e.y, e.m, &exact), "exact");
    for (int method = RB_CURRENTS_PLAIN; ok && method <= RB_CURRENTS_CUBIC; method++)
      for (int k = 0; ok && k < (c->largest ? 2 : 3); k++) {
        on_grid_of(&e, (rb_currents_method)method, spacing[k]);
        ok = supported(c->variant, &e.d) &&
             rb_check_status(c, energy_of(c->variant, &e.d, e.y, e.m, &of[method - 1][k]), "%s",
                             name_of((rb_currents_method)method));
        of[method - 1][k] = of[method - 1][k] / exact - 1;
      }
    if (ok) {
      rb_check_value(c, fabs(log2(of[0][0] / of[0][1]) - 2), 0.2,
                     "plain: order of the energy's error over the spacing, against 2");
      rb_check_value(c, fabs(of[1][1]), 2e-3, "corrected: relative error of the energy at h = sigma/4");
      rb_check_value(c, fabs(of[2][1]), 5e-4, "cubic: relative error of the energy at h = sigma/4");
      rb_check_value(c, fabs(of[1][1] / of[0][1]), 0.05, "corrected over plain at h = sigma/4");
      rb_check_value(c, of[0][1], 0, "plain widens the kernel: energy too low (negative)");
    }
  }
  release(&e);
}

/* E by another origin of the grid; plain of the narrower kernel is corrected, but for its amplitude. */
static void grids(rb_checker *c, rb_dtype t) {
  example e;
  double one, two;
  if (make_sphere(c, t, 3, 2.5, 1, &e)) {
    on_grid_of(&e, RB_CURRENTS_CORRECTED, 0.25);
    if (supported(c->variant, &e.d) && rb_check_status(c, energy_of(c->variant, &e.d, e.y, e.m, &one), "corrected")) {
      rb_currents_desc narrow = e.d;
      narrow.method = RB_CURRENTS_PLAIN, narrow.sigma = sqrt(rb_currents_variance(&e.d));
      if (rb_check_status(c, energy_of(c->variant, &narrow, e.y, e.m, &two), "plain"))
        rb_check_value(c, fabs(two * rb_currents_amplitude(&e.d) / one - 1), t == RB_F64 ? 1e-12 : 1e-5,
                       "plain at the corrected width, times the amplitude, is corrected");
      for (int a = 0; a < 3; a++) e.d.origin[a] += 0.11 * (a + 1) * e.d.spacing;
      if (rb_check_status(c, energy_of(c->variant, &e.d, e.y, e.m, &two), "moved grid"))
        rb_check_value(c, fabs(two / one - 1), 2e-3, "energy by a moved grid");
    }
  }
  release(&e);
}

/* A sigma far below the spacing, and moments that are no numbers, are refused by a particle mesh. */
static void refused(rb_checker *c) {
  example e;
  double energy;
  if (make_random(c, c->variant->backend == RB_CUDA ? RB_F32 : RB_F64, 1, 50, 1, &e)) {
    on_grid_of(&e, RB_CURRENTS_PLAIN, 0.5);
    if (supported(c->variant, &e.d)) {
      e.d.sigma = 0.12;
      rb_status st = energy_of(c->variant, &e.d, e.y, e.m, &energy);
      rb_clear();
      rb_check_value(c, st == RB_EINVAL ? 0 : 1, 0, "sigma below a quarter of the spacing is refused (0: it is)");
      e.d.sigma = 1;
      rb_check_set(e.d.dtype, e.m, 7, NAN);
      if (c->variant != &rb_currents_family.variants[0]) {
        st = energy_of(c->variant, &e.d, e.y, e.m, &energy);
        rb_clear();
        rb_check_value(c, st == RB_EINVAL ? 0 : 1, 0, "a moment that is no number is refused (0: it is)");
      }
    }
  }
  release(&e);
}

void rb_check_currents(rb_checker *c) {
  static const struct { int64_t sources, targets; } sets[] = {{1, 1}, {63, 130}, {65, 64}, {700, 301}};
  for (int t = RB_F32; t <= RB_F64; t++) {
    for (int method = RB_CURRENTS_EXACT; method <= RB_CURRENTS_CUBIC; method++) {
      for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        example e;
        if (make_random(c, (rb_dtype)t, k % 2 ? 0.4 : 1, sets[k].sources, sets[k].targets, &e)) {
          on_grid_of(&e, (rb_currents_method)method, 0.45);
          if (supported(c->variant, &e.d)) against_oracle(c, &e, k == 0 ? "of one" : "of random points");
          if (supported(c->variant, &e.d) && k == 3) norm(c, &e);
        }
        release(&e);
      }
      itself(c, (rb_dtype)t, (rb_currents_method)method);
      rb_check_currents_surfaces(c, (rb_dtype)t, method, name_of((rb_currents_method)method));
    }
    sphere(c, (rb_dtype)t);
    circle(c, (rb_dtype)t);
    grids(c, (rb_dtype)t);
  }
  taylor(c, RB_CURRENTS_EXACT, 1);
  taylor(c, RB_CURRENTS_CORRECTED, 0.5);
  taylor(c, RB_CURRENTS_CUBIC, 0.5);
  approximation(c);
  refused(c);
  rb_check_currents_fixed(c);
}

void rb_check_currents_golden(rb_checker *c) {
  const rb_variant *v = c->of_variant ? c->variant : &rb_currents_family.variants[0];
  example e;
  if (make_random(c, RB_F32, 0.7, 150, 40, &e))
    for (int method = RB_CURRENTS_EXACT; method <= RB_CURRENTS_CUBIC; method++) {
      on_grid_of(&e, (rb_currents_method)method, 0.5);
      if (c->of_variant && !supported(v, &e.d)) continue;
      char name[32];
      double total;
      const double size = largest_sum(&e, &total);
      if (!rb_check_status(c, rb_host_currents(v, &e.d, e.y, e.m, e.n, e.x, e.p, e.u, e.z, NULL), "golden")) continue;
      const double limit = rb_currents_tolerance(c->variant, &e.d, size, total);
      snprintf(name, sizeof name, "%s-u", name_of((rb_currents_method)method));
      rb_check_golden(c, name, e.u, 3 * e.n, limit);
      snprintf(name, sizeof name, "%s-z", name_of((rb_currents_method)method));
      rb_check_golden(c, name, e.z, 3 * e.n, limit * 12);
    }
  release(&e);
}

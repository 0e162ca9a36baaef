/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rounding of a texture unit does to interpolation: errors against exact weights of kernels made of
 * trilinear fetches, on texels that are drawn from (-1, 1), at 10^6 drawn points. "Fractions": a unit whose three
 * fractions have 8 bits and whose eight weights are their exact products, as NVIDIA's manual reads; "unit": weights
 * that are whole 256ths, too, as an H200 has them (texture_unit.h). Prints the rows of the table in
 * experiments/brunn2020/texture_rounding.md. */
#include "../src/texture_unit.h"

#include <cmath>
#include <cstdint>
#include <cstdio>

enum { TAPS = 4, POINTS = 1000000 };

static double drawn() { /* [0, 1): a linear congruence, the same everywhere */
  static uint64_t state = 20201101;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) / 9007199254740992.0;
}

/* An axis's fetches: between taps `first` and first + 1, at fraction t of the second, counted with `weight`. */
struct axis_fetches {
  int count, first[3];
  double t[3], weight[3];
};
static axis_fetches linear(double t) { return {1, {1}, {t}, {1}}; }
static void lagrange_taps(double t, double w[4]) {
  w[0] = -t * (t - 1) * (t - 2) / 6, w[1] = (t + 1) * (t - 1) * (t - 2) / 2, w[2] = -(t + 1) * t * (t - 2) / 2,
  w[3] = (t + 1) * t * (t - 1) / 6;
}
static axis_fetches lagrange(double t) {
  double w[4];
  lagrange_taps(t, w);
  return {3, {0, 1, 3}, {0, w[2] / (w[1] + w[2]), 0}, {w[0], w[1] + w[2], w[3]}};
}
static axis_fetches spline(double t) {
  const double s = 1 - t, w0 = s * s * s / 6, w1 = 2. / 3 - t * t * (2 - t) / 2, w3 = t * t * t / 6,
               w2 = 1 - w0 - w1 - w3;
  return {2, {0, 2}, {w1 / (w0 + w1), w3 / (w2 + w3)}, {w0 + w1, w2 + w3}};
}

enum unit { EXACT, FRACTIONS, WHOLE };

/* One trilinear fetch. Axes in the order w, v, u. */
static double fetch(unit how, const double c[TAPS + 1][TAPS + 1][TAPS + 1], const int at[3], const double t[3]) {
  int fraction[3], whole[2][2][2];
  double sum = 0;
  for (int a = 0; a < 3; a++) {
    const texture_unit::position p = texture_unit::place(t[a] + 0.5);
    fraction[a] = p.fraction + 256 * (int)p.index; /* 256: the next texel */
  }
  texture_unit::weights(fraction[2], fraction[1], fraction[0], whole);
  for (int k = 0; k < 2; k++)
    for (int j = 0; j < 2; j++)
      for (int i = 0; i < 2; i++) {
        double part[3];
        const int side[3] = {k, j, i};
        for (int a = 0; a < 3; a++) {
          const double f = how == EXACT ? t[a] : fraction[a] / 256.0;
          part[a] = side[a] ? f : 1 - f;
        }
        sum += (how == WHOLE ? whole[k][j][i] / 256.0 : part[0] * part[1] * part[2]) *
               c[at[0] + k][at[1] + j][at[2] + i];
      }
  return sum;
}

static double value(unit how, axis_fetches (*axis)(double), const double c[TAPS + 1][TAPS + 1][TAPS + 1],
                    const double t[3]) {
  const axis_fetches w = axis(t[0]), v = axis(t[1]), u = axis(t[2]);
  double sum = 0;
  for (int k = 0; k < w.count; k++)
    for (int j = 0; j < v.count; j++)
      for (int i = 0; i < u.count; i++) {
        const int at[3] = {w.first[k], v.first[j], u.first[i]};
        const double place[3] = {w.t[k], v.t[j], u.t[i]};
        sum += w.weight[k] * v.weight[j] * u.weight[i] * fetch(how, c, at, place);
      }
  return sum;
}

int main() {
  static const struct {
    const char *name;
    axis_fetches (*axis)(double);
  } kernels[] = {{"GPU-TXTLIN, composition by textures", linear},
                 {"GPU-TXTSPL, of its coefficients", spline},
                 {"GPU-TXTLAG", lagrange}};
  static double c[TAPS + 1][TAPS + 1][TAPS + 1];
  for (const auto &kernel : kernels) {
    double square[2] = {0, 0}, most[2] = {0, 0};
    for (int p = 0; p < POINTS; p++) {
      for (auto &plane : c)
        for (auto &row : plane)
          for (double &texel : row) texel = 2 * drawn() - 1;
      const double t[3] = {drawn(), drawn(), drawn()}, exact = value(EXACT, kernel.axis, c, t);
      for (int how = FRACTIONS; how <= WHOLE; how++) {
        const double error = std::fabs(value((unit)how, kernel.axis, c, t) - exact);
        square[how - 1] += error * error, most[how - 1] = std::fmax(most[how - 1], error);
      }
    }
    const axis_fetches one = kernel.axis(0.3);
    std::printf("| %s | %d | %.5f | %.5f | %.4f | %.4f |\n", kernel.name, one.count * one.count * one.count,
                std::sqrt(square[0] / POINTS), std::sqrt(square[1] / POINTS), most[0], most[1]);
  }
}

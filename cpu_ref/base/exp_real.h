/* SPDX-License-Identifier: BSD-3-Clause */
/* An exponential that vectorises, once a precision: REAL, SUFFIX(name), INTEGER and UNSIGNED of the same size,
 * MANTISSA bits, BIAS of the exponent, TERMS of the series, LEAST argument. */

/* exp(x) for x <= 0, and e^LEAST below LEAST, by 2^k e^r with |r| <= ln 2 / 2 and Taylor's series of e^r: vectorises
 * where libm's does not. */
static inline UNSIGNED SUFFIX(bits_of)(REAL x) {
  UNSIGNED bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline REAL SUFFIX(of_bits)(UNSIGNED bits) {
  REAL x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
static inline REAL SUFFIX(exp_negative)(REAL x) {
  /* the greater of x and LEAST: negative numbers order backwards by their bits, and GCC makes no branch of it */
  const UNSIGNED bits = SUFFIX(bits_of)(x), least = SUFFIX(bits_of)(LEAST);
  const REAL t = SUFFIX(of_bits)(bits < least ? bits : least) * (REAL)1.44269504088896340736;
  const INTEGER k = (INTEGER)(t - (REAL)0.5); /* nearest for t <= 0 */
  /* x = k ln 2 + r:  t = x log2(e),  r = (t - k) ln 2 */
  const REAL r = (t - (REAL)k) * (REAL)0.69314718055994530942;
  static const REAL inverse[] = {
      1,           (REAL)1 / 2, (REAL)1 / 3,  (REAL)1 / 4,  (REAL)1 / 5,  (REAL)1 / 6,  (REAL)1 / 7,
      (REAL)1 / 8, (REAL)1 / 9, (REAL)1 / 10, (REAL)1 / 11, (REAL)1 / 12, (REAL)1 / 13, (REAL)1 / 14};
  /* Horner's scheme:  e^r = 1 + r (1 + r/2 (1 + r/3 (..)));  multiplications by 1/i instead of divisions */
  REAL sum = 1;
#pragma GCC unroll 16
  for (int i = TERMS; i > 0; i--) sum = 1 + sum * r * inverse[i - 1];
  /* 2^k by its exponent bits; k + BIAS is positive for all arguments from LEAST on */
  return sum * SUFFIX(of_bits)((UNSIGNED)(k + BIAS) << MANTISSA);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/affine_file.h"

#include "datasets/input_file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ITK's parameters: the matrix row by row, then the translation; fixed ones: the centre of rotation. All of a world
 * that counts left and posterior, so signs of the first two axes turn. */
static void of_itk(const double p[12], const double centre[3], rb_affine *out) {
  static const double turned[3] = {-1, -1, 1};
  for (int r = 0; r < 3; r++) {
    double offset = p[9 + r] + centre[r];
    for (int c = 0; c < 3; c++) {
      offset -= p[3 * r + c] * centre[c];
      out->m[r][c] = turned[r] * turned[c] * p[3 * r + c];
    }
    out->m[r][3] = turned[r] * offset;
  }
  out->known = 1;
}

static int is_matrix(const char *kind, size_t length) {
  static const char *const kinds[] = {"AffineTransform_", "MatrixOffsetTransformBase_"};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (length >= strlen(kinds[k]) && strncmp(kind, kinds[k], strlen(kinds[k])) == 0) return 1;
  return 0;
}

static int numbers(const char *text, int count, double *out) {
  char *end;
  for (int i = 0; i < count; i++, text = end) {
    out[i] = strtod(text, &end);
    if (end == text) return i;
  }
  return count;
}

static rb_status read_text(const char *path, const char *text, rb_affine *out) {
  rb_status st = RB_OK;
  double p[12], centre[3];
  const char *kind = strstr(text, "\nTransform:"), *values = strstr(text, "\nParameters:"),
             *fixed = strstr(text, "\nFixedParameters:");
  RB_CHECK(kind && values && fixed, RB_EFORMAT, "%s: no Transform, Parameters and FixedParameters in it", path);
  kind += strlen("\nTransform:"), kind += strspn(kind, " ");
  RB_CHECK(is_matrix(kind, strcspn(kind, "\r\n")), RB_EFORMAT,
           "%s holds a transform %.*s; AffineTransform and MatrixOffsetTransformBase are read", path,
           (int)strcspn(kind, "\r\n"), kind);
  RB_CHECK(!strstr(kind, "\nTransform:"), RB_EFORMAT, "%s holds several transforms; one is read", path);
  RB_CHECK(numbers(values + strlen("\nParameters:"), 12, p) == 12 &&
               numbers(fixed + strlen("\nFixedParameters:"), 3, centre) == 3,
           RB_EFORMAT, "%s: 12 parameters and 3 fixed ones are needed", path);
  of_itk(p, centre, out);
done:
  return st;
}

static rb_status read_plain(const char *path, const char *text, rb_affine *out) {
  rb_status st = RB_OK;
  double m[17];
  const int count = numbers(text, 17, m);
  RB_CHECK(count == 16, RB_EFORMAT, "%s: neither ITK's transform nor four rows of four numbers", path);
  RB_CHECK(m[12] == 0 && m[13] == 0 && m[14] == 0 && m[15] == 1, RB_EFORMAT, "%s: its fourth row is not 0 0 0 1",
           path);
  for (int i = 0; i < 12; i++) out->m[i / 4][i % 4] = m[i];
  out->known = 1;
done:
  return st;
}

/* MATLAB's level 4: matrices one after the other, each of five int32 (type, rows, columns, imaginary, length of the
 * name), the name and the values. Type 0: little-endian double; 10: float. */
static int take_matrix(const unsigned char **at, const unsigned char *end, char name[64], double *values, int most) {
  int32_t head[5];
  if (end - *at < (int)sizeof head) return 0;
  memcpy(head, *at, sizeof head), *at += sizeof head;
  const int width = head[0] == 0 ? 8 : head[0] == 10 ? 4 : 0;
  if (!width || head[1] < 1 || head[2] < 1 || head[1] > most || head[2] != 1 || head[3] != 0) return 0;
  if (head[4] < 1 || head[4] > 63 || end - *at < head[4] + head[1] * width) return 0;
  memcpy(name, *at, (size_t)head[4]), name[head[4]] = '\0', *at += head[4];
  for (int i = 0; i < head[1]; i++, *at += width) {
    float narrow;
    memcpy(width == 8 ? (void *)&values[i] : (void *)&narrow, *at, (size_t)width);
    if (width == 4) values[i] = (double)narrow;
  }
  return head[1];
}
static rb_status read_binary(const char *path, const unsigned char *bytes, size_t length, rb_affine *out) {
  rb_status st = RB_OK;
  const unsigned char *at = bytes, *end = bytes + length;
  char kind[64] = "", name[64] = "";
  double p[12], centre[12];
  const int parameters = take_matrix(&at, end, kind, p, 12);
  const int fixed = parameters ? take_matrix(&at, end, name, centre, 12) : 0;
  RB_CHECK(parameters == 12 && fixed == 3 && is_matrix(kind, strlen(kind)) && strcmp(name, "fixed") == 0, RB_EFORMAT,
           "%s: neither ITK's affine transform (text or .mat) nor four rows of four numbers", path);
  of_itk(p, centre, out);
done:
  return st;
}

rb_status rb_affine_read(const char *path, rb_affine *out) {
  rb_status st = RB_OK;
  rb_affine inverse;
  char *text = NULL;
  size_t length;
  RB_TRY(rb_input_text(path, &text, &length));
  if (strncmp(text, "#Insight Transform File", 23) == 0)
    RB_TRY(read_text(path, text, out));
  else if (memchr(text, '\0', length))
    RB_TRY(read_binary(path, (const unsigned char *)text, length, out));
  else
    RB_TRY(read_plain(path, text, out));
  for (int i = 0; i < 12; i++)
    RB_CHECK(isfinite(out->m[i / 4][i % 4]), RB_EFORMAT, "%s: a number is not finite", path);
  RB_CHECK(rb_affine_inverse(out, &inverse), RB_EFORMAT, "%s: its matrix has no inverse", path);
done:
  free(text);
  return st;
}

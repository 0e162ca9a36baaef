/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/gifti_structure.h"

#include <ctype.h>
#include <expat.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* GIFTI 1.0, which element may stand in which; the first column is the outer one, "" the document. */
static const char *const places[][2] = {{"", "GIFTI"},
                                        {"GIFTI", "MetaData"},
                                        {"GIFTI", "LabelTable"},
                                        {"GIFTI", "DataArray"},
                                        {"MetaData", "MD"},
                                        {"MD", "Name"},
                                        {"MD", "Value"},
                                        {"LabelTable", "Label"},
                                        {"DataArray", "MetaData"},
                                        {"DataArray", "CoordinateSystemTransformMatrix"},
                                        {"DataArray", "Data"},
                                        {"CoordinateSystemTransformMatrix", "DataSpace"},
                                        {"CoordinateSystemTransformMatrix", "TransformedSpace"},
                                        {"CoordinateSystemTransformMatrix", "MatrixData"}};
enum { PLACES = sizeof places / sizeof *places, DEPTH = 8 };

typedef struct {
  XML_Parser parser;
  const char *open[DEPTH + 1]; /* the elements around the place, the document first */
  int depth;
  char misplaced[64]; /* the element that stands in a wrong place, or "" */
  /* Of the DataArray that is open: the values that its dimensions announce, and the bytes of one; its encoding. Of
   * its Data so far: words, or bytes when decoded and unpacked. */
  double announced;
  int value_bytes, in_word, too_short;
  char encoding[32];
  double words, bytes;
  unsigned bits, digits; /* of base64: the last ones, six bits each, and how many there were */
  int unpacking;
  z_stream packed;
} state;

static void data_array(state *s, const char **attributes) {
  double dimensions = 1;
  s->announced = 1, s->value_bytes = 4, s->encoding[0] = '\0';
  for (int k = 0; attributes[k]; k += 2) {
    const char *name = attributes[k], *value = attributes[k + 1];
    if (strcmp(name, "Dimensionality") == 0) dimensions = strtod(value, NULL);
    if (strcmp(name, "DataType") == 0 && strstr(value, "UINT8")) s->value_bytes = 1;
    if (strcmp(name, "Encoding") == 0) snprintf(s->encoding, sizeof s->encoding, "%s", value);
  }
  for (int k = 0; attributes[k]; k += 2)
    if (strncmp(attributes[k], "Dim", 3) == 0 && isdigit((unsigned char)attributes[k][3]) &&
        strtod(attributes[k] + 3, NULL) < dimensions)
      s->announced *= fmax(0, strtod(attributes[k + 1], NULL));
}
/* A decoded byte: itself, or what it unpacks to. What is no deflate ends the array there. */
static void count_byte(state *s, unsigned char byte) {
  unsigned char room[4096];
  if (!s->unpacking) {
    s->bytes++;
    return;
  }
  s->packed.next_in = &byte, s->packed.avail_in = 1;
  do {
    s->packed.next_out = room, s->packed.avail_out = sizeof room;
    if (inflate(&s->packed, Z_NO_FLUSH) != Z_OK && s->packed.avail_out == sizeof room) return;
    s->bytes += (double)(sizeof room - s->packed.avail_out);
  } while (s->packed.avail_out == 0);
}
static void decode_digit(state *s, char c) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = strchr(digits, c);
  if (!at || !c) return;
  s->bits = s->bits << 6 | (unsigned)(at - digits);
  const unsigned place = s->digits++ % 4; /* the second, third and fourth digit of four complete a byte each */
  if (place > 0) count_byte(s, (unsigned char)(s->bits >> (6 - 2 * place)));
}
static void characters(void *context, const char *text, int n) {
  state *s = context;
  if (strcmp(s->open[s->depth], "Data") != 0) return;
  for (int i = 0; i < n; i++) {
    const int blank = isspace((unsigned char)text[i]);
    s->words += !blank && !s->in_word;
    s->in_word = !blank;
    if (!blank && strstr(s->encoding, "Base64")) decode_digit(s, text[i]);
  }
}
static void data_begins(state *s) {
  if (s->unpacking) inflateEnd(&s->packed); /* Data within Data: refused below */
  s->words = s->bytes = 0, s->in_word = 0, s->bits = s->digits = 0;
  s->packed = (z_stream){0};
  s->unpacking = strncmp(s->encoding, "GZip", 4) == 0 && inflateInit(&s->packed) == Z_OK;
}
/* An external file is giftiio's matter. */
static void data_ends(state *s) {
  if (s->unpacking) inflateEnd(&s->packed);
  s->unpacking = 0;
  if (strcmp(s->encoding, "ASCII") == 0) s->too_short = s->words < s->announced;
  if (strstr(s->encoding, "Base64")) s->too_short = s->bytes < s->announced * s->value_bytes;
  if (s->too_short) XML_StopParser(s->parser, XML_FALSE);
}

static void opened(void *context, const char *name, const char **attributes) {
  state *s = context;
  if (strcmp(name, "DataArray") == 0) data_array(s, attributes);
  if (strcmp(name, "Data") == 0) data_begins(s);
  for (int k = 0; k < PLACES && s->depth < DEPTH; k++)
    if (strcmp(places[k][0], s->open[s->depth]) == 0 && strcmp(places[k][1], name) == 0) {
      s->open[++s->depth] = places[k][1];
      return;
    }
  snprintf(s->misplaced, sizeof s->misplaced, "%s", name);
  XML_StopParser(s->parser, XML_FALSE);
}
static void closed(void *context, const char *name) {
  state *s = context;
  if (strcmp(name, "Data") == 0 && !*s->misplaced) data_ends(s);
  if (!*s->misplaced) s->depth--; /* the end of <Misplaced/> is still told */
}

static rb_status parse(state *s, FILE *f, const char *path) {
  rb_status st = RB_OK;
  char piece[1 << 16];
  size_t n;
  do {
    n = fread(piece, 1, sizeof piece, f);
    RB_CHECK(!ferror(f), RB_EIO, "cannot read %s", path);
    if (XML_Parse(s->parser, piece, (int)n, n == 0) == XML_STATUS_OK) continue;
    const unsigned long line = XML_GetCurrentLineNumber(s->parser);
    RB_CHECK(!s->too_short, RB_EFORMAT,
             "%s: the DataArray that ends at line %lu announces %.0f values and is too short for them", path, line,
             s->announced);
    RB_CHECK(!*s->misplaced, RB_EFORMAT, "%s is no GIFTI that can be read: line %lu has an element '%s' in %s", path,
             line, s->misplaced, *s->open[s->depth] ? s->open[s->depth] : "the document");
    return RB_FAIL(RB_EFORMAT, "%s is no GIFTI that can be read: truncated, or not XML: line %lu: %s", path, line,
                   XML_ErrorString(XML_GetErrorCode(s->parser)));
  } while (n > 0);
done:
  return st;
}

rb_status rb_gifti_structure(const char *path) {
  rb_status st = RB_OK;
  state s = {.parser = XML_ParserCreate(NULL), .open = {""}};
  FILE *f = fopen(path, "rb");
  RB_CHECK(s.parser, RB_ENOMEM, "host memory");
  RB_CHECK(f, RB_EIO, "cannot open %s", path);
  XML_SetUserData(s.parser, &s);
  XML_SetElementHandler(s.parser, opened, closed);
  XML_SetCharacterDataHandler(s.parser, characters);
  st = parse(&s, f, path);
done:
  if (s.unpacking) inflateEnd(&s.packed);
  if (f) fclose(f);
  XML_ParserFree(s.parser);
  return st;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/gifti_structure.h"

#include <expat.h>
#include <stdio.h>
#include <string.h>

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
} state;

static void opened(void *context, const char *name, const char **attributes) {
  state *s = context;
  (void)attributes;
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
  (void)name;                     /* the parser has compared it */
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
  st = parse(&s, f, path);
done:
  if (f) fclose(f);
  XML_ParserFree(s.parser);
  return st;
}

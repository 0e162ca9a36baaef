/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/compact.h"

#include <stdlib.h>
#include <string.h>

static const char skip_mark[] = "skipped: ", elsewhere_mark[] = "NOT COMPARABLE: ";

static const char *at(const rb_table *t, int r, int c) { return t->row[r][c] ? t->row[r][c] : ""; }
static int begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }
static int is_skipped(const rb_table *t, int r) { return begins(at(t, r, t->columns - 1), skip_mark); }

int rb_compact_is_judged(const rb_table *t, int c) {
  return c + 2 < t->columns && strcmp(at(t, 0, c + 1), "published") == 0 && strcmp(at(t, 0, c + 2), "verdict") == 0;
}

/* Index of the text in the list, where it is put if it is not there. */
static int index_of(const char **list, int *count, const char *text) {
  for (int i = 0; i < *count; i++)
    if (strcmp(list[i], text) == 0) return i;
  list[*count] = text;
  return (*count)++;
}

/* The note that all rows have, or NULL. */
static const char *note_of_all(const rb_table *t) {
  const char *all = NULL;
  for (int r = 1; r < t->rows; r++) {
    const char *note = at(t, r, t->columns - 1);
    if (is_skipped(t, r)) continue;
    if (!*note || (all && strcmp(all, note) != 0)) return NULL;
    all = note;
  }
  return all;
}

/* Which columns of the table stay: judged ones with what follows them as one. */
static void kept_columns(const rb_table *t, char *keep) {
  int variant = -1;
  memset(keep, 1, (size_t)t->columns);
  for (int c = 0; c < t->columns; c++) {
    if (rb_compact_is_judged(t, c)) keep[c + 1] = keep[c + 2] = 0;
    if (variant < 0 && c > 0 && strcmp(at(t, 0, c), "variant") == 0 && strcmp(at(t, 0, c - 1), "method") == 0)
      variant = c;
  }
  int notes = 0, other = 0;
  for (int r = 1; r < t->rows; r++) {
    if (is_skipped(t, r)) continue;
    notes += *at(t, r, t->columns - 1) != '\0';
    other += variant > 0 && *at(t, r, variant) && strcmp(at(t, r, variant), at(t, r, variant - 1)) != 0;
  }
  if (!notes || note_of_all(t)) keep[t->columns - 1] = 0;
  if (variant > 0 && !other) keep[variant] = 0;
}

static void compact_cell(const rb_table *t, int r, int c, rb_table *out, int to, rb_compact *f) {
  const char *ours = at(t, r, c), *printed = at(t, r, c + 1), *verdict = at(t, r, c + 2);
  const int ok = strcmp(verdict, "REPRODUCED") == 0, elsewhere = begins(verdict, elsewhere_mark);
  f->ok += ok, f->elsewhere += elsewhere;
  if (ok) verdict = "ok";
  if (elsewhere) verdict += strlen(elsewhere_mark);
  if (!*printed)
    rb_table_set(out, to, "%s", ours);
  else
    rb_table_set(out, to, "%s%s(%s)%s%s", ours, *ours ? " " : "", printed, *verdict ? " " : "", verdict);
}

rb_status rb_compact_cells(const rb_table *t, rb_table *out, rb_compact *f) {
  rb_status st = RB_OK;
  char *keep = NULL;
  int columns = 0;
  memset(f, 0, sizeof *f);
  rb_table_init(out, 0);
  RB_CHECK(t->columns > 0 && t->rows > 0, RB_EINVAL, "a table without cells");
  keep = malloc((size_t)t->columns);
  f->note = calloc((size_t)t->rows, sizeof *f->note);
  f->reason = calloc((size_t)t->rows, sizeof *f->reason);
  f->cases = calloc((size_t)t->rows, sizeof *f->cases);
  RB_CHECK(keep && f->note && f->reason && f->cases, RB_ENOMEM, "host memory");
  f->all = note_of_all(t);
  kept_columns(t, keep);
  for (int c = 0; c < t->columns; c++) columns += keep[c];
  rb_table_init(out, columns);
  for (int r = 0; r < t->rows; r++) {
    const char *note = at(t, r, t->columns - 1);
    if (r && is_skipped(t, r)) {
      f->cases[index_of(f->reason, &f->reasons, note + strlen(skip_mark))]++;
      continue;
    }
    RB_TRY(rb_table_row(out));
    for (int c = 0, to = 0; c < t->columns; c++) {
      if (!keep[c]) continue;
      if (r && rb_compact_is_judged(t, c))
        compact_cell(t, r, c, out, to, f);
      else if (r && c == t->columns - 1 && *note)
        rb_table_set(out, to, "[%d]", index_of(f->note, &f->notes, note) + 1);
      else
        rb_table_set(out, to, "%s", at(t, r, c));
      to++;
    }
  }
done:
  free(keep);
  return st;
}

void rb_compact_legend(const rb_compact *f, FILE *out) {
  if (!f->ok && !f->elsewhere) return;
  fputs("Cells: ours (printed).", out);
  if (f->ok) fputs(" ok: REPRODUCED, within the column's tolerance.", out);
  if (f->elsewhere)
    fputs(
        " x2, 0.9 of it: NOT COMPARABLE, printed for another machine: how many times as fast ours is, or the share "
        "of the printed value.",
        out);
}

void rb_compact_notes(const rb_compact *f, const char *bullet, FILE *out) {
  if (f->all) fprintf(out, "%sAll rows: %s\n", bullet, f->all);
  for (int i = 0; i < f->notes; i++) fprintf(out, "%s[%d] %s\n", bullet, i + 1, f->note[i]);
  for (int i = 0; i < f->reasons; i++)
    fprintf(out, "%s%d case%s skipped: %s\n", bullet, f->cases[i], f->cases[i] == 1 ? " was" : "s were",
            f->reason[i]);
  if (f->all || f->notes || f->reasons) fputc('\n', out);
}

void rb_compact_free(rb_compact *f) {
  free(f->note), free(f->reason), free(f->cases);
  memset(f, 0, sizeof *f);
}

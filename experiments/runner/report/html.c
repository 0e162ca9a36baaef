/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/html.h"

#include "experiments/runner/base/files.h"
#include "experiments/runner/base/markup.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/compact.h"
#include "experiments/runner/report/busy_host.h"
#include "experiments/runner/report/earlier_rules.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct rb_html {
  FILE *matrix, *sections;
  char *matrix_text, *sections_text, paper[64];
  size_t matrix_size, sections_size;
  int records;
};

rb_html *rb_html_new(void) {
  rb_html *h = calloc(1, sizeof *h);
  if (!h) return NULL;
  h->matrix = open_memstream(&h->matrix_text, &h->matrix_size);
  h->sections = open_memstream(&h->sections_text, &h->sections_size);
  if (h->matrix && h->sections) return h;
  rb_html_free(h);
  return NULL;
}
void rb_html_free(rb_html *h) {
  if (!h) return;
  if (h->matrix) fclose(h->matrix);
  if (h->sections) fclose(h->sections);
  free(h->matrix_text), free(h->sections_text);
  free(h);
}

/* ---- text ------------------------------------------------------------------------------------------------- */

/* A name for links: letters, digits and dashes. */
static void put_anchor(FILE *f, const rb_judged *j) {
  char name[512];
  snprintf(name, sizeof name, "%.60s-%.60s-%.120s-%.16s", j->descriptor->paper, j->descriptor->name,
           rb_json_text(json_object_get(j->record, "machine"), "name", "x"), rb_json_text(j->record, "preset", "x"));
  for (const char *s = name; *s; s++)
    fputc((*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ? *s : '-', f);
}

/* How a verdict looks. */
static const char *class_of(const char *verdict) {
  return strncmp(verdict, "REPRODUCED", 10) == 0 || strcmp(verdict, "HOLDS") == 0 ? "good"
         : strncmp(verdict, "DIFFERS", 7) == 0 || strcmp(verdict, "FAILS") == 0 ||
                 strncmp(verdict, "invalid", 7) == 0 || strncmp(verdict, "failed", 6) == 0
             ? "bad"
         : strncmp(verdict, "STALE", 5) == 0 ? "stale"
                                             : "plain";
}
static void put_verdict(FILE *f, const char *verdict) {
  fprintf(f, "<span class=\"%s\">", class_of(verdict));
  rb_put_escaped(f, verdict);
  fputs("</span>", f);
}

/* ---- tables ----------------------------------------------------------------------------------------------- */

static const char *at(const rb_table *t, int r, int c) { return t->row[r][c] ? t->row[r][c] : ""; }

static int is_skipped(const rb_table *t, int r) { return strncmp(at(t, r, t->columns - 1), "skipped: ", 9) == 0; }
static int has_note(const rb_table *t) {
  for (int r = 1; r < t->rows; r++)
    if (!is_skipped(t, r) && *at(t, r, t->columns - 1)) return 1;
  return 0;
}

/* How many cases were skipped, each reason once. */
static void put_skipped(FILE *f, const rb_table *t) {
  const int last = t->columns - 1;
  for (int r = 1; r < t->rows; r++) {
    int before = 0, same = 0;
    if (!is_skipped(t, r)) continue;
    for (int k = 1; k < t->rows; k++)
      if (strcmp(at(t, k, last), at(t, r, last)) == 0) same++, before += k < r;
    if (before) continue;
    fprintf(f, "<p class=\"small\">%d case%s skipped: ", same, same == 1 ? " was" : "s were");
    rb_put_escaped(f, at(t, r, last) + strlen("skipped: "));
    fputs("</p>\n", f);
  }
}

static void put_cells(FILE *f, const rb_table *t) {
  const int last = t->columns - 1, notes = has_note(t);
  fputs("<div class=\"scroll\"><table><thead><tr>", f);
  for (int c = 0; c < t->columns; c += rb_compact_is_judged(t, c) ? 3 : 1) {
    if (c == last && !notes) continue;
    fputs("<th>", f), rb_put_escaped(f, at(t, 0, c)), fputs("</th>", f);
  }
  fputs("</tr></thead><tbody>\n", f);
  for (int r = 1; r < t->rows; r++) {
    if (is_skipped(t, r)) continue;
    fputs("<tr>", f);
    for (int c = 0; c < t->columns; c += rb_compact_is_judged(t, c) ? 3 : 1) {
      if (c == last && !notes) continue;
      fputs("<td>", f);
      if (c == last)
        put_verdict(f, at(t, r, c));
      else
        rb_put_escaped(f, at(t, r, c));
      if (rb_compact_is_judged(t, c) && *at(t, r, c + 1)) {
        fputs(" <span class=\"printed\">(", f), rb_put_escaped(f, at(t, r, c + 1)), fputs(")</span> ", f);
        put_verdict(f, at(t, r, c + 2));
      }
      fputs("</td>", f);
    }
    fputs("</tr>\n", f);
  }
  fputs("</tbody></table></div>\n", f);
  put_skipped(f, t);
}

static void put_claims(FILE *f, const rb_table *t) {
  if (t->rows < 2) return;
  fputs("<div class=\"scroll\"><table><thead><tr><th>claim</th><th>verdict</th><th>why</th></tr></thead><tbody>\n",
        f);
  for (int r = 1; r < t->rows; r++) {
    fputs("<tr><td class=\"text\">", f), rb_put_escaped(f, at(t, r, 0)), fputs("</td><td>", f);
    put_verdict(f, at(t, r, 1));
    fputs("</td><td class=\"text\">", f), rb_put_escaped(f, at(t, r, 2)), fputs("</td></tr>\n", f);
  }
  fputs("</tbody></table></div>\n", f);
}

/* ---- figures ---------------------------------------------------------------------------------------------- */

enum { LARGEST_SVG = 400 << 10, LARGEST_PNG = 200 << 10 };

static void put_base64(FILE *f, const unsigned char *d, size_t n) {
  static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < n; i += 3) {
    const unsigned v = (unsigned)d[i] << 16 | (i + 1 < n ? (unsigned)d[i + 1] << 8 : 0) | (i + 2 < n ? d[i + 2] : 0);
    fputc(digit[v >> 18], f), fputc(digit[v >> 12 & 63], f);
    fputc(i + 1 < n ? digit[v >> 6 & 63] : '=', f), fputc(i + 2 < n ? digit[v & 63] : '=', f);
  }
}

/* 0: there is none, or it is larger than `most`. */
static int read_picture(const char *path, size_t most, char **text, size_t *size) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || (size_t)info.st_size > most) return 0;
  const rb_status st = rb_read_file(path, text, size);
  rb_clear();
  return st == RB_OK;
}

/* The plot as it lies beside the record: its SVG inline, else its PNG. */
static void put_figure(FILE *f, const rb_judged *j, const rb_plot *p) {
  char path[4400], *text = NULL;
  size_t size = 0;
  snprintf(path, sizeof path, "%s/%.200s.svg", j->folder, p->file);
  if (read_picture(path, LARGEST_SVG, &text, &size)) {
    const char *svg = strstr(text, "<svg");
    if (svg)
      fputs("<figure>", f), fputs(svg, f), fputs("<figcaption>", f), rb_put_escaped(f, p->title),
          fputs("</figcaption></figure>\n", f);
    free(text);
    return;
  }
  snprintf(path, sizeof path, "%s/%.200s.png", j->folder, p->file);
  if (!read_picture(path, LARGEST_PNG, &text, &size)) return;
  fputs("<figure><img alt=\"", f), rb_put_escaped(f, p->title), fputs("\" src=\"data:image/png;base64,", f);
  put_base64(f, (const unsigned char *)text, size);
  fputs("\"><figcaption>", f), rb_put_escaped(f, p->title), fputs("</figcaption></figure>\n", f);
  free(text);
}

/* ---- a record --------------------------------------------------------------------------------------------- */

static void put_provenance(FILE *f, const rb_judged *j) {
  const json_t *m = json_object_get(j->record, "machine"), *gpu = json_object_get(m, "gpu"),
               *build = json_object_get(j->record, "regbench");
  char busy[256];
  fputs("<p class=\"small\">", f), rb_put_escaped(f, rb_json_text(m, "name", "?")), fputs("; ", f);
  rb_put_escaped(f, rb_json_text(json_object_get(m, "cpu"), "model", "?"));
  fprintf(f, ", %lld threads", (long long)json_integer_value(json_object_get(json_object_get(m, "cpu"), "threads")));
  if (json_is_object(gpu)) fputs("; driver ", f), rb_put_escaped(f, rb_json_text(gpu, "driver", "?"));
  fputs("; preset ", f), rb_put_escaped(f, rb_json_text(j->record, "preset", "?"));
  fputs("; ", f), rb_put_escaped(f, rb_json_text(j->record, "created", "")), fputs("; regbench at ", f);
  rb_put_escaped(f, rb_json_text(build, "commit", "?"));
  fputs(json_is_true(json_object_get(build, "dirty")) ? " (with uncommitted changes)</p>\n" : "</p>\n", f);
  if (json_object_get(j->record, "runs"))
    fprintf(f, "<p class=\"small\">Joined of %zu runs; its table in text names them.</p>\n",
            json_array_size(json_object_get(j->record, "runs")));
  if (json_is_false(json_object_get(j->record, "complete")))
    fputs("<p class=\"small\">Not complete: cases of the preset are missing.</p>\n", f);
  rb_busy_host_text(json_object_get(j->record, "cases"), busy, sizeof busy);
  if (busy[0]) fprintf(f, "<p class=\"small\">%s</p>\n", busy);
  fputs("<div class=\"small\">", f), rb_earlier_rules_print(j->record, f), fputs("</div>\n", f);
}

static void put_section(FILE *f, const rb_judged *j, const rb_table *cells, const rb_table *claims) {
  const rb_descriptor *d = j->descriptor;
  fputs("<section id=\"", f), put_anchor(f, j), fputs("\"><h2>", f);
  rb_put_escaped(f, d->paper), fputs("/", f), rb_put_escaped(f, d->name), fputs("</h2><p>", f),
      rb_put_escaped(f, d->title), fputs("</p>\n", f);
  put_provenance(f, j);
  fputs("<details><summary>Source and notes</summary><p>", f), rb_put_escaped(f, d->source), fputs("</p><p>", f);
  rb_put_escaped(f, d->note ? d->note : ""), fputs("</p></details>\n", f);
  for (unsigned k = 0; k < d->plots_count; k++) put_figure(f, j, &d->plots[k]);
  put_cells(f, cells);
  put_claims(f, claims);
  fputs("<p class=\"small\"><a href=\"#top\">up</a></p></section>\n", f);
}

/* "n of m" with a bar; a dash where nothing is judged. */
static void put_share(FILE *f, int part, int all) {
  if (all == 0) {
    fputs("<td class=\"none\">&ndash;</td>", f);
    return;
  }
  fprintf(f, "<td><span class=\"bar\"><span style=\"width:%d%%\"></span></span> %d of %d</td>", 100 * part / all,
          part, all);
}

static void put_line(rb_html *h, const rb_judged *j, const rb_verdicts *v) {
  FILE *f = h->matrix;
  int valid = 0, cases = 0;
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(j->record, "cases"), i, c) {
    if (strcmp(rb_json_text(c, "kind", ""), "published") == 0) continue;
    cases++, valid += strcmp(rb_json_text(c, "status", ""), "valid") == 0;
  }
  if (strcmp(h->paper, j->descriptor->paper) != 0) {
    snprintf(h->paper, sizeof h->paper, "%s", j->descriptor->paper);
    fputs("<tr class=\"paper\"><th colspan=\"8\">", f), rb_put_escaped(f, h->paper), fputs("</th></tr>\n", f);
  }
  fputs("<tr><td><a href=\"#", f), put_anchor(f, j), fputs("\">", f), rb_put_escaped(f, j->descriptor->name),
      fputs("</a></td><td>", f);
  rb_put_escaped(f, rb_json_text(json_object_get(j->record, "machine"), "name", "?")), fputs("</td>", f);
  put_share(f, v->reproduced[RB_CELL_PRINTED], v->reproduced[RB_CELL_PRINTED] + v->differs[RB_CELL_PRINTED]);
  put_share(f, v->reproduced[RB_CELL_AS], v->reproduced[RB_CELL_AS] + v->differs[RB_CELL_AS]);
  put_share(f, v->holds, v->holds + v->fails);
  fprintf(f, "<td>%d</td><td>%d of %d</td><td>%s</td></tr>\n", v->not_judged, valid, cases,
          v->stale ? "<span class=\"stale\">STALE</span>" : "");
}

rb_status rb_html_add(rb_html *h, const rb_judged *j, rb_verdicts *sum) {
  rb_status st = RB_OK;
  rb_table cells = {0}, claims = {0};
  rb_verdicts mine = {0};
  if (strcmp(rb_json_text(j->record, "preset", ""), "published") == 0) return RB_OK;
  RB_TRY(rb_cell_table(j, &cells, &mine));
  RB_TRY(rb_claim_table(j, &claims, &mine));
  put_line(h, j, &mine);
  put_section(h->sections, j, &cells, &claims);
  h->records++;
  sum->differs[RB_CELL_PRINTED] += rb_verdicts_differ(&mine), sum->fails += mine.fails, sum->invalid += mine.invalid;
  RB_CHECK(!ferror(h->matrix) && !ferror(h->sections), RB_ENOMEM, "host memory for the page");
done:
  rb_table_free(&claims);
  rb_table_free(&cells);
  return st;
}

/* ---- the page --------------------------------------------------------------------------------------------- */

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
    "content=\"width=device-width, initial-scale=1\"><title>regbench: results</title>\n<style>\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1240px;margin:0 auto;padding:0 16px "
    "40px;color:#1b1b1b;background:#fff}\n"
    "h1{font-size:26px;margin:24px 0 4px}h2{font-size:19px;margin:40px 0 4px;border-top:1px solid "
    "#ddd;padding-top:20px}\n"
    "a{color:#0b5cad}.small{color:#555;font-size:13px}.scroll{overflow:auto;margin:10px 0}section "
    ".scroll{max-height:640px}section thead th{position:sticky;top:0;background:#fff}\n"
    "table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:3px 10px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid "
    "#eee;white-space:nowrap}\n"
    "th{font-weight:600;border-bottom:1px solid #999}td.text{white-space:normal;min-width:200px;max-width:460px}\n"
    "tr.paper th{padding-top:16px;font-size:15px}.none{color:#999}.printed{color:#777}\n"
    ".good{color:#00684a}.bad{color:#b0360b;font-weight:600}.plain{color:#666}.stale{color:#7a4a00;font-weight:600}\n"
    ".bar{display:inline-block;width:60px;height:9px;background:#f0d9cf;border-radius:2px;vertical-align:middle}\n"
    ".bar span{display:block;height:9px;background:#009e73;border-radius:2px}\n"
    "figure{margin:14px 0;background:#fff}figure svg,figure img{max-width:100%;height:auto}\n"
    "figcaption{color:#555;font-size:13px}details{margin:6px 0}summary{cursor:pointer;color:#0b5cad}\n"
    "details p{max-width:900px;white-space:pre-line}\n"
    "</style></head><body id=\"top\">\n<h1>regbench: results</h1>\n";
static const char before_matrix[] =
    "<p>A cell is REPRODUCED when ours lies within its stated tolerance of the printed value. Times of another "
    "machine are not "
    "judged. Each cell below reads: ours (printed) verdict.</p>\n<div "
    "class=\"scroll\"><table><thead><tr><th>experiment</th>"
    "<th>machine</th><th>printed cells reproduced</th><th>ours beside other methods' cells</th><th>claims that "
    "hold</th>"
    "<th>claims not judged</th><th>valid cases</th><th></th></tr></thead><tbody>\n";

rb_status rb_html_write(rb_html *h, const char *path) {
  rb_status st = RB_OK;
  char *page = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&page, &size);
  RB_CHECK(f, RB_ENOMEM, "host memory");
  fflush(h->matrix), fflush(h->sections);
  fputs(head, f);
  fprintf(f, "<p class=\"small\">%d records, judged by regbench at %s.</p>\n", h->records, rb_build_commit());
  fputs(before_matrix, f);
  fputs(h->matrix_text, f), fputs("</tbody></table></div>\n", f), fputs(h->sections_text, f),
      fputs("</body></html>\n", f);
  const int whole = !ferror(f) & (fclose(f) == 0);
  f = NULL;
  RB_CHECK(whole && page, RB_ENOMEM, "host memory for the page");
  RB_TRY(rb_write_atomically(path, page, size));
done:
  if (f) fclose(f);
  free(page);
  return st;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Plots of solver experiments: stacked bars of what takes the time, error over time, slices. */
#include "experiments/runner/report/plots.h"
#include "experiments/runner/workloads/panels.h"

#include "experiments/runner/base/picture.h"
#include "experiments/runner/record/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_valid(const json_t *c) { return strcmp(rb_json_text(c, "status", ""), "valid") == 0; }

static int in_panel(const rb_plot *p, const json_t *c, const char *panel) {
  return is_valid(c) && rb_plot_shows(p, c) &&
         (!panel || strcmp(rb_json_text(json_object_get(c, "axes"), p->panel, ""), panel) == 0);
}
static void put_label(const char *s, FILE *data) {
  for (; *s; s++) fputc(*s == '"' || *s == '\n' ? '\'' : *s, data);
}
/* A bar's name: the method, and what tells the case from others of that method in the panel. */
static void put_name(const rb_plot *p, const json_t *cases, const json_t *c, const char *panel, FILE *data) {
  const char *axis, *method = rb_json_text(c, "method", "");
  json_t *value;
  fputc('"', data);
  put_label(method, data);
  json_object_foreach(json_object_get(c, "axes"), axis, value) {
    const char *own = json_string_value(value);
    size_t i;
    json_t *other;
    if (!own) continue;
    json_array_foreach(cases, i, other) {
      if (!in_panel(p, other, panel) || strcmp(rb_json_text(other, "method", ""), method) != 0 ||
          strcmp(rb_json_text(json_object_get(other, "axes"), axis, ""), own) == 0)
        continue;
      fprintf(data, ", %s ", axis);
      put_label(own, data);
      break;
    }
  }
  fputc('"', data);
}

/* One block a panel: a row a case, a column a part. One key for all, at the right. */
int rb_plot_stacked(const rb_judged *j, const rb_plot *p, const char *data_path, FILE *data, FILE *script) {
  const json_t *cases = json_object_get(j->record, "cases");
  const char *panel[32];
  int panels = rb_plot_panels(j, p, p->parts[0], panel), drawn = 0;
  fprintf(script,
          "set multiplot layout 1,%d margins screen 0.06,0.89,0.22,0.82 spacing screen 0.045 title TITLE font ',13'\n"
          "set style data histograms\nset style histogram rowstacked\nset style fill solid 0.9 noborder\n"
          "set boxwidth 0.7\nset xtics rotate by -35 noenhanced\nset bmargin 7\n"
          "set key at screen 0.995,0.82 right top vertical font ',8' noenhanced\nset yrange [0:*]\n",
          panels);
  rb_plot_with(script, "set ylabel ", p->y_label ? p->y_label : "time in s", "\n");
  for (int q = 0; q < panels; q++) {
    size_t i;
    json_t *c;
    int rows = 0;
    json_array_foreach(cases, i, c) {
      if (!in_panel(p, c, panel[q])) continue;
      put_name(p, cases, c, panel[q], data);
      for (unsigned k = 0; k < p->parts_count; k++) {
        double v = rb_json_metric(c, p->parts[k]);
        fprintf(data, " %.6g", v == v ? v : 0.0);
      }
      fprintf(data, "\n");
      rows++;
    }
    if (!rows) continue;
    fprintf(data, "\n\n");
    if (panel[q]) rb_plot_with(script, "set title ", p->panel, ".' = '."), rb_plot_with(script, "", panel[q], "\n");
    fprintf(script, "set title font ',10'\n%s", drawn ? "unset key\nunset ylabel\n" : "");
    for (unsigned k = 0; k < p->parts_count; k++) {
      const char *name = strncmp(p->parts[k], "time_", 5) == 0 ? p->parts[k] + 5 : p->parts[k];
      if (k == 0)
        fprintf(script, "plot '%s' index %d using 2:xtic(1) title ", data_path, drawn);
      else
        fprintf(script, ", \\\n     '' index %d using %u title ", drawn, k + 2);
      rb_plot_quoted(script, name);
      fprintf(script, " lc rgb COLOR%u", k + 1);
    }
    fprintf(script, "\n");
    drawn++;
  }
  fprintf(script, "unset multiplot\n");
  return drawn;
}

enum { MARKERS = 6, COLOURS = 10 }; /* colours that the eye tells apart; beyond, markers are larger */
static const int filled[MARKERS] = {7, 5, 9, 13, 11, 15}, open_ones[MARKERS] = {6, 4, 8, 12, 10, 14};

/* The axis values that markers tell apart; "" where the plot names no axis. */
static int markers_of(const rb_judged *j, const rb_plot *p, const char *values[MARKERS]) {
  int count = 0;
  size_t i;
  json_t *c;
  values[0] = "";
  if (!p->panel) return 1;
  json_array_foreach(json_object_get(j->record, "cases"), i, c) {
    const char *value = rb_json_text(json_object_get(c, "axes"), p->panel, "");
    int k = 0;
    while (k < count && strcmp(values[k], value) != 0) k++;
    if (k == count && count < MARKERS) values[count++] = value;
  }
  return count;
}

static double printed_value(const rb_judged *j, const json_t *c, const char *column) {
  const char *printed = rb_published_value(j, c, column, NULL);
  char bound;
  return printed ? rb_printed_number(printed, &bound) : NAN;
}

/* One method's points of one marker into a block of the data; how many of ours and of printed ones. */
static void scatter_block(const rb_judged *j, const rb_plot *p, const rb_method *m, const char *value, FILE *data,
                          int *ours, int *theirs) {
  size_t i;
  json_t *c;
  *ours = *theirs = 0;
  json_array_foreach(json_object_get(j->record, "cases"), i, c) {
    if (strcmp(rb_json_text(c, "method", ""), m->label) != 0 || !rb_plot_shows(p, c)) continue;
    if (p->panel && strcmp(rb_json_text(json_object_get(c, "axes"), p->panel, ""), value) != 0) continue;
    const double px = printed_value(j, c, p->x), py = printed_value(j, c, p->y);
    const double x = is_valid(c) ? rb_json_metric(c, p->x) : NAN, y = is_valid(c) ? rb_json_metric(c, p->y) : NAN;
    const int printed = px == px && py == py && !m->published_as;
    if (x != x && !printed) continue;
    fprintf(data, "%.6g %.6g %.6g %.6g\n", x, y, printed ? px : NAN, printed ? py : NAN);
    *ours += x == x, *theirs += printed;
  }
  if (*ours || *theirs) fprintf(data, "\n\n");
}

/* A point a case, x and y two of its metrics, one colour a method, one marker a value of the axis `panel`; printed
 * values of the columns of those names are open. */
int rb_plot_scatter(const rb_judged *j, const rb_plot *p, const char *data_path, FILE *data, FILE *script) {
  const char *values[MARKERS], *and = "plot";
  const int markers = markers_of(j, p, values);
  unsigned *colour = rb_plot_colours(j->descriptor);
  int block = 0;
  if (!colour) return -1;
  rb_plot_with(script, "set title TITLE font ',13'\nset xlabel ", p->x_label ? p->x_label : p->x, "\n");
  rb_plot_with(script, "set ylabel ", p->y_label ? p->y_label : p->y, "\n");
  fprintf(script, "%s%sset key outside right font ',9' noenhanced\n", p->log_x ? "set logscale x 10\n" : "",
          p->log_y ? "set logscale y 10\n" : "");
  for (unsigned m = 0; m < j->descriptor->methods_count; m++) {
    int named = 0, named_printed = 0;
    for (int k = 0; k < markers; k++) {
      const char *label = j->descriptor->methods[m].label;
      int ours, theirs;
      scatter_block(j, p, &j->descriptor->methods[m], values[k], data, &ours, &theirs);
      if (ours) {
        fprintf(script, "%s '%s' index %d using 1:2 with points pt %d ps 1.8 lc rgb COLOR%u title ", and, data_path,
                block, filled[k], colour[m]);
        rb_plot_quoted(script, named++ ? "" : label);
        and = ", \\\n    ";
      }
      if (theirs) {
        fprintf(script, "%s '%s' index %d using 3:4 with points pt %d ps %s lw 2 lc rgb COLOR%u title ", and,
                data_path, block, open_ones[k], m < COLOURS ? "1.5" : "2.4", colour[m]);
        rb_plot_with(script, "", named_printed ? "" : label, named_printed ? "" : ".', published'");
        and = ", \\\n    ", named_printed = 1;
      }
      block += ours || theirs;
    }
  }
  for (int k = 0; k < markers && p->panel && block; k++) {
    fprintf(script, "%sNaN with points pt %d ps 1.5 lc rgb '#808080' title ", and, filled[k]);
    rb_plot_quoted(script, values[k]);
  }
  fprintf(script, "\n");
  free(colour);
  return block;
}

/* The pictures under that key of a valid case that the plot shows, or NULL. */
static const json_t *pictures_of(const rb_plot *p, const json_t *c, const char *key) {
  const json_t *pictures = json_object_get(json_object_get(c, "details"), key);
  return is_valid(c) && rb_plot_shows(p, c) && json_array_size(pictures) ? pictures : NULL;
}

/* Whether the pictures of two cases have the same titles, so that only the method tells them apart. */
static int same_titles(const json_t *a, const json_t *b) {
  if (json_array_size(a) != json_array_size(b)) return 0;
  for (size_t k = 0; k < json_array_size(a); k++)
    if (strcmp(rb_json_text(json_array_get(a, k), "title", ""), rb_json_text(json_array_get(b, k), "title", "")))
      return 0;
  return 1;
}
/* A picture of a case, its method before its title where another has that title, too. */
static json_t *with_method(const json_t *picture, const char *method) {
  json_t *copy = json_copy((json_t *)picture);
  if (copy && *method)
    json_object_set_new(copy, "title", json_sprintf("%s: %s", method, rb_json_text(picture, "title", "")));
  return copy;
}

/* The slices of all cases that have any: a column a case, or a row a case where that is wider than high. NULL: none.
 * *rows of the figure; *title: their method, "" where there are several. */
static json_t *slices_side_by_side(const rb_plot *p, const json_t *cases, size_t *rows, const char **title) {
  json_t *all = json_array(), *c;
  const json_t *of[64];
  const char *method[64];
  size_t i, count = 0;
  int alike = 0;
  json_array_foreach(cases, i, c) {
    const json_t *slices = pictures_of(p, c, "slices");
    if (!slices || count == sizeof of / sizeof *of) continue;
    method[count] = rb_json_text(c, "method", "");
    *title = count == 0 || strcmp(*title, method[count]) == 0 ? method[count] : "";
    for (size_t k = 0; k < count; k++) alike |= strcmp(method[k], method[count]) != 0 && same_titles(of[k], slices);
    of[count++] = slices;
  }
  const size_t slices = count ? json_array_size(of[0]) : 0;
  const int case_a_row = slices > count;
  *rows = case_a_row ? count : slices;
  for (size_t k = 0; k < slices * count; k++) {
    const size_t row = case_a_row ? k % slices : k / count, column = case_a_row ? k / slices : k % count;
    json_array_append_new(all, with_method(json_array_get(of[column], row), alike ? method[column] : ""));
  }
  if (count) return all;
  json_decref(all);
  return NULL;
}

/* The panels of the first case that has any. */
static json_t *panels_of_one(const rb_plot *p, const json_t *cases, const char **title) {
  size_t i;
  json_t *c;
  json_array_foreach(cases, i, c) if (pictures_of(p, c, "panels")) {
    *title = rb_json_text(c, "id", "");
    return json_copy((json_t *)pictures_of(p, c, "panels"));
  }
  return NULL;
}

/* What colours mean, along the lower border of a picture: a bar of determinants, or the velocity's components. */
static void colour_key(const char *title, FILE *script) {
  enum { STEPS = 32 };
  static const char *const components[] = {"red: x", "green: y", "blue: z"};
  fputs("unset object\nunset label\n", script);
  for (int k = 0; k < STEPS && strncmp(title, RB_DETERMINANT_TITLE, strlen(RB_DETERMINANT_TITLE)) == 0; k++) {
    unsigned char c[3];
    const double from = 0.1 + 0.8 * k / STEPS, to = 0.1 + 0.8 * (k + 1) / STEPS;
    rb_determinant_colour(2 * (k + 0.5) / STEPS, c);
    fprintf(
        script,
        "set object %d rect from graph %.4f,0.03 to graph %.4f,0.07 front fc rgb '#%02x%02x%02x' fs solid noborder\n",
        k + 1, from, to, c[0], c[1], c[2]);
    if (k % (STEPS / 2) == 0 || k == STEPS - 1)
      fprintf(script, "set label '%d' at graph %.4f,0.11 center front tc rgb 'white' font ',9'\n",
              2 * (k + 1) / STEPS, k == STEPS - 1 ? to : from);
  }
  for (int a = 0; a < 3 && strncmp(title, RB_VELOCITY_TITLE, strlen(RB_VELOCITY_TITLE)) == 0; a++)
    fprintf(script, "set label '%s' at graph %.2f,0.06 center front tc rgb 'white' font ',9'\n", components[a],
            0.2 + 0.3 * a);
}

/* In two rows the panels of the first valid case that has any; else the slices of all cases side by side. `data` gets
 * their pixels one after the other. */
int rb_plot_panels_picture(const rb_judged *j, const rb_plot *plot, const char *data_path, FILE *data, FILE *script) {
  const json_t *cases = json_object_get(j->record, "cases");
  const char *id = "";
  size_t i, rows = 2;
  json_t *one, *panels = panels_of_one(plot, cases, &id);
  if (!panels) panels = slices_side_by_side(plot, cases, &rows, &id);
  if (!panels) return 0;
  fprintf(script, "set multiplot layout %zu,%zu title TITLE.\"\\n\".", rows,
          (json_array_size(panels) + rows - 1) / rows);
  rb_plot_with(script, "", id, " font ',13' noenhanced\n");
  fprintf(script,
          "unset border\nunset tics\nunset key\nunset grid\nset size ratio -1\nset lmargin 0.5\nset rmargin 0.5\nset "
          "tmargin %s\nset bmargin 0.3\n",
          rows > 2 ? "2.4" : "5"); /* few rows leave room for the figure's own title */
  long skip = 0;
  json_array_foreach(panels, i, one) {
    char path[8400];
    rb_picture p;
    snprintf(path, sizeof path, "%s/%.160s", j->folder, rb_json_text(one, "file", ""));
    if (rb_picture_read(path, &p) != RB_OK) { /* it was there when the record was read */
      json_decref(panels);
      return -1;
    }
    fwrite(p.pixels, 1, (size_t)(p.width * p.height * p.channels), data);
    free(p.pixels);
    char title[128]; /* what it shows over which view it is */
    snprintf(title, sizeof title, "%s", rb_json_text(one, "title", ""));
    char *comma = strrchr(title, ',');
    if (comma && comma[1] == ' ') memmove(comma, comma + 1, strlen(comma)), *comma = '\n';
    rb_plot_with(script, "set title ", title, " font ',10' noenhanced\n");
    colour_key(title, script);
    fprintf(script,
            "set xrange [0:%d]\nset yrange [0:%d]\nplot '%s' binary skip=%ld array=(%d,%d) flipy format='%s' using "
            "%s with rgbimage\n",
            p.width - 1, p.height - 1, data_path, skip, p.width, p.height,
            p.channels == 3 ? "%uchar%uchar%uchar" : "%uchar", p.channels == 3 ? "1:2:3" : "1:1:1");
    skip += (long)p.width * p.height * p.channels;
  }
  fprintf(script, "unset multiplot\n");
  const int drawn = (int)json_array_size(panels);
  json_decref(panels);
  return drawn;
}

/* Plots of solver experiments: stacked bars of what takes the time, error over time, slices. */
#include "experiments/runner/plots.h"

#include "experiments/runner/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_valid(const json_t *c) { return strcmp(rb_json_text(c, "status", ""), "valid") == 0; }

/* The plot's own list of methods, or all. */
static int wanted(const rb_plot *p, const json_t *c) {
  for (unsigned i = 0; i < p->methods_count; i++)
    if (strcmp(p->methods[i], rb_json_text(c, "method", "")) == 0) return 1;
  return p->methods_count == 0;
}

/* One block a panel: a row a case, a column a part. */
int rb_plot_stacked(const rb_judged *j, const rb_plot *p, const char *data_path, FILE *data, FILE *script) {
  const json_t *cases = json_object_get(j->record, "cases");
  const char *panel[32];
  int panels = rb_plot_panels(j, p, p->parts[0], panel), drawn = 0;
  const int many = panels > 4; /* one key for all, at the right */
  fprintf(script, "set multiplot layout 1,%d%s title TITLE font ',13'\nset style data histograms\nset style histogram rowstacked\nset style fill solid 0.9 noborder\n", panels,
          many ? " margins screen 0.06,0.89,0.22,0.82 spacing screen 0.045" : "");
  fprintf(script, "set boxwidth 0.7\nset xtics rotate by -35 noenhanced\nset bmargin 7\nset ylabel '%s'\nset key %s font ',8' noenhanced\nset yrange [0:*]\n", p->y_label ? p->y_label : "time in s",
          many ? "at screen 0.995,0.82 right top vertical" : "top right");
  for (int q = 0; q < panels; q++) {
    size_t i;
    json_t *c;
    int rows = 0;
    json_array_foreach(cases, i, c) {
      if (!is_valid(c) || !wanted(p, c) || (panel[q] && strcmp(rb_json_text(json_object_get(c, "axes"), p->panel, ""), panel[q]) != 0)) continue;
      fprintf(data, "\"%s\"", rb_json_text(c, "method", ""));
      for (unsigned k = 0; k < p->parts_count; k++) {
        double v = rb_json_metric(c, p->parts[k]);
        fprintf(data, " %.6g", v == v ? v : 0.0);
      }
      fprintf(data, "\n");
      rows++;
    }
    if (!rows) continue;
    fprintf(data, "\n\n");
    if (panel[q]) fprintf(script, "set title '%s = %s'\n", p->panel, panel[q]);
    if (many) fprintf(script, "set title font ',10'\n%s", drawn ? "unset key\nunset ylabel\n" : "");
    for (unsigned k = 0; k < p->parts_count; k++) {
      const char *name = strncmp(p->parts[k], "time_", 5) == 0 ? p->parts[k] + 5 : p->parts[k];
      if (k == 0) fprintf(script, "plot '%s' index %d using 2:xtic(1) title '%s' lc rgb COLOR1", data_path, drawn, name);
      else fprintf(script, ", \\\n     '' index %d using %u title '%s' lc rgb COLOR%u", drawn, k + 2, name, k + 1);
    }
    fprintf(script, "\n");
    drawn++;
  }
  fprintf(script, "unset multiplot\n");
  return drawn;
}

/* A point a case, x and y two of its metrics, one colour a method; printed values of the columns of those names are open. */
int rb_plot_scatter(const rb_judged *j, const rb_plot *p, const char *data_path, FILE *data, FILE *script) {
  const json_t *cases = json_object_get(j->record, "cases");
  int block = 0;
  fprintf(script, "set title TITLE font ',13'\nset xlabel '%s'\nset ylabel '%s'\n%s%sset key outside right font ',9' noenhanced\n", p->x_label ? p->x_label : p->x,
          p->y_label ? p->y_label : p->y, p->log_x ? "set logscale x 10\n" : "", p->log_y ? "set logscale y 10\n" : "");
  for (unsigned m = 0; m < j->descriptor->methods_count; m++) {
    const char *label = j->descriptor->methods[m].label;
    int ours = 0, theirs = 0;
    size_t i;
    json_t *c;
    json_array_foreach(cases, i, c) {
      if (strcmp(rb_json_text(c, "method", ""), label) != 0 || !wanted(p, c)) continue;
      const char *px = rb_published_value(j, c, p->x, NULL), *py = rb_published_value(j, c, p->y, NULL);
      double x = is_valid(c) ? rb_json_metric(c, p->x) : NAN, y = is_valid(c) ? rb_json_metric(c, p->y) : NAN;
      int printed = px && py && !j->descriptor->methods[m].published_as;
      if (x != x && !printed) continue;
      fprintf(data, "%.6g %.6g %s %s\n", x, y, printed ? px : "nan", printed ? py : "nan");
      ours += x == x, theirs += printed;
    }
    if (!ours && !theirs) continue;
    fprintf(data, "\n\n");
    const char *and = block ? ", \\\n    " : "plot";
    if (ours) fprintf(script, "%s '%s' index %d using 1:2 with points pt 7 ps 1.8 lc rgb COLOR%u title '%s'", and, data_path, block, m % 12 + 1, label);
    if (theirs)
      fprintf(script, "%s '%s' index %d using 3:4 with points pt %u ps 1.5 lw 2 lc rgb COLOR%u title '%s, published'", ours ? ", \\\n    " : and, data_path, block,
              ours ? 6 : 4 + m % 4 * 2, m % 12 + 1, label);
    block++;
  }
  fprintf(script, "\n");
  return block;
}

static int digit(char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; }

/* The pictures of the first valid case that has any: eight a row. */
int rb_plot_panels_picture(const rb_judged *j, const char *data_path, FILE *data, FILE *script) {
  const json_t *cases = json_object_get(j->record, "cases"), *panels = NULL;
  size_t i;
  json_t *c, *one;
  json_array_foreach(cases, i, c) {
    panels = json_object_get(json_object_get(c, "details"), "panels");
    if (is_valid(c) && json_array_size(panels)) {
      fprintf(script, "set multiplot layout 2,%zu title TITLE.\"\\n%s\" font ',13' noenhanced\n", json_array_size(panels) / 2, rb_json_text(c, "id", ""));
      break;
    }
    panels = NULL;
  }
  if (!panels) return 0;
  fprintf(script, "unset border\nunset tics\nunset key\nunset grid\nset size ratio -1\nset lmargin 0.5\nset rmargin 0.5\nset tmargin 2.4\nset bmargin 0.3\n");
  long skip = 0;
  json_array_foreach(panels, i, one) {
    const char *text = rb_json_text(one, "data", "");
    int w = (int)json_integer_value(json_object_get(one, "width")), h = (int)json_integer_value(json_object_get(one, "height"));
    int channels = (int)json_integer_value(json_object_get(one, "channels"));
    for (const char *s = text; s[0] && s[1]; s += 2) fputc(16 * digit(s[0]) + digit(s[1]), data);
    char title[128]; /* what it shows over which view it is */
    snprintf(title, sizeof title, "%s", rb_json_text(one, "title", ""));
    char *comma = strrchr(title, ',');
    if (comma) *comma = '\0';
    fprintf(script, "set title \"%s%s%s\" font ',10' noenhanced\nset xrange [0:%d]\nset yrange [0:%d]\nplot '%s' binary skip=%ld array=(%d,%d) flipy format='%s' using %s with rgbimage\n",
            title, comma ? "\\n" : "", comma ? comma + 2 : "", w - 1, h - 1, data_path, skip, w, h, channels == 3 ? "%uchar%uchar%uchar" : "%uchar", channels == 3 ? "1:2:3" : "1:1:1");
    skip += (long)w * h * channels;
  }
  fprintf(script, "unset multiplot\n");
  return (int)json_array_size(panels);
}

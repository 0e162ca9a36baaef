/* SPDX-License-Identifier: BSD-3-Clause */
/* measure surfaces: products and distance of two surfaces as currents. */
#include "datasets/mesh_file.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/cli/measure.h"
#include "experiments/runner/inputs/surface_products.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  const char *path[2];
  double sigma, spacing;
  rb_currents_method method;
  int orient, mirror, json;
} wishes;

static int positive(const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  return *text && !*end && *out > 0 && isfinite(*out);
}

static int parse(int argc, char **argv, wishes *w) {
  const char *value;
  int paths = 0;
  *w = (wishes){.method = RB_CURRENTS_EXACT};
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--sigma"))) {
      if (!positive(value, &w->sigma)) return rb_usage("measure", "--sigma '%s' is not a positive number", value);
    } else if ((value = rb_option(argc, argv, &i, "--spacing"))) {
      if (!positive(value, &w->spacing)) return rb_usage("measure", "--spacing '%s' is not a positive number", value);
    } else if ((value = rb_option(argc, argv, &i, "--method"))) {
      if (strcmp(value, "mesh") == 0) value = "corrected"; /* the paper's costs as much and is off by more */
      if (rb_currents_method_parse(value, &w->method) != RB_OK) return rb_usage("measure", "%s", rb_message());
    } else if (strcmp(argv[i], "--orient") == 0) {
      w->orient = 1;
    } else if (strcmp(argv[i], "--mirror") == 0) {
      w->mirror = 1;
    } else if (strcmp(argv[i], "--json") == 0) {
      w->json = 1;
    } else if (argv[i][0] == '-') {
      return rb_usage("measure", "unknown option '%s'", argv[i]);
    } else if (paths < 2) {
      w->path[paths++] = argv[i];
    } else {
      return rb_usage("measure", "two surfaces, not more");
    }
  }
  if (paths < 2) return rb_usage("measure", "two surfaces are needed");
  if (!(w->sigma > 0)) return rb_usage("measure", "--sigma is needed: the kernel's width in mm");
  if (w->method == RB_CURRENTS_EXACT && w->spacing > 0)
    return rb_usage("measure", "--spacing is of a particle mesh; choose a --method");
  if (!(w->spacing > 0)) w->spacing = w->sigma / 2;
  return RB_EXIT_OK;
}

/* What a reader should know of a surface before he trusts its numbers. */
static rb_status read_surface(const char *path, int orient, rb_mesh *mesh, rb_mesh_report *r) {
  rb_status st = RB_OK;
  int64_t turned;
  RB_TRY(rb_mesh_read(path, mesh));
  if (orient) {
    RB_TRY(rb_mesh_orient(mesh, path, &turned));
    if (turned) fprintf(stderr, "%s: %lld faces turned\n", path, (long long)turned);
  }
  RB_TRY(rb_mesh_measure(mesh, r));
  RB_CHECK(r->turned == 0, RB_EFORMAT,
           "%s: neighbouring faces differ in orientation at %lld edges; --orient mends it", path,
           (long long)r->turned);
  if (r->degenerate)
    fprintf(stderr, "%s: %lld faces have no area, and count for nothing\n", path, (long long)r->degenerate);
  if (r->border || r->crowded)
    fprintf(stderr,
            "%s: %lld edges of one face (open), %lld of more than two: volume and sum of normals mean little\n", path,
            (long long)r->border, (long long)r->crowded);
done:
  return st;
}

typedef struct {
  int terminal, shown;
} shown_part;
static int show_part(double part, void *context) {
  shown_part *s = context;
  const int step = (int)(part * (s->terminal ? 100 : 10));
  if (step > s->shown) {
    s->shown = step;
    fprintf(stderr, s->terminal ? "\r%3.0f %% of the pairs%s" : "%.0f %% of the pairs%s", 100 * part,
            s->terminal && part < 1 ? "" : "\n");
  }
  return rb_interrupted;
}

static json_t *surface_json(const char *path, const rb_mesh *m, const rb_mesh_report *r) {
  return json_pack("{s:s,s:I,s:I,s:f,s:f,s:I,s:I}", "file", path, "vertices", (json_int_t)m->vertices, "faces",
                   (json_int_t)m->faces, "area", r->area, "volume", r->volume, "open_edges", (json_int_t)r->border,
                   "degenerate_faces", (json_int_t)r->degenerate);
}

static void print_json(const wishes *w, const rb_mesh mesh[2], const rb_mesh_report r[2],
                       const rb_surface_products *p) {
  static const char *const methods[] = {"exact", "plain", "corrected", "cubic"};
  json_t *o = json_pack("{s:o,s:o,s:f,s:s,s:f,s:f,s:f,s:f}", "first", surface_json(w->path[0], &mesh[0], &r[0]),
                        "second", surface_json(w->path[1], &mesh[1], &r[1]), "sigma", w->sigma, "method",
                        methods[w->method], "first_first", p->ss, "first_second", p->st, "second_second", p->tt,
                        "squared_distance", p->ss - 2 * p->st + p->tt);
  if (w->method != RB_CURRENTS_EXACT) json_object_set_new(o, "spacing", json_real(w->spacing));
  json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
  putchar('\n');
  json_decref(o);
}
static void print_text(const wishes *w, const rb_mesh mesh[2], const rb_mesh_report r[2],
                       const rb_surface_products *p) {
  const double squared = p->ss - 2 * p->st + p->tt;
  for (int k = 0; k < 2; k++)
    printf("%s  %s: %lld vertices, %lld faces, %.6g mm^2, %.6g mm^3\n", k ? "B" : "A", w->path[k],
           (long long)mesh[k].vertices, (long long)mesh[k].faces, r[k].area, r[k].volume);
  printf(
      "sigma        %.12g mm\n<A, A>       %.12g mm^4\n<A, B>       %.12g mm^4\n<B, B>       %.12g mm^4\n"
      "|A - B|^2    %.12g mm^4\n|A - B|/|A|  %.12g\n",
      w->sigma, p->ss, p->st, p->tt, squared, sqrt(fmax(0, squared) / p->ss));
  if (w->method != RB_CURRENTS_EXACT)
    printf("grid         %lldx%lldx%lld, %.6g mm apart\n", (long long)p->grid.n[0], (long long)p->grid.n[1],
           (long long)p->grid.n[2], w->spacing);
}

static int measure_surfaces(const wishes *w) {
  rb_mesh mesh[2] = {{0}, {0}};
  rb_mesh_report report[2];
  rb_surface_products p;
  shown_part shown = {isatty(STDERR_FILENO), 0};
  rb_status st = read_surface(w->path[0], w->orient, &mesh[0], &report[0]);
  if (st == RB_OK) st = read_surface(w->path[1], w->orient, &mesh[1], &report[1]);
  if (st == RB_OK && w->mirror) rb_mesh_mirror(&mesh[1]);
  const int inputs = st != RB_OK;
  if (st == RB_OK) {
    if (w->method != RB_CURRENTS_EXACT && w->sigma < w->spacing)
      fprintf(stderr, "sigma is below the grid's spacing: a particle mesh is off by tens of per cent there\n");
    rb_catch_interrupts();
    st = rb_surface_products_of(&mesh[0], &mesh[1], w->method, w->sigma, w->spacing, show_part, &shown, &p);
  }
  if (st == RB_OK) {
    if (p.st < 0) fprintf(stderr, "<A, B> is negative: is one of the surfaces inside out?\n");
    (w->json ? print_json : print_text)(w, mesh, report, &p);
  } else {
    fprintf(stderr, "regbench measure: %s\n", rb_message());
  }
  rb_mesh_free(&mesh[0]), rb_mesh_free(&mesh[1]);
  return st == RB_OK                 ? RB_EXIT_OK
         : st == RB_EINTERRUPTED     ? RB_EXIT_INTERRUPTED
         : inputs || st == RB_EINVAL ? RB_EXIT_USAGE
                                     : RB_EXIT_INTERNAL;
}

int rb_measure_surfaces(int argc, char **argv) {
  wishes w;
  const int code = parse(argc, argv, &w);
  return code == RB_EXIT_OK ? measure_surfaces(&w) : code;
}

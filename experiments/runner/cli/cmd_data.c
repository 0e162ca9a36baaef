/* SPDX-License-Identifier: BSD-3-Clause */
/* data: list, verify, import. */
#include "datasets/isosurface.h"
#include "datasets/manifest.h"
#include "datasets/mesh_file.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char data_help[] =
    "usage: regbench data list | verify [NAME...] | import NAME FOLDER | import all FOLDER\n"
    "       regbench data surface IMAGE --level V --out FILE.gii [--faces N]\n\n"
    "list     every data set with source, licence and citation, and whether it is here\n"
    "verify   compare sha256 of every file that is here with the manifest\n"
    "import   copy a set's files from FOLDER, verified; 'all' takes FOLDER/NAME for every set found there\n"
    "surface  the closed surface of a NIfTI image at a level (marching tetrahedra, in mm of its world), as GIFTI;\n"
    "         --faces N: coarsened to some N faces\n\n"
    "Imported files live in $REGBENCH_DATA, else $XDG_DATA_HOME/regbench, else ~/.local/share/regbench.\n\n"
    "exit codes: 0 fine, 2 usage, 3 a file is damaged, or a set asked for is absent, 8 a file cannot be written, 9 "
    "nothing to do\n";

static int data_list(void) {
  char names[64][64], root[4096];
  int n = rb_manifest_names(names, 64);
  if (rb_data_root(root, sizeof root) == RB_OK) printf("imported data: %s\n\n", root);
  for (int i = 0; i < n; i++) {
    rb_manifest *m;
    if (rb_manifest_load(names[i], &m) != RB_OK) {
      printf("%s\n\n", rb_message());
      rb_clear();
      continue;
    }
    const unsigned here = rb_manifest_count(m);
    char part[64];
    snprintf(part, sizeof part, "%u of %u files", here, m->files_count);
    printf("%s (%s): %s\n  %u files from %s\n  licence: %s\n  cite: %s\n", m->name,
           !here                    ? "absent"
           : here == m->files_count ? "present"
                                    : part,
           m->title, m->files_count, m->source, m->licence, m->citation);
    for (unsigned k = 0; k < m->pairs_count; k++) printf("%s%s", k ? ", " : "  pairs: ", m->pairs[k].name);
    printf("%s\n", m->pairs_count ? "\n" : "");
    rb_manifest_free(m);
  }
  return n ? RB_EXIT_OK : RB_EXIT_NOTHING;
}

static int data_verify(int argc, char **argv) {
  char names[64][64];
  int n = argc ? argc : rb_manifest_names(names, 64), bad = 0, seen = 0;
  for (int i = 0; i < n; i++) {
    const char *name = argc ? argv[i] : names[i];
    rb_manifest *m;
    if (rb_manifest_load(name, &m) != RB_OK) {
      fprintf(stderr, "regbench data: %s\n", rb_message());
      return RB_EXIT_USAGE;
    }
    const unsigned here = rb_manifest_count(m);
    if (!argc && !here) {
      printf("%-16s absent\n", name);
    } else {
      rb_status st = rb_manifest_verify(m);
      seen++;
      bad += st != RB_OK;
      if (st == RB_OK && here < m->files_count)
        printf("%-16s verified, %u of %u files are here\n", name, here, m->files_count);
      else
        printf("%-16s %s\n", name, st == RB_OK ? "verified" : rb_message());
      rb_clear();
    }
    rb_manifest_free(m);
  }
  return bad ? RB_EXIT_INVALID : seen ? RB_EXIT_OK : RB_EXIT_NOTHING;
}

static int import_one(const char *name, const char *folder, int quiet_when_absent) {
  rb_manifest *m;
  int copied = 0;
  rb_status st = rb_manifest_load(name, &m);
  if (st == RB_OK) {
    if (quiet_when_absent && (m->path || access(folder, R_OK) != 0)) {
      rb_manifest_free(m);
      return -1;
    }
    st = rb_manifest_import(m, folder, &copied);
    if (st == RB_OK) printf("%s: %d of %u files imported\n", name, copied, m->files_count);
    rb_manifest_free(m);
  }
  if (st == RB_OK) return RB_EXIT_OK;
  fprintf(stderr, "regbench data: %s\n", rb_message());
  rb_clear();
  return st == RB_EFORMAT ? RB_EXIT_INVALID : st == RB_EIO ? RB_EXIT_INCOMPLETE : RB_EXIT_USAGE;
}

static int data_import(const char *name, const char *folder) {
  if (strcmp(name, "all") != 0) return import_one(name, folder, 0);
  char names[64][64], path[4300];
  int n = rb_manifest_names(names, 64), code = RB_EXIT_NOTHING;
  for (int i = 0; i < n; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    int one = import_one(names[i], path, 1);
    if (one > 0) return one;
    if (one == 0) code = RB_EXIT_OK;
  }
  if (code == RB_EXIT_NOTHING) fprintf(stderr, "regbench data: no data set's folder in %s\n", folder);
  return code;
}

/* Reads the options of `surface` behind IMAGE; a usage message where one is wrong. */
static int surface_options(int argc, char **argv, double *level, const char **out, double *faces) {
  const char *value;
  *level = *faces = 0, *out = NULL;
  for (int i = 0; i < argc; i++) {
    char *end = "x";
    double *to = NULL;
    if ((value = rb_option(argc, argv, &i, "--level"))) {
      to = level;
    } else if ((value = rb_option(argc, argv, &i, "--faces"))) {
      to = faces;
    } else if ((value = rb_option(argc, argv, &i, "--out"))) {
      *out = value;
      continue;
    } else {
      return rb_usage("data", "surface does not know '%s'", argv[i]);
    }
    *to = strtod(value, &end);
    if (!*value || *end || !(*to > 0)) return rb_usage("data", "'%s' is not a positive number", value);
  }
  if (!(*level > 0) || !*out || !**out) return rb_usage("data", "surface needs --level and --out");
  return RB_EXIT_OK;
}

static int data_surface(const char *image, int argc, char **argv) {
  double level, faces;
  const char *out;
  rb_volume volume = {0};
  rb_mesh mesh = {0};
  rb_mesh_report r;
  int code = surface_options(argc, argv, &level, &out, &faces);
  if (code != RB_EXIT_OK) return code;
  rb_status st = rb_volume_read(image, &volume);
  if (st == RB_OK) {
    const rb_affine world = rb_volume_affine(&volume, volume.grid);
    st = rb_isosurface(volume.grid, volume.data, level, &world, (int64_t)(1.5 * faces), &mesh);
  }
  if (st == RB_OK) st = rb_mesh_measure(&mesh, &r);
  if (st == RB_OK) st = rb_mesh_write(out, &mesh);
  if (st == RB_OK)
    printf("%s: %lld vertices, %lld faces, %.6g mm^2, %.6g mm^3, %lld open edges\n", out, (long long)mesh.vertices,
           (long long)mesh.faces, r.area, r.volume, (long long)r.border);
  else
    fprintf(stderr, "regbench data: %s\n", rb_message());
  rb_mesh_free(&mesh);
  rb_volume_free(&volume);
  return st == RB_OK       ? RB_EXIT_OK
         : st == RB_EIO    ? RB_EXIT_INCOMPLETE
         : st == RB_ENOMEM ? RB_EXIT_INTERNAL
                           : RB_EXIT_USAGE;
}

int rb_cmd_data(int argc, char **argv) {
  if (rb_wants_help(argc, argv, data_help)) return RB_EXIT_OK;
  if (argc == 1 && strcmp(argv[0], "list") == 0) return data_list();
  if (argc >= 1 && strcmp(argv[0], "verify") == 0) return data_verify(argc - 1, argv + 1);
  if (argc == 3 && strcmp(argv[0], "import") == 0) return data_import(argv[1], argv[2]);
  if (argc >= 2 && strcmp(argv[0], "surface") == 0) return data_surface(argv[1], argc - 2, argv + 2);
  return rb_usage("data", argc ? "cannot do '%s' with these arguments" : "list, verify, import or surface?%s",
                  argc ? argv[0] : "");
}

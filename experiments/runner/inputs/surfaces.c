/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/surfaces.h"

#include "datasets/isosurface.h"
#include "datasets/manifest.h"
#include "datasets/mesh_file.h"

#include <stdlib.h>
#include <string.h>

enum { PAPER_FIRST = 160535, PAPER_SECOND = 127043 };

/* Full path of a set's file, verified. */
static rb_status file_of(const char *set, const char *file, char *path, int size, rb_data_source *source) {
  rb_status st = RB_OK;
  rb_manifest *m = NULL;
  static char name[128]; /* lives as long as the record needs it: the set's files are few */
  RB_TRY(rb_manifest_load(set, &m));
  RB_TRY(rb_manifest_path(m, file, path, size));
  if (rb_sha256_file(path, source->sha256) != RB_OK) {
    rb_clear();
    st = RB_FAIL(RB_ENOTFOUND, "data set %s is absent (regbench data import %s FOLDER)", set, set);
    goto done;
  }
  for (unsigned i = 0; i < m->files_count; i++)
    RB_CHECK(strcmp(m->files[i].name, file) != 0 || strcmp(m->files[i].sha256, source->sha256) == 0, RB_EFORMAT,
             "%s is not the file of data set %s: its sha256 differs", path, set);
  strncpy(name, file, sizeof name - 1);
  source->file = name;
done:
  rb_manifest_free(m);
  return st;
}

static rb_status hemisphere(const char *side, rb_mesh *out, rb_data_source *source) {
  rb_status st = RB_OK;
  char path[4096], file[64] = "conte69_32k_";
  strcat(strcat(file, side), ".gii");
  RB_TRY(file_of("surfaces", file, path, sizeof path, source));
  RB_TRY(rb_mesh_read(path, out));
done:
  return st;
}

/* The faces of `second` behind those of `first`. */
static rb_status join(const rb_mesh *first, const rb_mesh *second, rb_mesh *out) {
  rb_status st = RB_OK;
  const int64_t v1 = first->vertices, v2 = second->vertices;
  RB_TRY(rb_mesh_reserve(v1 + v2, first->faces + second->faces, out));
  for (int a = 0; a < 3; a++) {
    memcpy(out->x + a * (v1 + v2), first->x + a * v1, (size_t)v1 * sizeof(double));
    memcpy(out->x + a * (v1 + v2) + v1, second->x + a * v2, (size_t)v2 * sizeof(double));
  }
  memcpy(out->face, first->face, (size_t)(3 * first->faces) * sizeof(int32_t));
  for (int64_t i = 0; i < 3 * second->faces; i++) out->face[3 * first->faces + i] = second->face[i] + (int32_t)v1;
done:
  return st;
}

static rb_status grey_matter(rb_mesh *out, rb_data_source *source) {
  rb_status st = RB_OK;
  char path[4096];
  rb_volume v = {0};
  RB_TRY(file_of("adult", "spm_grey.nii.gz", path, sizeof path, source));
  RB_TRY(rb_volume_read(path, &v));
  const rb_affine world = rb_volume_affine(&v, v.grid);
  RB_TRY(rb_isosurface(v.grid, v.data, 0.5, &world, 0, out));
done:
  rb_volume_free(&v);
  return st;
}

rb_status rb_surface_pair(const char *data, rb_mesh pair[2], rb_data_source *source) {
  rb_status st = RB_OK;
  const double here[3] = {0, 0, 0}, there[3] = {3, 0, 0};
  rb_mesh left = {0}, right = {0};
  rb_data_source other;
  pair[0] = pair[1] = (rb_mesh){0};
  *source = (rb_data_source){0};
  if (strcmp(data, "spheres") == 0) {
    RB_TRY(rb_mesh_sphere(5, 20, here, &pair[0]));
    RB_TRY(rb_mesh_sphere(5, 22, there, &pair[1]));
  } else if (strcmp(data, "icosahedra") == 0) {
    const double near[3] = {0.3, 0, 0};
    RB_TRY(rb_mesh_sphere(0, 2, here, &pair[0]));
    RB_TRY(rb_mesh_sphere(0, 2.2, near, &pair[1]));
  } else if (strcmp(data, "hemispheres") == 0) {
    RB_TRY(hemisphere("lh", &pair[0], source));
    RB_TRY(hemisphere("rh", &pair[1], &other));
    rb_mesh_mirror(&pair[1]);
  } else {
    RB_CHECK(strcmp(data, "paper") == 0, RB_EINVAL, "unknown surfaces '%s': spheres, icosahedra, hemispheres, paper",
             data);
    RB_TRY(hemisphere("lh", &left, &other));
    RB_TRY(hemisphere("rh", &right, &other));
    RB_TRY(join(&left, &right, &pair[1]));
    RB_TRY(grey_matter(&pair[0], source));
    RB_CHECK(pair[0].faces >= PAPER_FIRST && pair[1].faces >= PAPER_SECOND, RB_EFORMAT,
             "surfaces of %lld and %lld faces are too small", (long long)pair[0].faces, (long long)pair[1].faces);
    pair[0].faces = PAPER_FIRST, pair[1].faces = PAPER_SECOND;
  }
done:
  rb_mesh_free(&right), rb_mesh_free(&left);
  if (st != RB_OK) rb_mesh_free(&pair[0]), rb_mesh_free(&pair[1]);
  return st;
}

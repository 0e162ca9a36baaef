/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/cli/register_probability.h"

#include "experiments/runner/cli/register_world.h"
#include "solvers/common/overlap.h"

#include <stdlib.h>
#include <string.h>

/* The label file that belongs to image t of those that were kept. */
static const char *labels_of(const rb_register_request *r, const rb_register_inputs *in, int64_t t) {
  int k = 0;
  while (r->images[k] != in->kept[t]) k++;
  return r->label_files[k];
}

static rb_status check_one(const char *image, const char *labels) {
  rb_status st = RB_OK;
  rb_volume v[2] = {{{{0}}, NULL, {0}, NULL}, {{{0}}, NULL, {0}, NULL}};
  RB_TRY(rb_volume_read(image, &v[0]));
  RB_TRY(rb_volume_read(labels, &v[1]));
  RB_CHECK(rb_volume_same_lattice(&v[0], &v[1]), RB_EINVAL, "labels %s do not lie on the voxels of their image %s",
           labels, image);
  const int64_t bad = rb_overlap_first_bad(rb_grid_points(v[1].grid), v[1].data);
  RB_CHECK(bad < 0, RB_EINVAL, "labels %s hold %g; whole numbers from 0 to 255 work", labels, (double)v[1].data[bad]);
done:
  for (int k = 0; k < 2; k++) rb_volume_free(&v[k]);
  return st;
}

rb_status rb_register_labels_check(const rb_register_request *r, const rb_register_inputs *in) {
  rb_status st = RB_OK;
  int64_t first, end;
  if (!r->label_count) return RB_OK;
  rb_team_share(r->team, in->cohort.count, &first, &end);
  for (int64_t t = first; t < end && st == RB_OK; t++) st = check_one(in->kept[t], labels_of(r, in, t));
  return rb_team_agree(r->team, st);
}

/* [own][n]: each own map on the results' lattice; there[255]: how many voxels of the team have a label. */
static rb_status carry_maps(const rb_register_request *r, const rb_register_inputs *in, void *state, int64_t n,
                            unsigned char *maps, double there[RB_LABELS]) {
  rb_status st = RB_OK;
  int64_t first, end;
  float *carried = NULL;
  rb_team_share(r->team, in->cohort.count, &first, &end);
  for (int64_t t = first; t < end; t++, maps += n) {
    RB_TRY(rb_register_world_carried(r, in, state, (int)t, labels_of(r, in, t), RB_CARRY_LABELS, &carried));
    for (int64_t i = 0; i < n; i++) {
      maps[i] = (unsigned char)carried[i];
      there[maps[i]]++;
    }
    free(carried);
    carried = NULL;
  }
done:
  free(carried);
  return st;
}

typedef struct {
  int64_t n, own;
  const unsigned char *maps;  /* [own][n] */
  double *votes;              /* [n] */
  float *part, *most, *label; /* [n]: of a label; of the leading one, and which that is */
} ballot;

/* Votes of the whole team for label l, on all members. */
static rb_status count(const rb_team *team, const ballot *b, int l) {
  for (int64_t i = 0; i < b->n; i++) {
    int votes = 0;
    for (int64_t k = 0; k < b->own; k++) votes += b->maps[k * b->n + i] == l;
    b->votes[i] = votes;
  }
  return rb_team_sum(team, b->votes, b->n);
}

static rb_status write_maps(const rb_register_request *r, const rb_register_inputs *in, const double *there,
                            const ballot *b, json_t *files) {
  rb_status st = RB_OK;
  const rb_volume *like = in->like;
  char path[4096], name[64];
  for (int l = 0; l < RB_LABELS; l++) {
    if (l > 0 && there[l] == 0) continue;
    RB_TRY(count(r->team, b, l));
    for (int64_t i = 0; i < b->n; i++) {
      b->part[i] = (float)(b->votes[i] / in->cohort.count);
      if (l == 0 || b->part[i] > b->most[i]) b->most[i] = b->part[i], b->label[i] = (float)l;
    }
    if (l == 0 || r->team->rank > 0) continue;
    snprintf(name, sizeof name, "probability_%03d.nii.gz", l);
    RB_TRY(rb_register_path(r, path, sizeof path, "%s", name));
    RB_TRY(rb_volume_write(path, like, like->grid, b->part));
    json_array_append_new(files, json_pack("{s:i,s:s}", "label", l, "file", name));
  }
  if (r->team->rank > 0) return RB_OK;
  RB_TRY(rb_register_path(r, path, sizeof path, "labels.nii.gz"));
  RB_TRY(rb_volume_write_labels(path, like, like->grid, b->label));
done:
  return st;
}

rb_status rb_register_probabilities(const rb_register_request *r, const rb_register_inputs *in, void *state,
                                    json_t *metrics) {
  rb_status st = RB_OK;
  int64_t first, end;
  double there[RB_LABELS] = {0};
  unsigned char *maps = NULL;
  json_t *files = json_array();
  if (!r->label_count || !rb_register_wanted(r, "probability")) goto done;
  rb_team_share(r->team, in->cohort.count, &first, &end);
  const int64_t n = rb_grid_points(in->like->grid), own = end - first;
  ballot b = {.n = n, .own = own};
  maps = malloc((size_t)(own * n));
  b.votes = malloc((size_t)n * (sizeof *b.votes + 3 * sizeof *b.part));
  b.maps = maps;
  st = maps && b.votes ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory: %zu bytes for labels", (size_t)(own * n));
  if (st == RB_OK) {
    b.part = (float *)(b.votes + n), b.most = b.part + n, b.label = b.most + n;
    st = carry_maps(r, in, state, n, maps, there);
  }
  st = rb_team_agree(r->team, st); /* from here on only rank 0 writes */
  if (st == RB_OK) st = rb_team_sum(r->team, there, RB_LABELS);
  if (st == RB_OK) st = rb_team_agree(r->team, write_maps(r, in, there, &b, files));
  if (st == RB_OK)
    json_object_set_new(metrics, "labels",
                        json_pack("{s:s,s:O}", "of", "part of the images whose nearest label it is", "files", files));
  free(b.votes);
done:
  free(maps);
  json_decref(files);
  return st;
}

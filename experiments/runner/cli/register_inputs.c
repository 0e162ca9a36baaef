/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a registration: read, compared, made into a problem. */
#include "datasets/affine_file.h"
#include "datasets/input_file.h"
#include "experiments/runner/cli/register.h"
#include "experiments/runner/cli/register_probability.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Labels lie where their image does. Files that are not there or no NIfTI are told by whoever reads them. */
static rb_status labels_on_images(const rb_register_request *r) {
  rb_status st = RB_OK;
  for (int k = 0; k < 2 && !r->ignore_geometry; k++)
    if (r->files[k] && r->labels[k] && access(r->files[k], R_OK) == 0 && access(r->labels[k], R_OK) == 0)
      RB_TRY(rb_volume_same_axes(r->files[k], r->labels[k]));
done:
  return st;
}

/* Solvers take what is below 0 for nothing, or clip it. */
static rb_status check_not_negative(const rb_register_request *r, const rb_pair *pair) {
  for (int k = 0; k < 2; k++) {
    float least = 0;
    for (int64_t i = 0; i < rb_grid_points(pair->grid); i++) least = fminf(least, pair->image[k][i]);
    if (least < 0)
      return RB_FAIL(
          RB_EINVAL,
          "%s holds intensities down to %g: --shift-negative adds what makes its least value 0 (as for CT)",
          r->files[k], (double)least);
  }
  return RB_OK;
}

/* Labels that one map alone has are told: their overlap is 0 whatever the registration does. None in common cannot be
 * meant. */
static rb_status common_labels(const rb_pair *pair) {
  enum { LABELS = 256 };
  rb_status st = RB_OK;
  char has[2][LABELS] = {{0}};
  int common = 0, alone[2] = {0};
  for (int k = 0; k < 2; k++)
    for (int64_t i = 0; i < rb_grid_points(pair->grid); i++) has[k][(unsigned char)pair->labels[k][i]] = 1;
  for (int l = 1; l < LABELS; l++)
    common += has[0][l] && has[1][l], alone[0] += has[0][l] && !has[1][l], alone[1] += has[1][l] && !has[0][l];
  RB_CHECK(common, RB_EINVAL,
           "the label maps have no label in common (%d in the template's alone, %d in the reference's)", alone[0],
           alone[1]);
  if (alone[0] || alone[1])
    fprintf(stderr,
            "regbench register: %d labels are in both maps, %d in the template's alone, %d in the reference's: these "
            "overlap by 0\n",
            common, alone[0], alone[1]);
done:
  return st;
}

/* Lines of a number and a name: after a comma, between quotes (ITK-SNAP), or the next word (FreeSurfer). */
static rb_status read_label_names(const char *path, char *names[RB_LABELS]) {
  rb_status st = RB_OK;
  char *text = NULL, *rest = NULL;
  size_t size;
  int count = 0;
  RB_TRY(rb_input_text(path, &text, &size));
  for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
    char *end;
    const long label = strtol(line, &end, 10);
    if (end == line || label < 0 || label >= RB_LABELS) continue;
    char *quoted = strchr(end, '"'), *name = quoted ? quoted + 1 : end + strspn(end, ", \t");
    name[strcspn(name, quoted ? "\"" : *end == ',' ? "" : " \t")] = '\0';
    if (!*name) continue;
    free(names[label]);
    RB_CHECK((names[label] = strdup(name)), RB_ENOMEM, "host memory");
    count++;
  }
  RB_CHECK(count, RB_EFORMAT, "%s: no line of a number and a name", path);
done:
  free(text);
  return st;
}

static rb_status read_marks(const rb_register_request *r, rb_points marks[2]) {
  rb_status st = RB_OK;
  for (int k = 0; k < 2; k++) {
    RB_TRY(rb_points_read(r->marks[k], &marks[k]));
    RB_CHECK(marks[k].dim == 3, RB_EINVAL, "%s holds points of the plane; those of an image have three coordinates",
             r->marks[k]);
  }
  RB_CHECK(marks[0].n == marks[1].n, RB_EINVAL, "%s holds %lld points and %s %lld: they must correspond one to one",
           r->marks[0], (long long)marks[0].n, r->marks[1], (long long)marks[1].n);
done:
  return st;
}

/* Indices along the file's x, y, z. */
static void marks_to_world(const rb_volume *file, rb_points *p) {
  const rb_affine a = rb_volume_affine(file, file->grid);
  for (int64_t i = 0; i < p->n; i++) {
    const double at[3] = {p->x[i], p->x[p->n + i], p->x[2 * p->n + i]};
    double mm[3];
    rb_affine_point(&a, at, mm);
    for (int k = 0; k < 3; k++) p->x[k * p->n + i] = mm[k];
  }
}

/* Files whose two forms differ are told: other programs may follow the other one. */
static void tell_of_forms(const rb_register_request *r, const rb_pair *pair) {
  for (int k = 0; k < 2 && !r->ignore_geometry; k++) {
    const double apart = rb_volume_forms_apart(&pair->files[k]);
    if (apart > 0.1)
      fprintf(stderr, "regbench register: sform and qform of %s lie up to %.3g mm apart; the sform counts\n",
              r->files[k], apart);
  }
}

static rb_status read_images(const rb_register_request *r, rb_register_inputs *in) {
  rb_status st = RB_OK;
  rb_pair *pair = &in->pair;
  rb_affine affine;
  RB_TRY(labels_on_images(r));
  if (r->affine) RB_TRY(rb_affine_read(r->affine, &affine));
  if (r->marks[0]) RB_TRY(read_marks(r, in->marks));
  if (r->label_names) RB_TRY(read_label_names(r->label_names, in->label_name));
  const rb_pair_request asked = {.images = {r->files[0], r->files[1]},
                                 .labels = {r->labels[0], r->labels[1]},
                                 .placing = r->ignore_geometry ? RB_AS_THEY_LIE : RB_IN_WORLD,
                                 .how = r->how,
                                 .grid = r->grid,
                                 .voxel = {r->voxel[0], r->voxel[1], r->voxel[2]},
                                 .affine = r->affine ? &affine : NULL,
                                 .centre = r->centre,
                                 .raise = r->shift,
                                 .keep = 1};
  RB_TRY(rb_pair_read(&asked, pair));
  for (int k = 0; k < 2 && r->marks_in_voxels; k++) marks_to_world(&pair->files[k], &in->marks[k]);
  tell_of_forms(r, pair);
  RB_TRY(check_not_negative(r, pair));
  const int labels = pair->labels[RB_TEMPLATE] && pair->labels[RB_REFERENCE];
  if (labels) RB_TRY(common_labels(pair));
  in->problem.shape = (rb_problem_shape){.grid = pair->grid, .channels = 1, .templates = 1, .labels = labels};
  in->like = &pair->like;
  for (int k = 0; k < 2; k++)
    in->subject[k] = (rb_subject){.image = pair->image[k], .labels = labels ? pair->labels[k] : NULL};
done:
  return st;
}

static rb_status read_points(const rb_register_request *r, rb_register_inputs *in) {
  rb_status st = RB_OK;
  rb_points *set = in->points;
  for (int k = 0; k < 2; k++) {
    RB_TRY(rb_points_read(r->files[k], &set[k]));
    RB_TRY(rb_points_distinct(&set[k], r->files[k]));
    in->subject[k].points = set[k].x;
  }
  RB_CHECK(set[0].dim == set[1].dim, RB_EINVAL, "%s is %dD and %s %dD", r->files[0], set[0].dim, r->files[1],
           set[1].dim);
  RB_CHECK(set[0].n == set[1].n, RB_EINVAL, "%s holds %lld points and %s %lld: they must correspond one to one",
           r->files[0], (long long)set[0].n, r->files[1], (long long)set[1].n);
  if (r->apply) {
    RB_TRY(rb_points_read(r->apply, &in->applied));
    RB_CHECK(in->applied.dim == set[0].dim, RB_EINVAL, "%s is %dD, the landmarks are %dD", r->apply, in->applied.dim,
             set[0].dim);
  }
  in->problem.shape = (rb_problem_shape){.points = set[0].n, .dim = set[0].dim, .templates = 1};
done:
  return st;
}

/* Files that cannot be used: fatal, or left out of the list. All of them are reported before anything is decided. */
static rb_status select_usable(const rb_register_request *r, rb_cohort_request *files, const char **kept) {
  rb_status st = RB_OK;
  char *complaints = NULL;
  int count = 0, *bad = calloc((size_t)files->count, sizeof *bad);
  RB_CHECK(bad, RB_ENOMEM, "host memory");
  RB_TRY(rb_cohort_validate(files, r->team, bad, &complaints));
  for (int i = 0; i < files->count; i++)
    if (!bad[i]) kept[count++] = files->files[i];
  if (complaints && count < files->count) fprintf(stderr, "%s", complaints);
  RB_CHECK(count == files->count || r->leave_out, RB_EINVAL,
           "%d of %d images cannot be used (above); correct them or leave them out by --leave-out-bad",
           files->count - count, files->count);
  if (count < files->count && r->team->rank == 0)
    fprintf(stderr, "regbench register: %d of %d images are left out\n", files->count - count, files->count);
  files->files = kept, files->count = count;
  RB_CHECK(count >= (r->files[RB_REFERENCE] ? 1 : 2), RB_EINVAL, "%d images are left: too few for %s", count,
           r->files[RB_REFERENCE] ? "a registration" : "an atlas");
done:
  free(complaints), free(bad);
  return st;
}

/* The images come onto its lattice, and results lie on it. */
static rb_status read_reference(const rb_register_request *r, rb_register_inputs *in) {
  rb_status st = RB_OK;
  const rb_cohort_request one = {.files = &r->files[RB_REFERENCE],
                                 .count = 1,
                                 .how = r->how,
                                 .grid = r->grid,
                                 .ignore_geometry = r->ignore_geometry};
  if (!r->files[RB_REFERENCE]) return RB_OK;
  RB_TRY(rb_cohort_read(&one, rb_team_self(), &in->reference));
  in->subject[RB_REFERENCE].image = in->reference.image[0];
  in->problem.reference = &in->subject[RB_REFERENCE];
  in->like = &in->reference.like;
done:
  return st;
}

/* The atlas takes voxels for cubes unless it is told otherwise: smoothing reaches farther along a long side then. */
static void warn_of_anisotropic_voxels(const rb_register_request *r, const double mm[3], rb_grid g) {
  const double most = fmax(mm[0], fmax(mm[1], mm[2])), least = fmin(mm[0], fmin(mm[1], mm[2]));
  const rb_solver_option *voxels = rb_solver_option_find(r->solver->options, "voxels");
  if (most <= 1.05 * least || (voxels && rb_solver_option_number(voxels, r->options) != 0)) return;
  const double edge = cbrt(mm[0] * mm[1] * mm[2]);
  fprintf(
      stderr,
      "regbench register: voxels are anisotropic, %.3g x %.3g x %.3g mm, and are treated as cubes: smoothing "
      "reaches farther "
      "along the long side; --voxels spacing takes them as they are, --size %.0f,%.0f,%.0f makes them isotropic\n",
      mm[2], mm[1], mm[0], (double)g.n[2] * mm[2] / edge, (double)g.n[1] * mm[1] / edge,
      (double)g.n[0] * mm[0] / edge);
}

static rb_status read_cohort(const rb_register_request *r, rb_register_inputs *in) {
  rb_status st = RB_OK;
  rb_cohort_request files = {.files = (const char *const *)r->images,
                             .count = r->image_count,
                             .how = r->how,
                             .grid = r->grid,
                             .ignore_geometry = r->ignore_geometry};
  const char **kept = calloc((size_t)r->image_count, sizeof *kept);
  RB_CHECK(kept, RB_ENOMEM, "host memory");
  in->problem.reference = NULL;
  RB_TRY(rb_team_agree(r->team, read_reference(r, in)));
  if (in->reference.count) files.like = &in->reference.like, files.like_name = r->files[RB_REFERENCE];
  RB_TRY(select_usable(r, &files, kept));
  RB_TRY(rb_cohort_read(&files, r->team, &in->cohort));
  in->templates = calloc((size_t)in->cohort.count, sizeof *in->templates);
  RB_CHECK(in->templates, RB_ENOMEM, "host memory");
  for (int i = 0; i < in->cohort.count; i++) in->templates[i].image = in->cohort.image[i];
  in->problem.templates = in->templates;
  in->problem.shape = (rb_problem_shape){.grid = in->cohort.grid, .channels = 1, .templates = in->cohort.count};
  if (!in->like) in->like = &in->cohort.like;
  double *mm = in->problem.shape.spacing;
  for (int a = 0; a < 3; a++)
    mm[a] = in->like->spacing[a] * (double)in->like->grid.n[a] / (double)in->cohort.grid.n[a];
  if (r->team->rank == 0) warn_of_anisotropic_voxels(r, mm, in->cohort.grid);
  in->kept = kept;
  kept = NULL;
  RB_TRY(rb_register_labels_check(r, in));
done:
  free(kept);
  return st;
}

/* The currents of an open surface are well defined, but it bounds no region. */
static rb_status warn_of_open_surfaces(const char *const *files, const rb_anatomy *a) {
  rb_status st = RB_OK;
  rb_mesh_report m;
  for (int k = 0; k < a->surfaces; k++) {
    RB_TRY(rb_mesh_measure(&a->mesh[k], &m));
    if (m.border || m.crowded)
      fprintf(stderr,
              "regbench register: %s has %lld edges of one face (open) and %lld of more than two: it bounds no "
              "region\n",
              files[k], (long long)m.border, (long long)m.crowded);
  }
done:
  return st;
}

static rb_status read_anatomies(const rb_register_request *r, rb_register_inputs *in) {
  rb_status st = RB_OK;
  rb_anatomy *a = in->anatomy;
  for (int k = RB_REFERENCE; k >= RB_TEMPLATE; k--) {
    RB_TRY(rb_anatomy_read(r->posteriors[k].files, r->posteriors[k].count, r->surfaces[k].files, r->surfaces[k].count,
                           k == RB_TEMPLATE ? &a[RB_REFERENCE].like : NULL, &a[k]));
    RB_TRY(warn_of_open_surfaces(r->surfaces[k].files, &a[k]));
    in->subject[k] = rb_anatomy_subject(&a[k]);
  }
  in->problem.shape = rb_anatomy_shape(&a[RB_TEMPLATE], &a[RB_REFERENCE]);
  in->like = &a[RB_REFERENCE].like;
done:
  return st;
}

rb_status rb_register_read(const rb_register_request *r, rb_register_inputs *in) {
  *in = (rb_register_inputs){0};
  const rb_status st = rb_team_agree(r->team, rb_register_folder_take(r, &in->folder));
  if (st != RB_OK) return st;
  in->problem.templates = &in->subject[RB_TEMPLATE];
  in->problem.reference = &in->subject[RB_REFERENCE];
  if (r->solver->cohort) return read_cohort(r, in);
  if (r->solver->takes & RB_TAKES_CHANNELS) return read_anatomies(r, in);
  return r->solver->takes & RB_TAKES_IMAGES ? read_images(r, in) : read_points(r, in);
}

void rb_register_inputs_free(rb_register_inputs *in) {
  rb_pair_free(&in->pair);
  for (int k = 0; k < 2; k++) rb_anatomy_free(&in->anatomy[k]);
  rb_cohort_free(&in->cohort), rb_cohort_free(&in->reference);
  free(in->templates), free(in->kept);
  rb_points_free(&in->applied);
  for (int k = 0; k < 2; k++) rb_points_free(&in->points[k]), rb_points_free(&in->marks[k]);
  for (int l = 0; l < RB_LABELS; l++) free(in->label_name[l]);
  rb_register_folder_release(&in->folder);
}

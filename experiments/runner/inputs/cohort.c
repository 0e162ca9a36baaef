/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/cohort.h"

#include "datasets/manifest.h"
#include "datasets/world.h"
#include "experiments/runner/base/files.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists ------------------------------------------------------------------------------------------------ */

void rb_cohort_list_free(char **files, int count) {
  for (int i = 0; i < count && files; i++) free(files[i]);
  free(files);
}

/* The next column of a line without blanks around it, in place; "" where there is nothing to read. *at goes behind
 * its comma, or to the line's end. */
static char *next_column(char **at) {
  char *from = *at + strspn(*at, " \t\r"), *end = from + strcspn(from, ",\r\n");
  *at = *end == ',' ? end + 1 : end;
  while (end > from && isspace((unsigned char)end[-1])) end--;
  *end = '\0';
  return from;
}

static rb_status append(const char *list, const char *name, char ***files, int *count) {
  rb_status st = RB_OK;
  const char *slash = strrchr(list, '/');
  char **more = realloc(*files, ((size_t)*count + 1) * sizeof *more), *file = malloc(PATH_MAX);
  if (more) *files = more;
  if (more && file) more[(*count)++] = file;
  RB_CHECK(more && file, RB_ENOMEM, "host memory");
  RB_TRY(rb_path(file, PATH_MAX, "%.*s%s", *name == '/' || !slash ? 0 : (int)(slash - list) + 1, list, name));
done:
  if (!more) free(file);
  return st;
}

rb_status rb_cohort_list(const char *path, char ***files, int *count, char ***labels, int *label_count) {
  rb_status st = RB_OK;
  char *text = NULL, *next = NULL, **list[2] = {NULL, NULL};
  int n[2] = {0, 0}, labelled = 0;
  RB_TRY(rb_read_file(path, &text, NULL));
  for (char *line = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text; line;
       line = next) { /* no byte order mark */
    if ((next = strchr(line, '\n'))) *next++ = '\0';
    char *at = line;
    const char *image = next_column(&at), *map = next_column(&at);
    if (!*image || *image == '#') continue;
    if (n[0] == 0 && strcmp(image, "image") == 0) {
      labelled = strcmp(map, "labels") == 0;
      continue;
    }
    RB_TRY(append(path, image, &list[0], &n[0]));
    if (labelled && *map) RB_TRY(append(path, map, &list[1], &n[1]));
    RB_CHECK(n[1] == 0 || n[1] == n[0], RB_EFORMAT, "%s: label maps behind some images and not behind others (%s)",
             path, image);
  }
  RB_CHECK(n[0] > 0, RB_EFORMAT, "%s names no file", path);
  *files = list[0], *count = n[0], *labels = list[1], *label_count = n[1];
  list[0] = list[1] = NULL;
done:
  for (int k = 0; k < 2 && st != RB_OK; k++) rb_cohort_list_free(list[k], n[k]);
  free(text);
  return st;
}

/* ---- one file --------------------------------------------------------------------------------------------- */

static int same_grid(rb_grid a, rb_grid b) { return memcmp(&a, &b, sizeof a) == 0; }

/* The lattice on which all come, and what it is called in messages. */
typedef struct {
  const rb_volume *volume;
  const char *name;
  int file; /* its number; -1: none of the list */
} lattice;

static int in_world(const rb_volume *a, const rb_volume *b) {
  return rb_volume_affine(a, a->grid).known && rb_volume_affine(b, b->grid).known;
}

/* Through both affines. */
static rb_status place(const rb_cohort_request *r, const char *name, const lattice *on, rb_volume *v) {
  rb_status st = RB_OK;
  const rb_volume *like = on->volume;
  double covered = 1;
  float *there = NULL;
  if (rb_volume_same_lattice(v, like)) return RB_OK;
  const size_t bytes = (size_t)rb_grid_points(like->grid) * sizeof *there;
  there = malloc(bytes);
  RB_CHECK(there, RB_ENOMEM, "host memory: %zu bytes for an image", bytes);
  RB_TRY(rb_volume_onto(v, like, NULL, r->how, there, &covered));
  RB_CHECK(
      covered >= 0.1, RB_EINVAL,
      "%s holds %.2g %% of where %s lies in the world (their centres are %.3g mm apart): align them first, or say "
      "--ignore-geometry to register images as they lie in memory",
      name, 100 * covered, on->name, rb_volume_distance(v, like));
  free(v->data);
  v->data = there, v->grid = like->grid;
  there = NULL;
done:
  free(there);
  return st;
}

/* Read, compared with the grid and axes of the lattice unless a grid is asked for, and brought there. */
static rb_status read_one(const rb_cohort_request *r, int i, const lattice *on, rb_volume *out) {
  rb_status st = RB_OK;
  const rb_grid g = on->volume->grid;
  *out = (rb_volume){0};
  RB_TRY(rb_volume_read(r->files[i], out));
  if (r->grid.n[0] == 0)
    RB_CHECK(same_grid(out->grid, g), RB_EINVAL,
             "%s is %lldx%lldx%lld and %s %lldx%lldx%lld; bring all to one grid with --size", r->files[i],
             (long long)out->grid.n[2], (long long)out->grid.n[1], (long long)out->grid.n[0], on->name,
             (long long)g.n[2], (long long)g.n[1], (long long)g.n[0]);
  if (!r->ignore_geometry && i != on->file) {
    const int placed = in_world(out, on->volume);
    if (!placed || r->grid.n[0] == 0) RB_TRY(rb_volume_same_axes(on->name, r->files[i]));
    if (placed) RB_TRY(place(r, r->files[i], on, out));
  }
  const int64_t n = rb_grid_points(out->grid);
  int64_t k = 1;
  while (k < n && out->data[k] == out->data[0]) k++;
  RB_CHECK(k < n, RB_EINVAL, "%s is constant: there is nothing to register", r->files[i]);
done:
  if (st != RB_OK) rb_volume_free(out);
  return st;
}

/* ---- all files -------------------------------------------------------------------------------------------- */

enum { COMPLAINTS = 1 << 16 };

/* A line of its own; where there is no room left, that there are more. */
static void complain(char *text, const char *message) {
  static const char more[] = "... and more files that cannot be used\n";
  const size_t length = strlen(text);
  if (length + strlen(message) + 1 + sizeof more < COMPLAINTS)
    snprintf(text + length, COMPLAINTS - length, "%s\n", message);
  else if (length < sizeof more || strcmp(text + length - sizeof more + 1, more) != 0)
    snprintf(text + length, COMPLAINTS - length, "%s", more);
}

static rb_status gather_complaints(const rb_team *team, const char *own, char **out) {
  rb_status st = RB_OK;
  char *all = NULL;
  *out = NULL;
  if (team->rank == 0) all = calloc((size_t)team->size, COMPLAINTS);
  RB_TRY(rb_team_agree(team, all || team->rank ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory")));
  RB_TRY(rb_team_gather(team, own, COMPLAINTS, all));
  if (team->rank > 0) goto done;
  for (int k = 1; k < team->size; k++) {
    const char *next = all + (size_t)k * COMPLAINTS;
    memmove(all + strlen(all), next, strlen(next) + 1);
  }
  *out = all;
  all = NULL;
done:
  free(all);
  return st;
}

rb_status rb_cohort_validate(const rb_cohort_request *r, const rb_team *team, int *bad, char **complaints) {
  rb_status st = RB_OK;
  int64_t from, end;
  int basis = 0; /* the first that can be read: all are compared with it */
  rb_volume first = {0}, v;
  double *marks = calloc((size_t)r->count, sizeof *marks);
  char *own = calloc(1, COMPLAINTS);
  *complaints = NULL;
  RB_TRY(rb_team_agree(team, marks && own ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory")));
  rb_team_share(team, r->count, &from, &end);
  while (!r->like && basis < r->count - 1 && rb_volume_read(r->files[basis], &first) != RB_OK) basis++, rb_clear();
  RB_TRY(rb_team_agree(team, r->like || first.data ? RB_OK : rb_volume_read(r->files[basis], &first)));
  const lattice on = {r->like ? r->like : &first, r->like ? r->like_name : r->files[basis], r->like ? -1 : basis};
  for (int64_t i = from; i < end; i++) {
    if (read_one(r, (int)i, &on, &v) == RB_OK) {
      rb_volume_free(&v);
      continue;
    }
    marks[i] = 1;
    complain(own, rb_message());
    rb_clear();
  }
  RB_TRY(rb_team_sum(team, marks, r->count));
  for (int i = 0; i < r->count; i++) bad[i] = marks[i] > 0;
  RB_TRY(gather_complaints(team, own, complaints));
done:
  rb_volume_free(&first);
  free(own), free(marks);
  return st;
}

/* "folder/na01.nii.gz" -> "na01" */
static void name_of(const char *file, char out[128]) {
  const char *slash = strrchr(file, '/');
  snprintf(out, 128, "%.127s", slash ? slash + 1 : file);
  for (char *s = out; *s; s++)
    if ((unsigned char)*s >= 128) *s = '?';
  static const char *const endings[] = {".gz", ".nii", ".hdr", ".img"};
  for (int k = 0; k < 4; k++) {
    const size_t length = strlen(out), cut = strlen(endings[k]);
    if (length > cut && strcmp(out + length - cut, endings[k]) == 0) out[length - cut] = '\0';
  }
}

static rb_status read_share(const rb_cohort_request *r, const rb_team *team, rb_cohort *out) {
  rb_status st = RB_OK;
  int64_t from, end;
  rb_volume v = {0};
  const lattice on = {&out->like, r->like ? r->like_name : r->files[0], r->like ? -1 : 0};
  rb_team_share(team, r->count, &from, &end);
  for (int64_t i = from; i < end; i++) {
    const size_t bytes = (size_t)rb_grid_points(out->grid) * sizeof(float);
    RB_TRY(read_one(r, (int)i, &on, &v));
    RB_TRY(rb_sha256_file(r->files[i], out->sha256[i]));
    if (same_grid(v.grid, out->grid)) {
      out->image[i] = v.data;
      v.data = NULL;
    } else {
      out->image[i] = malloc(bytes);
      RB_CHECK(out->image[i], RB_ENOMEM, "host memory: %zu bytes for an image", bytes);
      RB_TRY(rb_resample(r->how, v.grid, v.data, out->grid, out->image[i]));
    }
    rb_volume_free(&v);
  }
done:
  rb_volume_free(&v);
  return st;
}

/* Every file's checksum, from the member that read it to rank 0. */
static rb_status gather_checksums(const rb_team *team, rb_cohort *c) {
  rb_status st = RB_OK;
  const size_t bytes = (size_t)c->count * sizeof *c->sha256;
  char(*all)[65] = NULL;
  if (team->rank == 0) all = malloc((size_t)team->size * bytes);
  RB_TRY(rb_team_agree(team, all || team->rank ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory")));
  RB_TRY(rb_team_gather(team, c->sha256, bytes, all));
  for (int k = 0; k < team->size * c->count && team->rank == 0; k++)
    if (all[k][0]) memcpy(c->sha256[k % c->count], all[k], sizeof all[k]);
done:
  free(all);
  return st;
}

rb_status rb_cohort_read(const rb_cohort_request *r, const rb_team *team, rb_cohort *out) {
  rb_status st = RB_OK;
  *out = (rb_cohort){.count = r->count};
  out->image = calloc((size_t)r->count, sizeof *out->image);
  out->name = calloc((size_t)r->count, sizeof *out->name);
  out->sha256 = calloc((size_t)r->count, sizeof *out->sha256);
  st = out->image && out->name && out->sha256 ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
  if (st == RB_OK)
    st = r->like ? rb_volume_copy_geometry(r->like, &out->like) : rb_volume_read(r->files[0], &out->like);
  RB_TRY(rb_team_agree(team, st));
  out->grid = r->grid.n[0] ? r->grid : out->like.grid;
  for (int i = 0; i < r->count; i++) name_of(r->files[i], out->name[i]);
  RB_TRY(rb_team_agree(team, read_share(r, team, out)));
  RB_TRY(gather_checksums(team, out));
done:
  if (st != RB_OK) rb_cohort_free(out);
  return st;
}

void rb_cohort_scale(rb_cohort *c) {
  const int64_t n = rb_grid_points(c->grid);
  float low = c->image[0][0], high = low;
  for (int k = 0; k < c->count; k++)
    for (int64_t i = 0; i < n; i++) low = fminf(low, c->image[k][i]), high = fmaxf(high, c->image[k][i]);
  for (int k = 0; k < c->count; k++)
    for (int64_t i = 0; i < n; i++)
      c->image[k][i] = fminf(fmaxf((c->image[k][i] - low) / (high - low), 0.0f), 1.0f); /* rounding stays inside */
}

void rb_cohort_free(rb_cohort *c) {
  for (int i = 0; i < c->count && c->image; i++) free(c->image[i]);
  free(c->image), free(c->name), free(c->sha256);
  rb_volume_free(&c->like);
  *c = (rb_cohort){0};
}

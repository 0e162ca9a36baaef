/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers of files against damaged files: seeds are committed files and small ones made here; each is bent a little
 * and read. What is refused must be refused by a status; a build with sanitizers ends at the first access that is
 * wrong.
 *
 * usage: fuzz SOURCE_FOLDER [SECONDS [TARGET]]      each target draws from REGBENCH_SEED by itself, so that it makes
 * the same inputs alone as among others; without it from the day's number. The input under way lies in the folder
 * that is told first, and stays there after a crash. */
#include "datasets/affine_file.h"
#include "datasets/displacement_file.h"
#include "datasets/mesh_file.h"
#include "datasets/points.h"
#include "datasets/temporary.h"
#include "datasets/volume.h"
#include "experiments/runner/base/files.h"
#include "experiments/runner/descriptor/descriptor.h"
#include "experiments/runner/inputs/cohort.h"
#include "experiments/runner/inputs/pair_list.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/cells.h"
#include "experiments/runner/report/csv.h"
#include "kernels/base/clock.h"
#include "kernels/base/rng.h"
#include "solvers/external/adapter.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- readers ---------------------------------------------------------------------------------------------- */

/* Each takes the input as a file and as text, and gives back all that it made. */
static void descriptor(const char *path, const char *text) {
  rb_descriptor *d = NULL;
  (void)path;
  if (rb_descriptor_parse(text, "fuzz", &d) == RB_OK) rb_descriptor_free(d);
}
static void record(const char *path, const char *text) {
  json_t *r = NULL;
  rb_judged j = {0};
  rb_table cells = {0}, claims = {0};
  rb_verdicts v = {0};
  (void)text;
  if (rb_record_load(path, &r) == RB_OK && rb_judged_open(r, path, &j) == RB_OK) {
    if (rb_cell_table(&j, &cells, &v) == RB_OK) rb_claim_table(&j, &claims, &v);
    rb_table_free(&cells), rb_table_free(&claims);
  }
  rb_judged_close(&j);
  json_decref(r);
}
static void csv(const char *path, const char *text) {
  rb_csv c = {0};
  (void)path;
  if (rb_csv_parse(text, "fuzz", &c) == RB_OK) rb_csv_free(&c);
}
static void points(const char *path, const char *text) {
  rb_points p = {0};
  (void)text;
  if (rb_points_read(path, &p) == RB_OK) rb_points_free(&p);
}
static void mesh(const char *path, const char *text) {
  rb_mesh m = {0};
  (void)text;
  if (rb_mesh_read(path, &m) == RB_OK) rb_mesh_free(&m);
}
static void image(const char *path, const char *text) {
  rb_volume v = {0};
  (void)text;
  if (rb_volume_read(path, &v) == RB_OK) rb_volume_free(&v);
}
static void field(const char *path, const char *text) {
  enum { N = 4 * 5 * 6 };
  float u[3 * N];
  (void)text;
  rb_displacement_read(path, rb_grid_make(4, 5, 6), u);
}
static void pairs(const char *path, const char *text) {
  rb_listed_pair *list = NULL;
  int count = 0;
  (void)text;
  if (rb_pair_list_read(path, &list, &count) == RB_OK) rb_pair_list_free(list, count);
}
static void cohort(const char *path, const char *text) {
  char **files = NULL, **labels = NULL;
  int count = 0, label_count = 0;
  (void)text;
  if (rb_cohort_list(path, &files, &count, &labels, &label_count) == RB_OK)
    rb_cohort_list_free(files, count), rb_cohort_list_free(labels, label_count);
}
static void affine(const char *path, const char *text) {
  rb_affine a;
  (void)text;
  rb_affine_read(path, &a);
}
static void adapter(const char *path, const char *text) {
  rb_adapter *a = NULL;
  (void)text;
  if (rb_adapter_load(path, &a) == RB_OK) rb_adapter_free(a);
}

/* ---- seeds ------------------------------------------------------------------------------------------------ */

enum { SEEDS = 64, LARGEST = 1 << 18 };
typedef struct {
  char *data;
  size_t size;
} seed;

static const char vtk[] =
    "# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\nPOINTS 4 float\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
    "POLYGONS 4 16\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n";
static const char off[] = "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n";
static const char gifti[] =
    "<?xml version=\"1.0\"?><GIFTI Version=\"1.0\" NumberOfDataArrays=\"2\"><DataArray "
    "Intent=\"NIFTI_INTENT_POINTSET\" "
    "DataType=\"NIFTI_TYPE_FLOAT32\" ArrayIndexingOrder=\"RowMajorOrder\" Dimensionality=\"2\" Dim0=\"3\" Dim1=\"3\" "
    "Encoding=\"ASCII\" Endian=\"LittleEndian\" ExternalFileName=\"\" ExternalFileOffset=\"0\"><Data>0 0 0 1 0 0 0 1 "
    "0</Data></DataArray>"
    "<DataArray Intent=\"NIFTI_INTENT_TRIANGLE\" DataType=\"NIFTI_TYPE_INT32\" ArrayIndexingOrder=\"RowMajorOrder\" "
    "Dimensionality=\"2\" Dim0=\"1\" Dim1=\"3\" Encoding=\"ASCII\" Endian=\"LittleEndian\" ExternalFileName=\"\" "
    "ExternalFileOffset=\"0\"><Data>0 1 2</Data></DataArray></GIFTI>";
static const char itk[] =
    "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\nParameters: 1 0 0 "
    "0 1 0 0 0 1 2 3 4\nFixedParameters: 0 0 0\n";
static const char rows[] = "1 0 0 2\n0 1 0 3\n0 0 1 4\n0 0 0 1\n";
static const char some_points[] = "x,y,z\n1,2,3\n4.5,-6e1,7\n8,9,10\n";
static const char some_pairs[] =
    "\xEF\xBB\xBF"
    "fixed,moving,name\n\"a \"\"b\"\".nii\",c.nii,d\n";
static const char learn2reg[] =
    "{\"registration_val\": [{\"fixed\": \"./imagesTr/a.nii.gz\", \"moving\": \"./imagesTr/b.nii.gz\"}]}";
static const char a_cohort[] = "image,labels\na.nii,b.nii\n# no\n\nc.nii , d.nii\r\n";

static void add(seed *s, int *count, const void *data, size_t size) {
  if (*count == SEEDS || size == 0 || size > LARGEST) return;
  s[*count].data = malloc(size);
  if (!s[*count].data) return;
  memcpy(s[*count].data, data, size);
  s[(*count)++].size = size;
}
/* Files below a folder whose names end so, some levels down, in the order of their names. */
static void add_files(seed *s, int *count, const char *folder, const char *ending, int depth) {
  struct dirent **entry = NULL;
  const int entries = scandir(folder, &entry, NULL, alphasort);
  for (int k = 0; k < entries; k++) {
    char path[2048], *text = NULL;
    size_t size = 0;
    const char *name = entry[k]->d_name;
    const size_t n = strlen(name), m = strlen(ending);
    const int fits = snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && name[0] != '.';
    if (fits && n > m && strcmp(name + n - m, ending) == 0) {
      if (rb_read_file(path, &text, &size) == RB_OK) add(s, count, text, size);
      free(text);
    } else if (fits && depth > 0) {
      add_files(s, count, path, ending, depth - 1);
    }
    rb_clear();
    free(entry[k]);
  }
  free(entry);
}
/* NIfTI-1 in one file: 6 x 5 x 4 voxels of float32, `components` of them. */
static void add_nifti(seed *s, int *count, int components) {
  char data[352 + 3 * 120 * 4] = {0};
  const short dim[8] = {(short)(components > 1 ? 5 : 3), 6, 5, 4, 1, (short)components, 1, 1}, kind[2] = {16, 32},
              intent = 1007, code = 1;
  const int head = 348;
  const float pixdim[8] = {1, 1, 1, 1, 1, 1, 1, 1}, offset = 352, srow[12] = {-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0};
  memcpy(data, &head, 4), memcpy(data + 40, dim, 16), memcpy(data + 70, kind, 4), memcpy(data + 76, pixdim, 32);
  memcpy(data + 108, &offset, 4), memcpy(data + 254, &code, 2), memcpy(data + 280, srow, 48),
      memcpy(data + 344, "n+1", 4);
  if (components > 1) memcpy(data + 68, &intent, 2);
  for (int i = 0; i < 120 * components; i++) {
    const float v = (float)(i % 7);
    memcpy(data + 352 + 4 * i, &v, 4);
  }
  add(s, count, data, 352 + (size_t)(120 * components) * 4);
}

/* ---- damage ----------------------------------------------------------------------------------------------- */

typedef struct {
  uint64_t seed, rolls;
} dice;
static uint64_t roll(dice *d, uint64_t most) { return rb_rng_bits(d->seed, d->rolls++) % most; } /* 0 .. most - 1 */

static size_t damage(dice *d, char *data, size_t size, const seed *other) {
  static const char *const words[] = {"-1", "0",  "1e999", "nan", "99999999999999999999", "2147483648", "", ",",
                                      "\n", "\"", "%n%s",  "\x80"};
  const size_t at = (size_t)roll(d, size + 1);
  size_t n = (size_t)roll(d, 16) + 1;
  switch (roll(d, 8)) {
    case 0:
      if (at < size) data[at] ^= (char)(1 << roll(d, 8));
      break;
    case 1:
      if (at < size) data[at] = (char)roll(d, 256);
      break;
    case 2: /* cut out */
      if (at + n > size) n = size - at;
      memmove(data + at, data + at + n, size - at - n);
      size -= n;
      break;
    case 3: /* cut off */
      size = at;
      break;
    case 4: /* twice */
      if (at + n > size) n = size - at;
      if (size + n > LARGEST) break;
      memmove(data + at + n, data + at, size - at);
      size += n;
      break;
    case 5: { /* a word of its own */
      const char *w = words[roll(d, sizeof words / sizeof *words)];
      n = strlen(w);
      if (size + n > LARGEST) break;
      memmove(data + at + n, data + at, size - at);
      memcpy(data + at, w, n);
      size += n;
      break;
    }
    case 6: { /* of another file */
      const size_t from = (size_t)roll(d, other->size);
      if (from + n > other->size) n = other->size - from;
      if (at + n > size) break;
      memcpy(data + at, other->data + from, n);
      break;
    }
    default: /* four bytes of a header */
      if (at + 4 <= size) {
        static const int32_t values[] = {0, -1, 1, 0x7fffffff, (int32_t)0x80000000, 65536, 348, 540};
        memcpy(data + at, &values[roll(d, 8)], 4);
      }
  }
  return size;
}

/* ---- all -------------------------------------------------------------------------------------------------- */

static const struct {
  const char *name, *ending;
  void (*read)(const char *path, const char *text);
} targets[] = {{"descriptor", ".yaml", descriptor},
               {"record", ".json", record},
               {"csv", ".csv", csv},
               {"points", ".csv", points},
               {"points-vtk", ".vtk", points},
               {"mesh-vtk", ".vtk", mesh},
               {"mesh-off", ".off", mesh},
               {"mesh-gifti", ".gii", mesh},
               {"image", ".nii", image},
               {"field", ".nii", field},
               {"pairs", ".csv", pairs},
               {"pairs-json", ".json", pairs},
               {"cohort", ".csv", cohort},
               {"affine", ".txt", affine},
               {"adapter", ".yaml", adapter}};
enum { TARGETS = sizeof targets / sizeof *targets };

static int seeds_of(const char *name, const char *root, seed *s) {
  char folder[2048];
  int count = 0;
  snprintf(folder, sizeof folder, "%s/%s", root,
           strcmp(name, "record") == 0    ? "results/intel-xeon-processor-2-cores"
           : strcmp(name, "adapter") == 0 ? "solvers/external/adapters"
                                          : "experiments");
  if (strcmp(name, "descriptor") == 0 || strcmp(name, "adapter") == 0) add_files(s, &count, folder, ".yaml", 1);
  if (strcmp(name, "record") == 0) add_files(s, &count, folder, ".json", 2);
  if (strcmp(name, "csv") == 0) add_files(s, &count, folder, ".csv", 2);
  if (strcmp(name, "points") == 0) add(s, &count, some_points, sizeof some_points - 1);
  if (strstr(name, "vtk")) add(s, &count, vtk, sizeof vtk - 1);
  if (strcmp(name, "mesh-off") == 0) add(s, &count, off, sizeof off - 1);
  if (strcmp(name, "mesh-gifti") == 0) add(s, &count, gifti, sizeof gifti - 1);
  if (strcmp(name, "image") == 0) add_nifti(s, &count, 1);
  if (strcmp(name, "field") == 0) add_nifti(s, &count, 3);
  if (strcmp(name, "pairs") == 0) add(s, &count, some_pairs, sizeof some_pairs - 1);
  if (strcmp(name, "pairs-json") == 0) add(s, &count, learn2reg, sizeof learn2reg - 1);
  if (strcmp(name, "cohort") == 0) add(s, &count, a_cohort, sizeof a_cohort - 1);
  if (strcmp(name, "affine") == 0) add(s, &count, itk, sizeof itk - 1), add(s, &count, rows, sizeof rows - 1);
  return count;
}

static long fuzz(int t, const char *root, const char *folder, double seconds, dice *d) {
  static seed s[SEEDS];
  static char data[LARGEST + 1];
  char path[1200];
  long inputs = 0;
  const int count = seeds_of(targets[t].name, root, s);
  snprintf(path, sizeof path, "%s/%s%s", folder, targets[t].name, targets[t].ending);
  for (const double begun = rb_now(); count > 0 && rb_now() - begun < seconds; inputs++) {
    const seed *from = &s[roll(d, (uint64_t)count)];
    size_t size = from->size;
    memcpy(data, from->data, size);
    for (uint64_t k = roll(d, 6); k < 6; k++) size = damage(d, data, size, &s[roll(d, (uint64_t)count)]);
    data[size] = '\0';
    FILE *f = fopen(path, "w");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) return -1;
    targets[t].read(path, data);
    rb_clear();
  }
  for (int k = 0; k < count; k++) free(s[k].data);
  return count > 0 ? inputs : -1;
}

int main(int argc, char **argv) {
  const double seconds = argc > 2 ? atof(argv[2]) : 2;
  const char *given = getenv("REGBENCH_SEED");
  const uint64_t of_run = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) / 86400;
  char folder[1024];
  int failed = 0;
  if (argc < 2 || rb_temporary_make(folder, sizeof folder) != RB_OK) return 2;
  printf("REGBENCH_SEED=%llu, input in %s\n", (unsigned long long)of_run, folder);
  fflush(stdout);
  for (int t = 0; t < TARGETS; t++) {
    if (argc > 3 && strcmp(argv[3], targets[t].name) != 0) continue;
    dice d = {of_run * TARGETS + (uint64_t)t, 0};
    const long inputs = fuzz(t, argv[1], folder, seconds / (argc > 3 ? 1 : TARGETS), &d);
    printf("%-12s %ld inputs\n", targets[t].name, inputs);
    fflush(stdout);
    failed |= inputs <= 0;
  }
  rb_temporary_remove(folder);
  return failed;
}

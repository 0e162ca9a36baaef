/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/nifti_header.h"

#include "datasets/input_file.h"

#include <errno.h>
#include <math.h>
#include <nifti2_io.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { HEADER = 348, HEADER2 = 540, FIRST_VOXEL = 352, FIRST_VOXEL2 = 544 };

/* What is looked at here, of either kind of header, in this machine's byte order. */
typedef struct {
  int kind; /* 1, 2: NIfTI-1, NIfTI-2 */
  int one_file;
  int64_t dim[8];
  double pixdim[8], slope, inter, first_voxel;
  int datatype, bits;
} layout;

/* A field of 2, 4 or 8 bytes in the other byte order. */
static void swap(void *field, size_t bytes) {
  unsigned char *b = field;
  for (size_t i = 0; i < bytes / 2; i++) {
    const unsigned char t = b[i];
    b[i] = b[bytes - 1 - i], b[bytes - 1 - i] = t;
  }
}

static void of_nifti1(nifti_1_header h, int swapped, layout *out) {
  if (swapped) {
    swap(&h.vox_offset, 4), swap(&h.scl_slope, 4), swap(&h.scl_inter, 4), swap(&h.datatype, 2), swap(&h.bitpix, 2);
    for (int i = 0; i < 8; i++) swap(&h.dim[i], 2), swap(&h.pixdim[i], 4);
  }
  *out = (layout){.kind = 1,
                  .one_file = h.magic[1] == '+',
                  .slope = (double)h.scl_slope,
                  .inter = (double)h.scl_inter,
                  .first_voxel = (double)h.vox_offset,
                  .datatype = h.datatype,
                  .bits = h.bitpix};
  for (int i = 0; i < 8; i++) out->dim[i] = h.dim[i], out->pixdim[i] = (double)h.pixdim[i];
}
static void of_nifti2(nifti_2_header h, int swapped, layout *out) {
  if (swapped) {
    swap(&h.vox_offset, 8), swap(&h.scl_slope, 8), swap(&h.scl_inter, 8), swap(&h.datatype, 2), swap(&h.bitpix, 2);
    for (int i = 0; i < 8; i++) swap(&h.dim[i], 8), swap(&h.pixdim[i], 8);
  }
  *out = (layout){.kind = 2,
                  .one_file = h.magic[1] == '+',
                  .slope = h.scl_slope,
                  .inter = h.scl_inter,
                  .first_voxel = (double)h.vox_offset,
                  .datatype = h.datatype,
                  .bits = h.bitpix};
  for (int i = 0; i < 8; i++) out->dim[i] = h.dim[i], out->pixdim[i] = h.pixdim[i];
}

static rb_status read_layout(const char *path, layout *out) {
  rb_status st = RB_OK;
  union {
    int32_t size;
    nifti_1_header one;
    nifti_2_header two;
  } raw = {0};
  gzFile f = gzopen(path, "rb");
  RB_CHECK(f, RB_EIO, "cannot open %s: %s", path, strerror(errno));
  const int got = gzread(f, &raw, sizeof raw);
  int32_t size = raw.size, swapped = raw.size;
  swap(&swapped, sizeof swapped);
  const int is_swapped = swapped == HEADER || swapped == HEADER2;
  if (is_swapped) size = swapped;
  RB_CHECK(got >= HEADER, RB_EFORMAT, "%s is not a NIfTI file (.nii, .nii.gz): it ends within the first %d bytes",
           path, HEADER);
  if (size == HEADER2) {
    RB_CHECK(memcmp(raw.two.magic, "n+2", 4) == 0 || memcmp(raw.two.magic, "ni2", 4) == 0, RB_EFORMAT,
             "%s is not a NIfTI file (.nii, .nii.gz)", path);
    RB_CHECK(got == (int)sizeof raw, RB_EFORMAT, "%s: a NIfTI-2 file that ends within its first %d bytes", path,
             HEADER2);
    of_nifti2(raw.two, is_swapped, out);
  } else {
    RB_CHECK(strncmp(raw.one.magic, "n+1", 4) == 0 || strncmp(raw.one.magic, "ni1", 4) == 0, RB_EFORMAT,
             "%s is not a NIfTI file (.nii, .nii.gz)", path);
    RB_CHECK(size == HEADER, RB_EFORMAT, "%s: the NIfTI header cannot be read: sizeof_hdr is %d, not %d", path,
             raw.size, HEADER);
    of_nifti1(raw.one, is_swapped, out);
  }
done:
  if (f) gzclose(f);
  return st;
}

static rb_status check_sizes(const char *path, const layout *h) {
  rb_status st = RB_OK;
  RB_CHECK(h->dim[0] >= 1 && h->dim[0] <= 7, RB_EFORMAT, "%s: the NIfTI header cannot be read: %lld dimensions", path,
           (long long)h->dim[0]);
  for (int a = 1; a <= h->dim[0]; a++)
    RB_CHECK(h->dim[a] > 0 && h->dim[a] <= INT32_MAX, RB_EFORMAT,
             "%s: the NIfTI header cannot be read: %lld voxels along axis %d", path, (long long)h->dim[a], a);
  for (int a = 1; a <= 3 && a <= h->dim[0]; a++)
    RB_CHECK(h->dim[a] == 1 || (h->pixdim[a] != 0 && isfinite(h->pixdim[a])), RB_EFORMAT,
             "%s: voxel spacing %g mm along axis %d; correct the header's pixdim", path, h->pixdim[a], a);
done:
  return st;
}

static rb_status check_layout(const char *path, const layout *h) {
  rb_status st = RB_OK;
  int bytes = 0, swap_size = 0;
  nifti_datatype_sizes(h->datatype, &bytes, &swap_size);
  RB_CHECK(bytes > 0, RB_EFORMAT, "%s: voxels of unknown type %d; integers and floats work", path, h->datatype);
  RB_CHECK(h->bits == 8 * bytes, RB_EFORMAT,
           "%s: %d bits a voxel, but its type %s has %d; correct the header's bitpix or datatype", path, h->bits,
           nifti_datatype_string(h->datatype), 8 * bytes);
  RB_CHECK(isfinite(h->slope) && isfinite(h->inter), RB_EFORMAT,
           "%s: values are scaled by %g and shifted by %g; correct the header's scl_slope and scl_inter", path,
           h->slope, h->inter);
  const double least = !h->one_file ? 0 : h->kind == 1 ? FIRST_VOXEL : FIRST_VOXEL2;
  RB_CHECK(isfinite(h->first_voxel) && h->first_voxel >= least && h->first_voxel == floor(h->first_voxel) &&
               h->first_voxel <= INT32_MAX,
           RB_EFORMAT, "%s: its voxels begin at byte %g; a whole number from %g on; correct the header's vox_offset",
           path, h->first_voxel, least);
done:
  return st;
}

rb_status rb_nifti_header_check(const char *path) {
  rb_status st = RB_OK;
  layout h = {0};
  char *header = nifti_findhdrname(path); /* of a pair of files, path may be the .img */
  RB_TRY(rb_input_file(header ? header : path));
  RB_TRY(read_layout(header ? header : path, &h));
  RB_TRY(check_sizes(path, &h));
  RB_TRY(check_layout(path, &h));
done:
  free(header);
  return st;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/nifti_header.h"

#include "datasets/input_file.h"

#include <errno.h>
#include <math.h>
#include <nifti1_io.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { HEADER = 348, NIFTI2_HEADER = 540, FIRST_VOXEL = 352 };

static rb_status read_raw(const char *path, nifti_1_header *out) {
  rb_status st = RB_OK;
  gzFile f = gzopen(path, "rb");
  RB_CHECK(f, RB_EIO, "cannot open %s: %s", path, strerror(errno));
  RB_CHECK(gzread(f, out, sizeof *out) == (int)sizeof *out, RB_EFORMAT,
           "%s is not a NIfTI file (.nii, .nii.gz): it ends within the first %d bytes", path, HEADER);
done:
  if (f) gzclose(f);
  return st;
}

/* A field of 2 or 4 bytes in the other byte order. */
static void swap(void *field, size_t bytes) {
  unsigned char *b = field;
  for (size_t i = 0; i < bytes / 2; i++) {
    const unsigned char t = b[i];
    b[i] = b[bytes - 1 - i], b[bytes - 1 - i] = t;
  }
}
/* Those of the fields that are looked at here. */
static void swap_header(nifti_1_header *h) {
  swap(&h->sizeof_hdr, 4), swap(&h->vox_offset, 4), swap(&h->scl_slope, 4), swap(&h->scl_inter, 4),
      swap(&h->datatype, 2), swap(&h->bitpix, 2);
  for (int i = 0; i < 8; i++) swap(&h->dim[i], 2), swap(&h->pixdim[i], 4);
}

static rb_status check_identity(const char *path, nifti_1_header *h) {
  rb_status st = RB_OK;
  const int32_t as_read = h->sizeof_hdr;
  int32_t swapped = as_read;
  swap(&swapped, sizeof swapped);
  RB_CHECK(as_read != NIFTI2_HEADER && swapped != NIFTI2_HEADER, RB_EFORMAT,
           "%s is a NIfTI-2 file; NIfTI-1 is read: convert it", path);
  RB_CHECK(strncmp(h->magic, "n+1", 4) == 0 || strncmp(h->magic, "ni1", 4) == 0, RB_EFORMAT,
           "%s is not a NIfTI file (.nii, .nii.gz)", path);
  RB_CHECK(as_read == HEADER || swapped == HEADER, RB_EFORMAT,
           "%s: the NIfTI header cannot be read: sizeof_hdr is %d, not %d", path, as_read, HEADER);
  if (as_read != HEADER) swap_header(h);
done:
  return st;
}

static rb_status check_sizes(const char *path, const nifti_1_header *h) {
  rb_status st = RB_OK;
  RB_CHECK(h->dim[0] >= 1 && h->dim[0] <= 7, RB_EFORMAT, "%s: the NIfTI header cannot be read: %d dimensions", path,
           h->dim[0]);
  for (int a = 1; a <= h->dim[0]; a++)
    RB_CHECK(h->dim[a] > 0, RB_EFORMAT, "%s: the NIfTI header cannot be read: %d voxels along axis %d", path,
             h->dim[a], a);
  for (int a = 1; a <= 3 && a <= h->dim[0]; a++)
    RB_CHECK(h->dim[a] == 1 || (h->pixdim[a] != 0 && isfinite(h->pixdim[a])), RB_EFORMAT,
             "%s: voxel spacing %g mm along axis %d; correct the header's pixdim", path, (double)h->pixdim[a], a);
done:
  return st;
}

static rb_status check_layout(const char *path, const nifti_1_header *h) {
  rb_status st = RB_OK;
  int bytes = 0, swap_size = 0;
  nifti_datatype_sizes(h->datatype, &bytes, &swap_size);
  RB_CHECK(bytes > 0, RB_EFORMAT, "%s: voxels of unknown type %d; integers and floats work", path, h->datatype);
  RB_CHECK(h->bitpix == 8 * bytes, RB_EFORMAT,
           "%s: %d bits a voxel, but its type %s has %d; correct the header's bitpix or datatype", path, h->bitpix,
           nifti_datatype_string(h->datatype), 8 * bytes);
  RB_CHECK(isfinite(h->scl_slope) && isfinite(h->scl_inter), RB_EFORMAT,
           "%s: values are scaled by %g and shifted by %g; correct the header's scl_slope and scl_inter", path,
           (double)h->scl_slope, (double)h->scl_inter);
  const int one_file = h->magic[1] == '+';
  const float least = one_file ? FIRST_VOXEL : 0;
  RB_CHECK(isfinite(h->vox_offset) && h->vox_offset >= least && h->vox_offset == floorf(h->vox_offset) &&
               h->vox_offset <= INT32_MAX,
           RB_EFORMAT, "%s: its voxels begin at byte %g; a whole number from %g on; correct the header's vox_offset",
           path, (double)h->vox_offset, (double)least);
done:
  return st;
}

rb_status rb_nifti_header_check(const char *path) {
  rb_status st = RB_OK;
  nifti_1_header h;
  char *header = nifti_findhdrname(path); /* of a pair of files, path may be the .img */
  RB_TRY(rb_input_file(header ? header : path));
  RB_TRY(read_raw(header ? header : path, &h));
  RB_TRY(check_identity(path, &h));
  RB_TRY(check_sizes(path, &h));
  RB_TRY(check_layout(path, &h));
done:
  free(header);
  return st;
}

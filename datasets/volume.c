#include "datasets/volume.h"

#include <errno.h>
#include <math.h>
#include <nifti1_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static int is_gzip(const char *path) {
  unsigned char magic[2] = {0, 0};
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  size_t got = fread(magic, 1, 2, f);
  fclose(f);
  return got == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

/* Read to the end: only then does zlib compare the checksum. */
static rb_status gzip_intact(const char *path) {
  rb_status st = RB_OK;
  char block[1 << 16];
  int got, code = Z_OK;
  gzFile f = gzopen(path, "rb");
  if (!f) return RB_FAIL(RB_EIO, "cannot open %s: %s", path, strerror(errno));
  while ((got = gzread(f, block, sizeof block)) > 0) {
  }
  const char *reason = gzerror(f, &code);
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
    st = RB_FAIL(RB_EFORMAT, "%s: damaged gzip (%s); fetch the file again", path, reason && reason[0] ? reason : "unexpected end");
  int closed = gzclose(f);
  if (st == RB_OK && closed == Z_BUF_ERROR) st = RB_FAIL(RB_EFORMAT, "%s: damaged gzip (it ends early); fetch the file again", path);
  return st;
}

static rb_status check_header(const char *path, const nifti_image *h) {
  rb_status st = RB_OK;
  RB_CHECK(h->nx > 0 && h->ny > 0 && h->nz > 0, RB_EFORMAT, "%s: size %dx%dx%d", path, h->nx, h->ny, h->nz);
  RB_CHECK(h->ndim >= 3 && h->nt <= 1 && h->nu <= 1 && h->nv <= 1 && h->nw <= 1, RB_EFORMAT,
           "%s: %d dimensions (%dx%dx%dx%d); a 3D image is needed, so extract one volume first", path, h->ndim, h->nx, h->ny, h->nz, h->nt);
  RB_CHECK(h->dx > 0 && h->dy > 0 && h->dz > 0, RB_EFORMAT, "%s: voxel spacing %g x %g x %g mm; mend the header's pixdim", path,
           (double)h->dx, (double)h->dy, (double)h->dz);
done:
  return st;
}

static double voxel(const nifti_image *h, int64_t i) {
  switch (h->datatype) {
    case DT_UINT8: return ((const uint8_t *)h->data)[i];
    case DT_INT8: return ((const int8_t *)h->data)[i];
    case DT_INT16: return ((const int16_t *)h->data)[i];
    case DT_UINT16: return ((const uint16_t *)h->data)[i];
    case DT_INT32: return ((const int32_t *)h->data)[i];
    case DT_UINT32: return ((const uint32_t *)h->data)[i];
    case DT_FLOAT64: return ((const double *)h->data)[i];
    default: return (double)((const float *)h->data)[i];
  }
}

static int known_type(int t) {
  return t == DT_UINT8 || t == DT_INT8 || t == DT_INT16 || t == DT_UINT16 || t == DT_INT32 || t == DT_UINT32 || t == DT_FLOAT32 || t == DT_FLOAT64;
}

static rb_status convert(const char *path, const nifti_image *h, rb_volume *v) {
  rb_status st = RB_OK;
  int64_t n = rb_grid_points(v->grid), bad = 0, first = -1;
  double slope = h->scl_slope != 0 ? (double)h->scl_slope : 1, offset = h->scl_slope != 0 ? (double)h->scl_inter : 0;
  RB_CHECK(known_type(h->datatype), RB_EFORMAT, "%s: voxels of type %s; integers and floats work", path, nifti_datatype_string(h->datatype));
  v->data = malloc((size_t)n * sizeof *v->data);
  RB_CHECK(v->data, RB_ENOMEM, "host memory: %zu bytes for %s", (size_t)n * sizeof *v->data, path);
  for (int64_t i = 0; i < n; i++) {
    v->data[i] = (float)(voxel(h, i) * slope + offset);
    if (!isfinite(v->data[i])) {
      if (!bad++) first = i;
    }
  }
  RB_CHECK(!bad, RB_EFORMAT, "%s: %lld voxels are NaN or infinite, the first at (%lld, %lld, %lld); replace them", path, (long long)bad,
           (long long)(first % h->nx), (long long)(first / h->nx % h->ny), (long long)(first / h->nx / h->ny));
done:
  return st;
}

rb_status rb_volume_read(const char *path, rb_volume *out) {
  rb_status st = RB_OK;
  nifti_image *h = NULL;
  memset(out, 0, sizeof *out);
  nifti_set_debug_level(0);
  RB_CHECK(access(path, F_OK) == 0, RB_ENOTFOUND, "no file %s", path);
  RB_CHECK(access(path, R_OK) == 0, RB_EIO, "cannot read %s: %s", path, strerror(errno));
  if (is_gzip(path)) RB_TRY(gzip_intact(path));
  RB_CHECK(is_nifti_file(path) > 0, RB_EFORMAT, "%s is not a NIfTI file (.nii, .nii.gz)", path);
  h = nifti_image_read(path, 0);
  RB_CHECK(h, RB_EFORMAT, "%s: the NIfTI header cannot be read", path);
  RB_TRY(check_header(path, h));
  RB_CHECK(nifti_image_load(h) == 0, RB_EFORMAT, "%s: the file ends before its %lld voxels do (truncated); fetch it again", path,
           (long long)h->nvox);
  out->grid = rb_grid_make(h->nz, h->ny, h->nx);
  out->spacing[0] = h->dz, out->spacing[1] = h->dy, out->spacing[2] = h->dx;
  RB_TRY(convert(path, h, out));
  free(h->data);
  h->data = NULL;
  out->header = h;
  h = NULL;
done:
  if (h) nifti_image_free(h);
  if (st != RB_OK) rb_volume_free(out);
  return st;
}

rb_status rb_volume_write(const char *path, const rb_volume *like, rb_grid g, const float *data) {
  rb_status st = RB_OK;
  int dims[8] = {3, (int)g.n[2], (int)g.n[1], (int)g.n[0], 1, 1, 1, 1};
  nifti_image *h = NULL;
  nifti_set_debug_level(0);
  h = like && like->header ? nifti_copy_nim_info(like->header) : nifti_make_new_nim(dims, DT_FLOAT32, 0);
  RB_CHECK(h, RB_ENOMEM, "host memory");
  if (like && like->header) {
    h->datatype = DT_FLOAT32;
    h->nbyper = 4;
    h->scl_slope = 0;
    h->scl_inter = 0;
    h->cal_min = h->cal_max = 0;
    for (int i = 1; i < 8; i++) h->dim[i] = dims[i];
    h->dim[0] = h->ndim = 3;
    nifti_update_dims_from_array(h);
  } else {
    h->pixdim[1] = h->pixdim[2] = h->pixdim[3] = 1;
    nifti_update_dims_from_array(h);
    h->dx = h->dy = h->dz = 1;
  }
  free(h->data);
  h->data = (void *)data;
  nifti_set_filenames(h, path, 0, 0);
  nifti_image_write(h);
  h->data = NULL;
  /* the library reports nothing back: believe only the file */
  rb_volume check;
  if (rb_volume_read(path, &check) != RB_OK) {
    rb_clear();
    remove(path);
    st = RB_FAIL(RB_EIO, "cannot write %s completely; is the disk full?", path);
  } else {
    rb_volume_free(&check);
  }
done:
  if (h) nifti_image_free(h);
  return st;
}

void rb_volume_free(rb_volume *v) {
  free(v->data);
  if (v->header) nifti_image_free(v->header);
  memset(v, 0, sizeof *v);
}

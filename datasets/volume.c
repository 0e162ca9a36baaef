/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/volume.h"
#include "datasets/volume_voxels.h"

#include "datasets/gzip_write.h"
#include "datasets/input_file.h"
#include "datasets/nifti_header.h"

#include <errno.h>
#include <math.h>
#include <nifti2_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { HEAD = 352 }; /* bytes before the voxels: the header of NIfTI-1 and the mark that tells extensions */

static rb_status damaged(const char *path, const char *why) {
  return RB_FAIL(RB_EFORMAT, "%s: damaged gzip (%s); fetch the file again", path, why[0] ? why : "it ends early");
}

/* What zlib says of a file that has been read to its end; `got`: what the last read returned. Closes it. */
static rb_status ended_well(const char *path, gzFile f, int got) {
  char reason[128];
  int code = Z_OK;
  snprintf(reason, sizeof reason, "%s", gzerror(f, &code));
  const int closed = gzclose(f);
  return got >= 0 && (code == Z_OK || code == Z_STREAM_END) && closed == Z_OK ? RB_OK : damaged(path, reason);
}
/* Read a plain or gzip file to its end: only there does zlib compare the checksum. Closes it. Some programs pad a
 * file; a file that goes on for long is not what its header says. */
static rb_status read_to_end(const char *path, gzFile f) {
  enum { PADDING = 1 << 20 };
  char block[1 << 16];
  int got, behind = 0;
  while ((got = gzread(f, block, sizeof block)) > 0 && (behind += got) <= PADDING) {
  }
  if (got > 0) {
    gzclose(f);
    return RB_FAIL(RB_EINVAL, "%s holds more than its header announces: over %d bytes behind the last voxel", path,
                   PADDING);
  }
  return ended_well(path, f, got);
}
/* Whether a file that cannot be understood is a gzip that was damaged. */
static rb_status check_gzip(const char *path) {
  char block[1 << 16];
  int got;
  gzFile f = gzopen(path, "rb");
  if (!f) return RB_FAIL(RB_EIO, "cannot open %s: %s", path, strerror(errno));
  if (gzdirect(f)) { /* no gzip: nothing that a checksum could tell */
    gzclose(f);
    return RB_OK;
  }
  while ((got = gzread(f, block, sizeof block)) > 0) {
  }
  return ended_well(path, f, got);
}

static rb_status check_header(const char *path, const nifti_image *h) {
  rb_status st = RB_OK;
  RB_CHECK(h->nx > 0 && h->ny > 0 && h->nz > 0, RB_EFORMAT, "%s: size %lldx%lldx%lld", path, (long long)h->nx,
           (long long)h->ny, (long long)h->nz);
  RB_CHECK(h->ndim >= 3 && h->nt <= 1 && h->nu <= 1 && h->nv <= 1 && h->nw <= 1, RB_EFORMAT,
           "%s: %lld dimensions (%lldx%lldx%lldx%lld); a 3D image is needed, so extract one volume first", path,
           (long long)h->ndim, (long long)h->nx, (long long)h->ny, (long long)h->nz, (long long)h->nt);
done:
  return st;
}

static double voxel(const nifti_image *h, int64_t i) {
  switch (h->datatype) {
    case DT_UINT8:
      return ((const uint8_t *)h->data)[i];
    case DT_INT8:
      return ((const int8_t *)h->data)[i];
    case DT_INT16:
      return ((const int16_t *)h->data)[i];
    case DT_UINT16:
      return ((const uint16_t *)h->data)[i];
    case DT_INT32:
      return ((const int32_t *)h->data)[i];
    case DT_UINT32:
      return ((const uint32_t *)h->data)[i];
    case DT_FLOAT64:
      return ((const double *)h->data)[i];
    default:
      return (double)((const float *)h->data)[i];
  }
}

/* Voxels of h into h->data. Not by the library: it fills a short file with zeros and turns NaN into 0.
 * gzread reads plain files too. */
rb_status rb_volume_load_voxels(const char *path, nifti_image *h) {
  rb_status st = RB_OK;
  size_t bytes = (size_t)h->nvox * (size_t)h->nbyper, got = 0;
  int n;
  struct stat info;
  gzFile f = NULL;
  RB_TRY(rb_input_file(h->iname));
  f = gzopen(h->iname, "rb");
  RB_CHECK(f, RB_EIO, "cannot open %s: %s", h->iname, strerror(errno));
  RB_CHECK(!gzdirect(f) || (stat(h->iname, &info) == 0 && (size_t)info.st_size >= (size_t)h->iname_offset + bytes),
           RB_EFORMAT, "%s is truncated: its header announces %zu bytes of voxels; fetch the file again", path,
           bytes);
  h->data = malloc(bytes);
  RB_CHECK(h->data, RB_ENOMEM, "host memory: %zu bytes for %s", bytes, path);
  gzbuffer(f, 1 << 18);
  RB_CHECK(gzseek(f, h->iname_offset, SEEK_SET) == h->iname_offset, RB_EFORMAT,
           "%s ends before its voxels begin; fetch it again", path);
  while (got < bytes &&
         (n = gzread(f, (char *)h->data + got, bytes - got > 1u << 30 ? 1u << 30 : (unsigned)(bytes - got))) > 0)
    got += (size_t)n;
  {
    gzFile rest = f;
    f = NULL;
    RB_TRY(read_to_end(path, rest));
  }
  RB_CHECK(got == bytes, RB_EFORMAT, "%s is truncated: %zu of %zu bytes of voxels; fetch the file again", path, got,
           bytes);
  if (h->swapsize > 1 && h->byteorder != nifti_short_order())
    nifti_swap_Nbytes(bytes / (size_t)h->swapsize, h->swapsize, h->data);
done:
  if (f) gzclose(f);
  return st;
}

static int known_type(int t) {
  return t == DT_UINT8 || t == DT_INT8 || t == DT_INT16 || t == DT_UINT16 || t == DT_INT32 || t == DT_UINT32 ||
         t == DT_FLOAT32 || t == DT_FLOAT64;
}

static rb_status convert(const char *path, const nifti_image *h, rb_volume *v) {
  rb_status st = RB_OK;
  int64_t n = rb_grid_points(v->grid), bad = 0, first = -1;
  double slope = h->scl_slope != 0 ? h->scl_slope : 1, offset = h->scl_slope != 0 ? h->scl_inter : 0;
  RB_CHECK(known_type(h->datatype), RB_EFORMAT, "%s: voxels of type %s; integers and floats work", path,
           nifti_datatype_string(h->datatype));
  v->data = malloc((size_t)n * sizeof *v->data);
  RB_CHECK(v->data, RB_ENOMEM, "host memory: %zu bytes for %s", (size_t)n * sizeof *v->data, path);
  for (int64_t i = 0; i < n; i++) {
    v->data[i] = (float)(voxel(h, i) * slope + offset);
    if (!isfinite(v->data[i])) {
      if (!bad++) first = i;
    }
  }
  RB_CHECK(!bad, RB_EFORMAT, "%s: %lld voxels are NaN or infinite, the first at (%lld, %lld, %lld); replace them",
           path, (long long)bad, (long long)(first % h->nx), (long long)(first / h->nx % h->ny),
           (long long)(first / h->nx / h->ny));
done:
  return st;
}

/* What looks wrong with a header or with the voxels may be a damaged file: then say so. */
static rb_status or_damaged(const char *path, rb_status st) {
  char said[512];
  snprintf(said, sizeof said, "%s", rb_message());
  rb_clear();
  const rb_status file = check_gzip(path);
  return file != RB_OK ? file : RB_FAIL(st, "%s", said);
}

rb_status rb_volume_read(const char *path, rb_volume *out) {
  rb_status st = RB_OK;
  nifti_image *h = NULL;
  memset(out, 0, sizeof *out);
  nifti_set_debug_level(0);
  RB_TRY(rb_input_file(path));
  RB_TRY(rb_nifti_header_check(path));
  h = nifti_image_read(path, 0);
  RB_CHECK(h, RB_EFORMAT, "%s: the NIfTI header cannot be read", path);
  RB_TRY(check_header(path, h));
  RB_TRY(rb_volume_load_voxels(path, h));
  out->grid = rb_grid_make(h->nz, h->ny, h->nx);
  out->spacing[0] = fabs(h->dz), out->spacing[1] = fabs(h->dy), out->spacing[2] = fabs(h->dx);
  RB_TRY(convert(path, h, out));
  free(h->data);
  h->data = NULL;
  out->header = h;
  h = NULL;
done:
  if (h) nifti_image_free(h);
  if (st != RB_OK) rb_volume_free(out);
  return st == RB_EFORMAT || st == RB_ENOMEM ? or_damaged(path, st) : st;
}

/* Geometry of `like` on another grid over the same field of view: voxels grow, and the first centre moves by half the
 * difference. Quaternion, affine and spacing say the same thing, so all three follow. */
static void fit_geometry(nifti_image *h, const rb_volume *like, rb_grid g) {
  for (int a = 0; a < 3; a++) { /* a: NIfTI's axis x, y, z; ours 2, 1, 0 */
    const double s = (double)like->grid.n[2 - a] / (double)g.n[2 - a], shift = 0.5 * s - 0.5;
    const double column[3] = {h->qto_xyz.m[0][a], h->qto_xyz.m[1][a], h->qto_xyz.m[2][a]};
    double *offset[3] = {&h->qoffset_x, &h->qoffset_y, &h->qoffset_z};
    if (s == 1) continue;
    for (int r = 0; r < 3; r++) {
      *offset[r] += shift * column[r];
      h->sto_xyz.m[r][3] += shift * h->sto_xyz.m[r][a];
      h->sto_xyz.m[r][a] *= s;
    }
    h->pixdim[a + 1] *= s;
  }
  h->dx = h->pixdim[1], h->dy = h->pixdim[2], h->dz = h->pixdim[3];
}

/* A NIfTI-1 file: header, no extension, voxels. Not by the library, which compresses on one thread and reports
 * nothing back. */
rb_status rb_volume_write_fields(const char *path, const rb_volume *like, rb_grid g, int components, int type,
                                 const void *data) {
  rb_status st = RB_OK;
  const int warp = components == RB_FIELDS_4D;
  if (warp) components = 3;
  const int64_t dims[8] = {
      components == 1 ? 3 : warp ? 4 : 5, g.n[2], g.n[1], g.n[0], warp ? 3 : 1, warp ? 1 : components, 1, 1};
  nifti_image *h = NULL;
  nifti_set_debug_level(0);
  for (int a = 0; a < 3; a++)
    RB_CHECK(g.n[a] <= 32767, RB_EINVAL, "%s: %lld voxels along an axis; a NIfTI-1 file ends at 32767", path,
             (long long)g.n[a]);
  h = like && like->header ? nifti_copy_nim_info(like->header) : nifti_make_new_nim(dims, DT_FLOAT32, 0);
  RB_CHECK(h, RB_ENOMEM, "host memory");
  h->datatype = type;
  h->nbyper = type == DT_INT16 ? 2 : 4;
  h->scl_slope = h->scl_inter = 0;
  h->cal_min = h->cal_max = 0;
  for (int i = 0; i < 8; i++) h->dim[i] = dims[i];
  h->ndim = dims[0];
  if (!like || !like->header) h->pixdim[1] = h->pixdim[2] = h->pixdim[3] = h->dx = h->dy = h->dz = 1;
  h->pixdim[4] = h->pixdim[5] = 1;
  nifti_update_dims_from_array(h);
  if (like && like->header) fit_geometry(h, like, g);
  h->intent_code = components == 1 ? NIFTI_INTENT_NONE
                   : warp          ? NIFTI_INTENT_FSL_FNIRT_DISPLACEMENT_FIELD
                                   : NIFTI_INTENT_VECTOR;
  h->nifti_type = NIFTI_FTYPE_NIFTI1_1;
  h->iname_offset = HEAD;
  {
    nifti_1_header raw;
    RB_CHECK(nifti_convert_nim2n1hdr(h, &raw) == 0, RB_EINVAL, "%s: its geometry does not fit a NIfTI-1 file", path);
    unsigned char head[HEAD] = {0}; /* the last four bytes: no extension follows */
    memcpy(head, &raw, sizeof raw);
    RB_TRY(rb_gzip_write(path, head, sizeof head, data,
                         (size_t)rb_grid_points(g) * (size_t)components * (size_t)h->nbyper));
  }
done:
  if (h) nifti_image_free(h);
  return st;
}

rb_status rb_volume_write(const char *path, const rb_volume *like, rb_grid g, const float *data) {
  return rb_volume_write_fields(path, like, g, 1, DT_FLOAT32, data);
}

rb_status rb_volume_write_labels(const char *path, const rb_volume *like, rb_grid g, const float *labels) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(g);
  int16_t *whole = malloc((size_t)n * sizeof *whole);
  RB_CHECK(whole, RB_ENOMEM, "host memory: %zu bytes for %s", (size_t)n * sizeof *whole, path);
  for (int64_t i = 0; i < n; i++) whole[i] = (int16_t)labels[i];
  RB_TRY(rb_volume_write_fields(path, like, g, 1, DT_INT16, whole));
done:
  free(whole);
  return st;
}

rb_status rb_volume_geometry(rb_grid g, double spacing, const double origin[3], rb_volume *out) {
  rb_status st = RB_OK;
  const int64_t dims[8] = {3, g.n[2], g.n[1], g.n[0], 1, 1, 1, 1};
  nifti_image *h = nifti_make_new_nim(dims, DT_FLOAT32, 0);
  memset(out, 0, sizeof *out);
  RB_CHECK(h, RB_ENOMEM, "host memory");
  for (int a = 1; a <= 3; a++) h->pixdim[a] = spacing;
  h->dx = h->dy = h->dz = spacing;
  h->qform_code = h->sform_code = NIFTI_XFORM_SCANNER_ANAT;
  h->xyz_units = NIFTI_UNITS_MM;
  h->qfac = 1;
  h->qoffset_x = origin[0], h->qoffset_y = origin[1], h->qoffset_z = origin[2];
  memset(&h->sto_xyz, 0, sizeof h->sto_xyz);
  for (int a = 0; a < 3; a++) h->sto_xyz.m[a][a] = spacing, h->sto_xyz.m[a][3] = origin[a];
  h->sto_xyz.m[3][3] = 1;
  h->qto_xyz = h->sto_xyz;
  out->grid = g;
  for (int a = 0; a < 3; a++) out->spacing[a] = spacing;
  out->header = h;
done:
  return st;
}

rb_status rb_volume_copy_geometry(const rb_volume *v, rb_volume *out) {
  *out = *v;
  out->data = NULL;
  out->header = v->header ? nifti_copy_nim_info(v->header) : NULL;
  return v->header && !out->header ? RB_FAIL(RB_ENOMEM, "host memory") : RB_OK;
}

/* The affine that the file declares; the quaternion's where it has no other. */
static nifti_dmat44 affine(const nifti_image *h) { return h->sform_code > 0 ? h->sto_xyz : h->qto_xyz; }

rb_status rb_volume_same_axes(const char *a, const char *b) {
  rb_status st = RB_OK;
  static const double cosine = 0.99619469809174553; /* of 5 degrees */
  nifti_image *h[2] = {NULL, NULL};
  const char *path[2] = {a, b};
  nifti_set_debug_level(0);
  for (int i = 0; i < 2; i++) {
    if (rb_input_file(path[i]) == RB_OK && rb_nifti_header_check(path[i]) == RB_OK)
      h[i] = nifti_image_read(path[i], 0);
    if (!h[i]) {
      rb_clear(); /* rb_volume_read tells */
      goto done;
    }
  }
  const int known = (h[0]->sform_code > 0 || h[0]->qform_code > 0) && (h[1]->sform_code > 0 || h[1]->qform_code > 0);
  const nifti_dmat44 m[2] = {affine(h[0]), affine(h[1])};
  for (int c = 0; c < 3; c++) {
    double dot = 0, length[2] = {0, 0};
    for (int r = 0; r < 3; r++) {
      dot += m[0].m[r][c] * m[1].m[r][c];
      for (int i = 0; i < 2; i++) length[i] += m[i].m[r][c] * m[i].m[r][c];
    }
    for (int i = 0; i < 2; i++) length[i] = sqrt(length[i]);
    RB_CHECK(!known || dot >= cosine * length[0] * length[1], RB_EINVAL,
             "%s and %s are oriented differently (voxel axis %c); bring both to one orientation first, or say "
             "--ignore-geometry",
             a, b, "xyz"[c]);
    RB_CHECK(h[0]->dim[c + 1] != h[1]->dim[c + 1] || fabs(length[0] - length[1]) <= 0.01 * length[1], RB_EINVAL,
             "%s and %s have voxels of different size (%g and %g mm along %c); resample one first, or say "
             "--ignore-geometry",
             a, b, length[0], length[1], "xyz"[c]);
  }
done:
  for (int i = 0; i < 2; i++)
    if (h[i]) nifti_image_free(h[i]);
  return st;
}

void rb_volume_free(rb_volume *v) {
  free(v->data);
  if (v->header) nifti_image_free(v->header);
  memset(v, 0, sizeof *v);
}

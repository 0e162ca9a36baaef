/* SPDX-License-Identifier: BSD-3-Clause */
/* For the files of this folder that read NIfTI. */
#ifndef RB_VOLUME_VOXELS_H
#define RB_VOLUME_VOXELS_H

#include "datasets/volume.h"

#include <nifti2_io.h>

/* The voxels that a header announces, in this machine's byte order, into h->data. RB_EFORMAT: truncated, damaged. */
rb_status rb_volume_load_voxels(const char *path, nifti_image *h);
/* For `components`: three fields in four dimensions, as FSL's warps are. */
enum { RB_FIELDS_4D = -3 };
/* A file of `components` planar fields of NIfTI's `type` (DT_FLOAT32, DT_INT16); several make a 5D file of vectors.
 */
rb_status rb_volume_write_fields(const char *path, const rb_volume *like, rb_grid grid, int components, int type,
                                 const void *data);
#endif

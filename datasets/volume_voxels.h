/* SPDX-License-Identifier: BSD-3-Clause */
/* For the files of this folder that read NIfTI. */
#ifndef RB_VOLUME_VOXELS_H
#define RB_VOLUME_VOXELS_H

#include "kernels/base/status.h"

#include <nifti1_io.h>

/* The voxels that a header announces, in this machine's byte order, into h->data. RB_EFORMAT: truncated, damaged. */
rb_status rb_volume_load_voxels(const char *path, nifti_image *h);
#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of a NIfTI-1 or NIfTI-2 file, checked before a library reads them: it mends some values in silence
 * (a spacing or offset of 0) and prints lines of its own for others. */
#ifndef RB_NIFTI_HEADER_H
#define RB_NIFTI_HEADER_H

#include "kernels/base/status.h"

/* RB_OK for a header (plain or gzip, either byte order) whose sizes, type, spacing and offset can be meant.
 * RB_EFORMAT names the field that cannot. `path`: a regular file. */
rb_status rb_nifti_header_check(const char *path);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* external: programs of others as solvers, NIfTI in, a displacement out.
 *
 * A program is run as a child process in a temporary folder that holds reference.nii.gz and template.nii.gz, voxels
 * of 1 mm, x, y, z to the left, posterior, superior. It is judged by the displacement that it leaves and by nothing
 * else that it writes or says: images and labels are carried by it here, by the same code for every program. How it
 * is started says its adapter (adapter.h): a variant is one of solvers/external/adapters with its parameters, and the
 * variant `adapter` whichever file the option of that name gives.
 */
#ifndef RB_EXTERNAL_H
#define RB_EXTERNAL_H

#include "kernels/registry/registry.h"
#include "solvers/external/adapter.h"
#include "solvers/solver.h"

extern const rb_family rb_external_family;

typedef struct {
  const char *adapter; /* of the variant `adapter`: a name or a file; "": none */
  const char *set;     /* parameters of the adapter, "knots=4 iterations=500"; "": its own */
} rb_external_options;

/* ops of a variant. */
typedef struct {
  const char *adapter; /* its name; "": the user names one */
  const char *set;     /* parameters that differ from the adapter's own */
} rb_external_program;

/* The adapter of a variant and its options, parameters set. RB_EINVAL, RB_ENOTFOUND, RB_EFORMAT. */
rb_status rb_external_adapter(const rb_variant *variant, const rb_external_options *o, rb_adapter **out);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Meshes and currents from host arrays to host arrays for any variant, as host_apply.h has it for other families. */
#ifndef RB_HOST_CURRENTS_H
#define RB_HOST_CURRENTS_H

#include "datasets/mesh.h"
#include "kernels/currents/currents.h"
#include "kernels/elements/elements.h"

/* vertices [3][vertices], centres, moments [3][elements], in desc->dtype. */
rb_status rb_host_measure(const rb_variant *v, const rb_elements_desc *desc, const void *vertices, void *centres,
                          void *moments);
/* w, z [3][elements] -> gradient [3][vertices]. */
rb_status rb_host_gradient(const rb_variant *v, const rb_elements_desc *desc, const void *vertices, const void *w,
                           const void *z, void *gradient);
/* Field of (y, m) at the n places x, and its derivative with pair, where they are asked for; energy: of (y, m). u, z
 * and energy may be NULL. */
rb_status rb_host_currents(const rb_variant *v, const rb_currents_desc *desc, const void *y, const void *m, int64_t n,
                           const void *x, const void *pair, void *u, void *z, double *energy);

/* Centres and moments of a mesh's faces in float64, [3][faces] each, malloc'd. */
rb_status rb_mesh_moments(const rb_mesh *mesh, double **centres, double **moments);
#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What this program was built from. */
#ifndef RB_BUILD_H
#define RB_BUILD_H

#include "kernels/base/backend.h"

/* Current hash of the sources behind a family on a backend. */
const char *rb_source_hash(const char *family, rb_backend_kind backend);
/* Whether code of that hash is this program's, for a case of that kind by that variant ("": any): the same hash, or
 * one that results/same_code.csv leads to it by rows that except neither; of a plugin's ("plugin:..."), whether that
 * library is loaded, or none. */
int rb_source_is_current(const char *family, rb_backend_kind backend, const char *hash, const char *kind_of_case,
                         const char *variant);
const char *rb_build_commit(void);
int rb_build_dirty(void);
#endif

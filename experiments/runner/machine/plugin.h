/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants from shared libraries (kernels/base/plugin.h). */
#ifndef RB_MACHINE_PLUGIN_H
#define RB_MACHINE_PLUGIN_H

#include "kernels/base/variant.h"

#include <jansson.h>

/* Its variants join their families, behind the project's own. RB_ENOTFOUND: no such file; RB_EFORMAT: not a plugin,
 * of another interface, or a variant that cannot be taken, and then none of the library is. */
rb_status rb_plugin_load(const char *path);

/* Of a plugin's variant what stands for the hash of its sources: "plugin:" and the library's sha256; else NULL. */
const char *rb_plugin_source(const rb_variant *variant);
/* Whether such a text is of a library that is loaded now, or none is: then nobody can tell. */
int rb_plugin_source_is_current(const char *source);
/* Whether a text is one. */
int rb_is_plugin_source(const char *source);

/* Name, version, file (without folders) and sha256 of each. NULL: none is loaded. New reference. */
json_t *rb_plugins_json(void);
#endif

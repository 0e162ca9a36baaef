/* SPDX-License-Identifier: BSD-3-Clause */
/* Plugins that must be refused, one for each number WHAT. */
#include "kernels/base/plugin.h"
#include "kernels/interp/interp.h"

static const rb_interp_ops nothing; /* never called */
static const rb_plugin_variant variants[] = {
#if WHAT == 1
    {"interp", "cpu/omp", "a name that is taken", RB_CPU, &nothing, sizeof nothing},
#elif WHAT == 2
    {"interp", "cpu/other", "an ops table of other headers", RB_CPU, &nothing, sizeof nothing - 8},
#elif WHAT == 3
    {"interpp", "cpu/other", "no such family", RB_CPU, &nothing, sizeof nothing},
#elif WHAT == 4
    {"interp", "cuda/other", "not named after its backend", RB_CPU, &nothing, sizeof nothing},
#elif WHAT == 5
    {"interp", "cpu/other", "no table", RB_CPU, NULL, sizeof nothing},
#elif WHAT == 6
    {"interp", "cpu/o|th\ner", "a name that breaks tables", RB_CPU, &nothing, sizeof nothing},
#elif WHAT == 7
    {"interp", "cpu/twice", "one name twice", RB_CPU, &nothing, sizeof nothing},
    {"interp", "cpu/twice", "one name twice", RB_CPU, &nothing, sizeof nothing},
#else
    {"interp", "cpu/other", "fine by itself", RB_CPU, &nothing, sizeof nothing},
#endif
};
static const rb_plugin plugin = {.interface_version = RB_PLUGIN_INTERFACE + (WHAT == 8),
                                 .backend_size = sizeof(rb_backend),
                                 .name = WHAT == 9 ? "" : "refused",
                                 .version = "1",
                                 .variants = variants,
                                 .count = sizeof variants / sizeof *variants};

rb_plugin_entry regbench_plugin;
const rb_plugin *regbench_plugin(void) { return WHAT == 10 ? NULL : &plugin; }

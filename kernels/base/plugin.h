/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of others: a shared library whose variants are checked and measured like the project's own.
 *
 *   const rb_plugin *regbench_plugin(void);      the one symbol that the library must have
 *
 * Compile it as C (or C++ with extern "C") against the installed headers, with -shared -fPIC, and link nothing of
 * regbench: what the headers declare is found in the program that loads it. CUDA variants launch on rb_cuda_stream()
 * (kernels/cuda/cuda.cuh). An ops table does what its family's header says; tests/plugin/ is an example.
 *
 *   regbench check interp --plugin ./libmine.so --variant cpu/mine
 *   regbench run mine.yaml --plugin ./libmine.so        a descriptor whose methods name cpu/mine
 *
 * The library is code that runs with the rights of whoever loads it. It stays loaded until the program ends. */
#ifndef RB_BASE_PLUGIN_H
#define RB_BASE_PLUGIN_H

#include "kernels/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever an ops table, a descriptor of a family or rb_backend changes its meaning or its order. */
#define RB_PLUGIN_INTERFACE 1

typedef struct {
  const char *family; /* "interp" */
  const char *name;   /* "cpu/mine" or "cuda/mine", after its backend; letters, digits and - _ . + / */
  const char *idea;   /* one line */
  rb_backend_kind backend;
  const void *ops; /* rb_interp_ops and so on */
  size_t ops_size; /* sizeof of it, where the library was compiled */
} rb_plugin_variant;

typedef struct {
  int interface_version; /* RB_PLUGIN_INTERFACE */
  size_t backend_size;   /* sizeof(rb_backend) */
  const char *name;      /* of the library: one line */
  const char *version;
  const rb_plugin_variant *variants;
  int count;
} rb_plugin;

typedef const rb_plugin *rb_plugin_entry(void);

#ifdef __cplusplus
}
#endif
#endif

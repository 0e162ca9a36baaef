/* SPDX-License-Identifier: BSD-3-Clause */
/* What every method of `regbench register` that takes two images shares: options, reading, memory, results. */
#ifndef RB_REGISTER_IMAGES_H
#define RB_REGISTER_IMAGES_H

#include "experiments/runner/inputs/pairs.h"
#include "kernels/registry/registry.h"

#include <jansson.h>

typedef struct {
  const char *images[2], *labels[2], *variant, *out;
  rb_grid grid; /* {0}: the images' own */
  rb_resampling how;
  int ignore_geometry;
} rb_image_request;

/* 0 when argv[*i] was one of the shared options or none of them (*taken tells), else an exit code. */
int rb_image_option(int argc, char **argv, int *i, rb_image_request *r, int *taken);
/* 0 when nothing that is needed is missing, else an exit code. */
int rb_image_request_check(const rb_image_request *r);
/* An option that takes a positive number, real or whole, or 0 where that works. */
typedef struct {
  const char *name;
  double *real;
  int *whole; /* one of the two */
  int zero_works;
} rb_number_option;
/* As rb_image_option, for a table of them. */
int rb_number_options(int argc, char **argv, int *i, const rb_number_option *options, int count, int *taken);

/* The variant asked for; without one `preferred`, and `fallback` where that cannot run here. Available, or the reason
 * why not. */
rb_status rb_image_variant(rb_image_request *r, const rb_family *family, const char *preferred, const char *fallback,
                           const rb_variant **out);
/* RB_ENOMEM when `need` bytes exceed what the variant's backend has free. */
rb_status rb_fits_memory(const rb_variant *v, size_t need);
/* Compare the files' geometry, make the folder for results, read the images. */
rb_status rb_image_open(const rb_image_request *r, rb_pair *pair);

/* DIR/name; data [n], or [3][n] in voxels when vector. */
rb_status rb_write_result(const rb_image_request *r, const rb_pair *pair, const char *name, const float *data,
                          int vector);

typedef struct {
  double total, solver, energy;              /* s, s, J (NaN: not measured) */
  size_t predicted, peak, peak_with_results; /* bytes on the backend */
} rb_register_costs;
/* What every metrics.json begins with. New reference. */
json_t *rb_register_metrics(const char *program, const rb_variant *v, const rb_pair *pair, rb_register_costs k);
/* DIR/metrics.json. */
rb_status rb_write_metrics(const rb_image_request *r, const json_t *j);

/* Tell the failure; its exit code. */
int rb_register_failed(rb_status st);
#endif

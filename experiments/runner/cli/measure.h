/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of the verb measure: each takes what follows its name and returns the exit code. */
#ifndef RB_MEASURE_H
#define RB_MEASURE_H

int rb_measure_surfaces(int argc, char **argv);
int rb_measure_images(int argc, char **argv);
int rb_measure_labels(int argc, char **argv);
int rb_measure_field(int argc, char **argv);
int rb_measure_points(int argc, char **argv);
#endif

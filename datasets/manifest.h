/* SPDX-License-Identifier: BSD-3-Clause */
/* Manifests of data sets: what a set is, where it comes from, its terms, and the sha256 of every file. */
#ifndef RB_MANIFEST_H
#define RB_MANIFEST_H

#include "kernels/base/status.h"

typedef struct {
  char *name, *sha256;
} rb_manifest_file;

/* Two of a set's files to be registered, under a name that experiments' axis `data` takes. */
typedef struct {
  char *name, *template_image, *reference;
  char *template_labels, *reference_labels; /* NULL: none */
} rb_manifest_pair;

typedef struct {
  char *name, *title, *source, *licence, *citation;
  char *package; /* Debian package that installs the files, or NULL */
  char *path;    /* folder of that package, or NULL: files are imported */
  char *image;   /* file used where an experiment asks for this set's image */
  rb_manifest_file *files;
  unsigned files_count;
  rb_manifest_pair *pairs; /* may be none */
  unsigned pairs_count;
} rb_manifest;

/* Folder with experiments/ and datasets/: $REGBENCH_HOME, or the nearest above the program, itself or its
 * share/regbench. */
rb_status rb_project_root(const char **out);
/* Folder of imported data: $REGBENCH_DATA, $XDG_DATA_HOME/regbench, ~/.local/share/regbench. */
rb_status rb_data_root(char *out, int size);

rb_status rb_manifest_load(const char *name, rb_manifest **out);
void rb_manifest_free(rb_manifest *m); /* takes NULL */
/* Names of all manifests, sorted; at most `most`. */
int rb_manifest_names(char names[][64], int most);
/* The set that has a pair of that name. RB_ENOTFOUND: none has. */
rb_status rb_manifest_of_pair(const char *name, rb_manifest **out, const rb_manifest_pair **pair);
/* What an axis of pairs takes besides phantom: the names of all pairs, and of the sets with an image, which is then
 * registered to itself under a known flow; at most `most`. */
int rb_manifest_pair_names(char names[][64], int most);
/* Full path of a file of the set, to read it: it is noted as an input (input_notes.h). */
rb_status rb_manifest_path(const rb_manifest *m, const char *file, char *out, int size);
/* How many of the set's files are here. */
unsigned rb_manifest_count(const rb_manifest *m);
/* RB_OK when some file is here (a part of a set may be imported) and every one that is has the right sha256; else
 * RB_ENOTFOUND or RB_EFORMAT with the way out. */
rb_status rb_manifest_verify(const rb_manifest *m);
/* Only whether the file of `image` is there. */
int rb_manifest_present(const rb_manifest *m);
/* Whether what an experiment's axis `data` names is here: a set, or a pair of one, by its name; what is made, not
 * read, always is. */
int rb_data_present(const char *value);
/* Copy the set's files from a folder into the data root, verifying each. */
rb_status rb_manifest_import(const rb_manifest *m, const char *folder, int *copied);
rb_status rb_sha256_file(const char *path, char out[65]);
#endif

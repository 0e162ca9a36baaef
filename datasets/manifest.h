/* SPDX-License-Identifier: BSD-3-Clause */
/* Manifests of data sets: what a set is, where it comes from, its terms, and the sha256 of every file. */
#ifndef RB_MANIFEST_H
#define RB_MANIFEST_H

#include "kernels/base/status.h"

typedef struct {
  char *name, *sha256;
} rb_manifest_file;

typedef struct {
  char *name, *title, *source, *licence, *citation;
  char *package; /* Debian package that installs the files, or NULL */
  char *path;    /* folder of that package, or NULL: files are imported */
  char *image;   /* file used where an experiment asks for this set's image */
  rb_manifest_file *files;
  unsigned files_count;
} rb_manifest;

/* Folder with experiments/ and datasets/: $REGBENCH_HOME, or the nearest above the program, itself or its
 * share/regbench. */
rb_status rb_home(const char **out);
/* Folder of imported data: $REGBENCH_DATA, $XDG_DATA_HOME/regbench, ~/.local/share/regbench. */
rb_status rb_data_root(char *out, int size);

rb_status rb_manifest_load(const char *name, rb_manifest **out);
void rb_manifest_free(rb_manifest *m); /* takes NULL */
/* Names of all manifests, sorted; at most `most`. */
int rb_manifest_names(char names[][64], int most);
/* Full path of a file of the set. */
rb_status rb_manifest_path(const rb_manifest *m, const char *file, char *out, int size);
/* How many of the set's files are here. */
unsigned rb_manifest_count(const rb_manifest *m);
/* RB_OK when some file is here (a part of a set may be imported) and every one that is has the right sha256; else
 * RB_ENOTFOUND or RB_EFORMAT with the way out. */
rb_status rb_manifest_verify(const rb_manifest *m);
/* Only whether the file of `image` is there. */
int rb_manifest_present(const rb_manifest *m);
/* Whether what an experiment's axis `data` names is here: a set by its name, or a subject of nirep (na02); what is
 * made, not read, always is. */
int rb_data_present(const char *value);
/* Copy the set's files from a folder into the data root, verifying each. */
rb_status rb_manifest_import(const rb_manifest *m, const char *folder, int *copied);
rb_status rb_sha256_file(const char *path, char out[65]);
#endif

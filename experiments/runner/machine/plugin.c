/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/machine/plugin.h"

#include "datasets/input_file.h"
#include "datasets/manifest.h"
#include "kernels/base/plugin.h"
#include "kernels/registry/registry.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLUGINS = 16 };
static const char PREFIX[] = "plugin:";
static struct {
  const rb_plugin *plugin;
  char file[256], source[80];
} loaded[PLUGINS];
static int count;

/* A word or a line that tables, records and terminals can hold. */
static int printable(const char *s, int word, size_t longest) {
  const size_t n = s ? strlen(s) : 0;
  if (n == 0 || n > longest) return 0;
  for (size_t i = 0; i < n; i++) {
    const int letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= '0' && s[i] <= '9');
    if (word ? !letter && !strchr("-_.+/", s[i]) : s[i] < ' ' || s[i] > '~') return 0;
  }
  return 1;
}

static rb_status check_variant(const char *path, const rb_plugin_variant *v) {
  rb_status st = RB_OK;
  const rb_family *family;
  const rb_variant *there;
  const char *backend = v->backend == RB_CUDA ? "cuda/" : "cpu/";
  RB_CHECK(v->backend == RB_CPU || v->backend == RB_CUDA, RB_EFORMAT, "%s: a variant of backend %d", path,
           (int)v->backend);
  RB_CHECK(printable(v->name, 1, 63) && strncmp(v->name, backend, strlen(backend)) == 0 && v->name[strlen(backend)],
           RB_EFORMAT, "%s: a variant's name must be %sNAME, at most 63 letters, digits and -_.+/", path, backend);
  RB_CHECK(printable(v->idea, 0, 200), RB_EFORMAT, "%s: %s: `idea` must be a line of at most 200 characters", path,
           v->name);
  RB_CHECK(printable(v->family, 1, 63), RB_EFORMAT, "%s: %s names no family", path, v->name);
  RB_TRY(rb_family_find(v->family, &family));
  RB_CHECK(v->ops, RB_EFORMAT, "%s: %s has no ops table", path, v->name);
  RB_CHECK(
      v->ops_size == family->ops_size, RB_EFORMAT,
      "%s: the ops table of %s has %zu bytes and rb_%s_ops has %zu: compile it against the headers of this regbench",
      path, v->name, v->ops_size, family->name, family->ops_size);
  RB_CHECK(rb_variant_find(family, v->name, &there) != RB_OK, RB_EFORMAT, "%s: %s has a variant '%s' already", path,
           family->name, v->name);
  rb_clear();
done:
  return st;
}

static rb_status check_plugin(const char *path, const rb_plugin *p) {
  rb_status st = RB_OK;
  RB_CHECK(p, RB_EFORMAT, "%s: regbench_plugin() gives nothing", path);
  RB_CHECK(
      p->interface_version == RB_PLUGIN_INTERFACE && p->backend_size == sizeof(rb_backend), RB_EFORMAT,
      "%s is of interface %d with a backend of %zu bytes, this regbench of interface %d with %zu: compile it anew",
      path, p->interface_version, p->backend_size, RB_PLUGIN_INTERFACE, sizeof(rb_backend));
  RB_CHECK(printable(p->name, 0, 100) && printable(p->version, 0, 100), RB_EFORMAT,
           "%s: name and version must be lines of at most 100 characters", path);
  RB_CHECK(p->count > 0 && p->count <= 256 && p->variants, RB_EFORMAT, "%s holds no variants", path);
  for (int i = 0; i < p->count; i++) {
    RB_TRY(check_variant(path, &p->variants[i]));
    for (int k = 0; k < i; k++)
      RB_CHECK(strcmp(p->variants[i].name, p->variants[k].name) != 0 ||
                   strcmp(p->variants[i].family, p->variants[k].family) != 0,
               RB_EFORMAT, "%s names %s twice", path, p->variants[i].name);
  }
done:
  return st;
}

static rb_status add_variants(const rb_plugin *p) {
  rb_status st = RB_OK;
  for (int i = 0; i < p->count; i++) {
    const rb_plugin_variant *v = &p->variants[i];
    const rb_variant row = {v->name,    "",     v->idea,
                            v->backend, v->ops, v->backend == RB_CUDA ? rb_backend_get_cuda : rb_backend_get_cpu};
    RB_TRY(rb_family_add(v->family, &row));
  }
done:
  return st;
}

rb_status rb_plugin_load(const char *path) {
  rb_status st = RB_OK;
  char absolute[PATH_MAX], sha256[65];
  void *library = NULL;
  rb_plugin_entry *entry = NULL;
  RB_CHECK(count < PLUGINS, RB_EINVAL, "more than %d plugins", PLUGINS);
  RB_TRY(rb_input_file(path));
  RB_CHECK(realpath(path, absolute), RB_ENOTFOUND, "no file %s", path);
  RB_TRY(rb_sha256_file(absolute, sha256));
  library = dlopen(absolute, RTLD_NOW | RTLD_LOCAL);
  RB_CHECK(library, RB_EFORMAT, "%s cannot be loaded: %s", path, dlerror());
  *(void **)&entry = dlsym(library, "regbench_plugin");
  RB_CHECK(entry, RB_EFORMAT, "%s has no function regbench_plugin: it is no plugin (kernels/base/plugin.h)", path);
  const rb_plugin *p = entry();
  RB_TRY(check_plugin(path, p));
  RB_TRY(add_variants(p));
  loaded[count].plugin = p;
  snprintf(loaded[count].file, sizeof loaded->file, "%s", strrchr(absolute, '/') + 1);
  snprintf(loaded[count].source, sizeof loaded->source, "%s%s", PREFIX, sha256);
  count++;
  library = NULL; /* until the program ends */
done:
  if (library) dlclose(library);
  return st;
}

const char *rb_plugin_source(const rb_variant *variant) {
  for (int k = 0; k < count; k++)
    for (int i = 0; i < loaded[k].plugin->count; i++)
      if (loaded[k].plugin->variants[i].name == variant->name)
        return loaded[k].source; /* the same text, not a like one */
  return NULL;
}
int rb_is_plugin_source(const char *source) { return strncmp(source, PREFIX, strlen(PREFIX)) == 0; }
int rb_plugin_source_is_current(const char *source) {
  for (int k = 0; k < count; k++)
    if (strcmp(loaded[k].source, source) == 0) return 1;
  return count == 0;
}

json_t *rb_plugins_json(void) {
  json_t *all = count ? json_array() : NULL;
  for (int k = 0; k < count; k++)
    json_array_append_new(
        all, json_pack("{s:s,s:s,s:s,s:s}", "name", loaded[k].plugin->name, "version", loaded[k].plugin->version,
                       "file", loaded[k].file, "sha256", loaded[k].source + strlen(PREFIX)));
  return all;
}

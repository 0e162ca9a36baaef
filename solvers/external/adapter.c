/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/external/adapter.h"

#include "datasets/input_file.h"
#include "datasets/manifest.h"
#include "datasets/temporary.h"
#include "kernels/base/process.h"

#include <ctype.h>
#include <cyaml/cyaml.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT(key, member, most) CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, rb_adapter, member, 1, most)
#define PARAMETER(key) CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER, rb_adapter_parameter, key, 1, 256)
static const cyaml_schema_field_t parameter_fields[] = {PARAMETER(name), PARAMETER(value), PARAMETER(help),
                                                        CYAML_FIELD_END};
static const cyaml_schema_value_t parameter_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_adapter_parameter, parameter_fields)};
static const cyaml_schema_field_t fields[] = {
    TEXT("name", name, 48),
    TEXT("title", title, 128),
    TEXT("version", version, 1024),
    TEXT("install", install, 256),
    TEXT("command", command, 16384),
    TEXT("convention", convention_name, 16),
    TEXT("citation", citation, 1024),
    TEXT("licence", licence, 256),
    CYAML_FIELD_SEQUENCE("parameters", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_adapter, parameters,
                         &parameter_value, 0, 64),
    CYAML_FIELD_INT("seconds", CYAML_FLAG_OPTIONAL, rb_adapter, seconds),
    CYAML_FIELD_END};
static const cyaml_schema_value_t schema = {CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, rb_adapter, fields)};

/* The first complaint of the parser: what follows tells where it was. */
static void keep(cyaml_log_t level, void *context, const char *format, va_list arguments) {
  char line[256];
  (void)level;
  vsnprintf(line, sizeof line, format, arguments);
  line[strcspn(line, "\n")] = '\0';
  if (strstr(line, "Load:") && !*(char *)context)
    snprintf(context, 256, "%s", strstr(line, "Load:") + strlen("Load:") + 1);
}

static rb_status folder_of_adapters(char *out, size_t size) {
  rb_status st = RB_OK;
  const char *home;
  RB_TRY(rb_project_root(&home));
  RB_TRY(rb_path(out, size, "%s/solvers/external/adapters", home));
done:
  return st;
}
static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static int is_yaml(const struct dirent *d) {
  const size_t n = strlen(d->d_name);
  return n > 5 && strcmp(d->d_name + n - 5, ".yaml") == 0;
}
static rb_status not_found(const char *name, const char *folder) {
  char all[1024] = "";
  struct dirent **list = NULL;
  const int count = scandir(folder, &list, is_yaml, by_name);
  for (int i = 0; i < count; i++) {
    const size_t n = strlen(all);
    snprintf(all + n, sizeof all - n, "%s%.*s", n ? ", " : "", (int)strlen(list[i]->d_name) - 5, list[i]->d_name);
    free(list[i]);
  }
  free(list);
  return RB_FAIL(RB_ENOTFOUND, "no adapter '%s': a .yaml file, or one of %s", name, all);
}

/* Letters, digits and a few signs: nothing that a shell would take for more than a word. */
static int is_word(const char *text) {
  for (const char *c = text; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("_.,:+-x", *c)) return 0;
  return *text != '\0';
}

static rb_status check_numbers(const char *path, const rb_adapter *a) {
  rb_status st = RB_OK;
  RB_CHECK(a->seconds >= 0, RB_EFORMAT, "%s: seconds %d", path, a->seconds);
  for (unsigned i = 0; i < a->parameters_count; i++)
    RB_CHECK(is_word(a->parameters[i].name) && is_word(a->parameters[i].value), RB_EFORMAT,
             "%s: parameter '%s' with the value '%s': plain words work", path, a->parameters[i].name,
             a->parameters[i].value);
done:
  return st;
}

static rb_status check(const char *path, rb_adapter *a) {
  rb_status st = RB_OK;
  RB_CHECK(is_word(a->name), RB_EFORMAT, "%s: name '%s'; letters, digits and dashes work", path, a->name);
  a->makes_template = strcmp(a->convention_name, "template") == 0;
  if (a->makes_template) {
    RB_CHECK(strstr(a->command, "{images}") && strstr(a->command, "{out_template}"), RB_EFORMAT,
             "%s: its command does not name the list of images and the template ({images}, {out_template})", path);
    return check_numbers(path, a);
  }
  RB_CHECK(strstr(a->command, "{out_field}"), RB_EFORMAT,
           "%s: its command does not say where the displacement goes ({out_field})", path);
  RB_CHECK(strstr(a->command, "{fixed}") && strstr(a->command, "{moving}"), RB_EFORMAT,
           "%s: its command does not name both images ({fixed}, {moving})", path);
  if (rb_field_convention_parse(a->convention_name, &a->convention) != RB_OK) {
    rb_clear();
    return RB_FAIL(RB_EFORMAT, "%s: convention '%s'; itk, ras, fsl or voxel", path, a->convention_name);
  }
  RB_TRY(check_numbers(path, a));
done:
  return st;
}

rb_status rb_adapter_load(const char *name, rb_adapter **out) {
  rb_status st = RB_OK;
  char path[PATH_MAX], folder[PATH_MAX - 64], said[256] = "";
  const size_t length = strlen(name);
  const int is_path = strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
  const cyaml_config_t config = {.log_fn = keep, .log_ctx = said, .mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR};
  *out = NULL;
  if (is_path) {
    RB_TRY(rb_path(path, sizeof path, "%s", name));
    RB_TRY(rb_input_file(path));
  } else {
    RB_TRY(folder_of_adapters(folder, sizeof folder));
    RB_TRY(rb_path(path, sizeof path, "%s/%s.yaml", folder, name));
    if (access(path, R_OK) != 0) return not_found(name, folder);
  }
  const cyaml_err_t e = cyaml_load_file(path, &config, &schema, (cyaml_data_t **)out, NULL);
  RB_CHECK(e == CYAML_OK, RB_EFORMAT, "%s: %s", path, said[0] ? said : cyaml_strerror(e));
  RB_CHECK(*out, RB_EFORMAT, "%s is empty: no adapter stands in it", path);
  RB_TRY(check(path, *out));
  RB_TRY(rb_sha256_file(path, (*out)->sha256));
done:
  if (st != RB_OK) rb_adapter_free(*out), *out = NULL;
  return st;
}
void rb_adapter_free(rb_adapter *a) {
  const cyaml_config_t config = {.log_fn = NULL, .mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR};
  if (a) cyaml_free(&config, &schema, a, 0);
}

rb_status rb_adapter_set(rb_adapter *a, const char *assignments) {
  rb_status st = RB_OK;
  char *text = strdup(assignments), *rest = NULL;
  RB_CHECK(text, RB_ENOMEM, "host memory");
  for (char *one = strtok_r(text, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
    char *value = strchr(one, '=');
    unsigned k = 0;
    RB_CHECK(value && is_word(value + 1), RB_EINVAL, "'%s': NAME=VALUE, plain words", one);
    *value++ = '\0';
    while (k < a->parameters_count && strcmp(a->parameters[k].name, one) != 0) k++;
    RB_CHECK(k < a->parameters_count, RB_EINVAL, "adapter %s has no parameter '%s'", a->name, one);
    char *copy = strdup(value);
    RB_CHECK(copy, RB_ENOMEM, "host memory");
    free(a->parameters[k].value);
    a->parameters[k].value = copy;
  }
done:
  free(text);
  return st;
}

enum { OWN = 6 }; /* names between braces that are not parameters */

/* What stands for the name between braces; NULL: they are the command's own. */
static const char *value_of(const rb_adapter *a, const char *name, size_t length, const char *const own[OWN][2]) {
  for (int k = 0; k < OWN; k++)
    if (own[k][1] && strlen(own[k][0]) == length && strncmp(own[k][0], name, length) == 0) return own[k][1];
  for (unsigned k = 0; k < a->parameters_count; k++)
    if (strlen(a->parameters[k].name) == length && strncmp(a->parameters[k].name, name, length) == 0)
      return a->parameters[k].value;
  return NULL;
}
rb_status rb_adapter_command(const rb_adapter *a, const char *fixed, const char *moving, const char *field,
                             int threads, char **out) {
  rb_status st = RB_OK;
  char count[16];
  size_t size = 0;
  FILE *f = open_memstream(out, &size);
  RB_CHECK(f, RB_ENOMEM, "host memory");
  snprintf(count, sizeof count, "%d", threads);
  const char *const list = a->makes_template ? fixed : NULL, *const made = a->makes_template ? field : NULL;
  const char *const own[OWN][2] = {{"fixed", fixed}, {"moving", moving},     {"out_field", field},
                                   {"images", list}, {"out_template", made}, {"threads", count}};
  for (const char *c = a->command; *c;) {
    const size_t length = *c == '{' ? strcspn(c + 1, "{} \n") : 0;
    const char *value = *c == '{' && c[1 + length] == '}' ? value_of(a, c + 1, length, own) : NULL;
    if (value)
      fputs(value, f), c += length + 2;
    else
      fputc(*c++, f);
  }
  const int whole = !ferror(f) & (fclose(f) == 0);
  RB_CHECK(whole && *out, RB_ENOMEM, "host memory");
done:
  return st;
}

rb_status rb_adapter_version(const rb_adapter *a, char *out, size_t size) {
  rb_status st = RB_OK;
  char folder[1024] = "", output[1100];
  char *const arguments[] = {"sh", "-c", a->version, NULL};
  FILE *f = NULL;
  int code = 0;
  RB_TRY(rb_temporary_make(folder, sizeof folder));
  snprintf(output, sizeof output, "%s/version.txt", folder);
  RB_TRY(rb_process_run(&(rb_process){.folder = folder, .output = output, .seconds = 120}, arguments, &code));
  f = code == 0 ? fopen(output, "r") : NULL;
  RB_CHECK(f && fgets(out, (int)size, f), RB_EUNSUPPORTED, "%s is not installed (%s)", a->name, a->install);
  out[strcspn(out, "\n")] = '\0';
done:
  if (f) fclose(f);
  if (folder[0]) rb_temporary_remove(folder);
  return st;
}

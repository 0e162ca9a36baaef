#include "experiments/runner/descriptor.h"

#include "experiments/runner/workload.h"
#include "kernels/base/registry.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

/* ---- schema ----------------------------------------------------------------------------------------- */

static const cyaml_schema_value_t string_value = {CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, 4096)};

#define TEXT(key, type, member) CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, type, member, 1, 8192)
#define TEXT_OPT(key, type, member) CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, member, 1, 8192)
#define STRINGS_OPT(key, type, member) \
  CYAML_FIELD_SEQUENCE(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, member, &string_value, 1, 256)

static const cyaml_schema_field_t method_fields[] = {
    TEXT("label", rb_method, label),          TEXT("kind", rb_method, kind),       TEXT("variant", rb_method, variant),
    TEXT_OPT("basis", rb_method, basis),      TEXT_OPT("scheme", rb_method, scheme),
    TEXT_OPT("published_as", rb_method, published_as),
    CYAML_FIELD_UINT_PTR("largest", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_method, largest), CYAML_FIELD_END};
static const cyaml_schema_value_t method_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_method, method_fields)};

static const cyaml_schema_field_t axis_fields[] = {TEXT("name", rb_axis, name), STRINGS_OPT("quick", rb_axis, quick),
                                                   STRINGS_OPT("standard", rb_axis, standard),
                                                   STRINGS_OPT("paper", rb_axis, paper), CYAML_FIELD_END};
static const cyaml_schema_value_t axis_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_axis, axis_fields)};

static const cyaml_strval_t class_names[] = {{"numeric", RB_NUMERIC}, {"hardware", RB_HARDWARE}, {"info", RB_INFO}};
static const cyaml_schema_field_t column_fields[] = {
    TEXT("name", rb_column, name),
    TEXT("metric", rb_column, metric),
    TEXT("title", rb_column, title),
    CYAML_FIELD_ENUM("class", CYAML_FLAG_STRICT, rb_column, class, class_names, CYAML_ARRAY_LEN(class_names)),
    CYAML_FIELD_FLOAT_PTR("tolerance", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_column, tolerance),
    CYAML_FIELD_FLOAT_PTR("absolute", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_column, absolute),
    TEXT_OPT("reason", rb_column, reason),
    CYAML_FIELD_END};
static const cyaml_schema_value_t column_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_column, column_fields)};

static const cyaml_schema_field_t claim_fields[] = {TEXT("id", rb_claim, id),
                                                    TEXT("text", rb_claim, text),
                                                    TEXT("metric", rb_claim, metric),
                                                    TEXT("left", rb_claim, left),
                                                    TEXT("right", rb_claim, right),
                                                    TEXT("relation", rb_claim, relation),
                                                    CYAML_FIELD_FLOAT("factor", CYAML_FLAG_DEFAULT, rb_claim, factor),
                                                    TEXT_OPT("axis", rb_claim, axis),
                                                    TEXT_OPT("where", rb_claim, where),
                                                    STRINGS_OPT("values", rb_claim, values),
                                                    CYAML_FIELD_END};
static const cyaml_schema_value_t claim_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_claim, claim_fields)};

static const cyaml_schema_field_t plot_fields[] = {TEXT("file", rb_plot, file),
                                                   TEXT("kind", rb_plot, kind),
                                                   TEXT("title", rb_plot, title),
                                                   TEXT_OPT("x", rb_plot, x),
                                                   TEXT_OPT("y", rb_plot, y),
                                                   TEXT_OPT("x_label", rb_plot, x_label),
                                                   TEXT_OPT("y_label", rb_plot, y_label),
                                                   TEXT_OPT("panel", rb_plot, panel),
                                                   TEXT_OPT("relative_to", rb_plot, relative_to),
                                                   STRINGS_OPT("parts", rb_plot, parts),
                                                   STRINGS_OPT("methods", rb_plot, methods),
                                                   TEXT_OPT("published", rb_plot, published),
                                                   CYAML_FIELD_UINT_PTR("slope", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_plot, slope),
                                                   CYAML_FIELD_BOOL("log_x", CYAML_FLAG_OPTIONAL, rb_plot, log_x),
                                                   CYAML_FIELD_BOOL("log_y", CYAML_FLAG_OPTIONAL, rb_plot, log_y),
                                                   CYAML_FIELD_END};
static const cyaml_schema_value_t plot_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_plot, plot_fields)};

#define LIST(key, member, schema, least) CYAML_FIELD_SEQUENCE(key, CYAML_FLAG_POINTER, rb_descriptor, member, &schema, least, 512)
#define LIST_OPT(key, member, schema) \
  CYAML_FIELD_SEQUENCE(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_descriptor, member, &schema, 0, 512)
static const cyaml_schema_field_t descriptor_fields[] = {
    CYAML_FIELD_INT("schema", CYAML_FLAG_DEFAULT, rb_descriptor, schema),
    TEXT("paper", rb_descriptor, paper),
    TEXT("name", rb_descriptor, name),
    TEXT("title", rb_descriptor, title),
    TEXT("source", rb_descriptor, source),
    TEXT_OPT("note", rb_descriptor, note),
    TEXT("cache", rb_descriptor, cache),
    CYAML_FIELD_BOOL("counters", CYAML_FLAG_OPTIONAL, rb_descriptor, counters),
    LIST("methods", methods, method_value, 1),
    LIST("axes", axes, axis_value, 1),
    LIST("columns", columns, column_value, 1),
    TEXT_OPT("published", rb_descriptor, published),
    LIST_OPT("claims", claims, claim_value),
    LIST_OPT("plots", plots, plot_value),
    CYAML_FIELD_END};
static const cyaml_schema_value_t descriptor_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, rb_descriptor, descriptor_fields)};

/* ---- reading ---------------------------------------------------------------------------------------- */

typedef struct {
  char text[600];
} log_buffer;

/* libcyaml logs the cause first and the position in a backtrace after it: keep the first two lines. */
static void keep_log(cyaml_log_t level, void *context, const char *format, va_list args) {
  log_buffer *log = context;
  size_t used = strlen(log->text);
  if (level < CYAML_LOG_ERROR || used > 300) return;
  vsnprintf(log->text + used, sizeof log->text - used, format, args);
  for (char *s = log->text + used; *s; s++)
    if (*s == '\n') *s = ' ';
}

/* Every key of the schema. libcyaml rejects a key in the wrong place too, but counts lines from the mapping's start
 * and offers no nearest name. */
static rb_status known_key(const char *key, const char *origin, size_t line) {
  static const char *const known[] = {"schema", "paper",  "name",   "title",   "source", "note",   "cache",    "counters", "methods",
                                      "axes",   "columns", "published", "claims", "plots", "label", "kind",   "variant",  "basis",
                                      "scheme", "quick",  "standard", "metric", "class",  "tolerance", "reason", "id",     "text",
                                      "left",   "right",  "relation", "factor", "axis",   "values", "where", "file",   "x",        "y",
                                      "x_label", "y_label", "published_as", "panel", "log_x",  "log_y", "largest", "absolute", "parts", "relative_to", "slope"};
  int count = sizeof known / sizeof *known;
  for (int i = 0; i < count; i++)
    if (strcmp(key, known[i]) == 0) return RB_OK;
  const char *near = rb_nearest(key, known, count);
  return RB_FAIL(RB_EFORMAT, "%s:%zu: unknown key '%s'%s%s%s", origin, line, key, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* libcyaml takes the last of two equal keys; a benchmark must not. */
static rb_status check_keys(const char *text, const char *origin) {
  enum { DEPTH = 16, KEYS = 64 };
  rb_status st = RB_OK;
  yaml_parser_t parser;
  yaml_event_t event;
  char *keys[DEPTH][KEYS] = {{0}};
  int count[DEPTH] = {0}, mapping[DEPTH] = {0}, expect_key[DEPTH] = {0}, depth = 0, done_parsing = 0;
  if (!yaml_parser_initialize(&parser)) return RB_FAIL(RB_ENOMEM, "host memory");
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
  while (st == RB_OK && !done_parsing) {
    if (!yaml_parser_parse(&parser, &event)) {
      st = RB_FAIL(RB_EFORMAT, "%s:%zu: %s", origin, parser.problem_mark.line + 1, parser.problem ? parser.problem : "not YAML");
      break;
    }
    int is_key = mapping[depth] && expect_key[depth];
    switch (event.type) {
      case YAML_MAPPING_START_EVENT:
      case YAML_SEQUENCE_START_EVENT:
        if (mapping[depth]) expect_key[depth] = 1;
        if (depth + 1 >= DEPTH) {
          st = RB_FAIL(RB_EFORMAT, "%s:%zu: nested too deeply", origin, event.start_mark.line + 1);
          break;
        }
        depth++;
        mapping[depth] = event.type == YAML_MAPPING_START_EVENT;
        expect_key[depth] = 1;
        break;
      case YAML_MAPPING_END_EVENT:
      case YAML_SEQUENCE_END_EVENT:
        for (int i = 0; i < count[depth]; i++) free(keys[depth][i]);
        count[depth] = 0;
        mapping[depth] = 0;
        depth--;
        break;
      case YAML_SCALAR_EVENT:
        if (is_key) {
          const char *key = (const char *)event.data.scalar.value;
          for (int i = 0; i < count[depth] && st == RB_OK; i++)
            if (strcmp(keys[depth][i], key) == 0)
              st = RB_FAIL(RB_EFORMAT, "%s:%zu: key '%s' appears twice; keep one", origin, event.start_mark.line + 1, key);
          if (st == RB_OK) st = known_key(key, origin, event.start_mark.line + 1);
          if (st == RB_OK && count[depth] < KEYS) keys[depth][count[depth]++] = strdup(key);
        }
        if (mapping[depth]) expect_key[depth] = !expect_key[depth];
        break;
      case YAML_STREAM_END_EVENT: done_parsing = 1; break;
      default: break;
    }
    yaml_event_delete(&event);
  }
  for (int d = 0; d < DEPTH; d++)
    for (int i = 0; i < count[d]; i++) free(keys[d][i]);
  yaml_parser_delete(&parser);
  return st;
}

static rb_status validate(const rb_descriptor *d, const char *origin);

rb_status rb_descriptor_parse(const char *text, const char *origin, rb_descriptor **out) {
  rb_status st = RB_OK;
  log_buffer log = {""};
  rb_descriptor *d = NULL;
  unsigned char digest[SHA256_DIGEST_LENGTH];
  cyaml_config_t config = {.log_fn = keep_log, .log_ctx = &log, .mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR};
  *out = NULL;
  RB_TRY(check_keys(text, origin));
  cyaml_err_t e = cyaml_load_data((const uint8_t *)text, strlen(text), &config, &descriptor_schema, (cyaml_data_t **)&d, NULL);
  RB_CHECK(e == CYAML_OK, RB_EFORMAT, "%s: %s: %s", origin, cyaml_strerror(e), log.text);
  RB_CHECK(d, RB_EFORMAT, "%s is empty: no descriptor stands in it", origin);
  d->text = strdup(text);
  RB_CHECK(d->text, RB_ENOMEM, "host memory");
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, (const uint8_t *)text, strlen(text));
  SHA256Final(digest, &context);
  for (int i = 0; i < SHA256_DIGEST_LENGTH; i++) sprintf(d->sha256 + 2 * i, "%02x", digest[i]);
  RB_TRY(validate(d, origin));
  *out = d;
  d = NULL;
done:
  rb_descriptor_free(d);
  return st;
}

void rb_descriptor_free(rb_descriptor *d) {
  if (!d) return;
  cyaml_config_t config = {.mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR};
  free(d->text);
  d->text = NULL;
  cyaml_free(&config, &descriptor_schema, d, 0);
}

rb_status rb_read_file(const char *path, char **out, size_t *length) {
  rb_status st = RB_OK;
  char *text = NULL;
  struct stat info;
  FILE *f = fopen(path, "rb");
  RB_CHECK(f, RB_ENOTFOUND, "cannot open %s: %s", path, strerror(errno));
  RB_CHECK(fstat(fileno(f), &info) == 0 && S_ISREG(info.st_mode), RB_EIO, "%s is not a file", path);
  text = malloc((size_t)info.st_size + 1);
  RB_CHECK(text, RB_ENOMEM, "host memory: %lld bytes for %s", (long long)info.st_size, path);
  size_t got = fread(text, 1, (size_t)info.st_size, f);
  RB_CHECK(got == (size_t)info.st_size, RB_EIO, "%s: read %zu of %lld bytes", path, got, (long long)info.st_size);
  text[got] = '\0';
  if (length) *length = got;
  *out = text;
  text = NULL;
done:
  free(text);
  if (f) fclose(f);
  return st;
}

rb_status rb_descriptor_load(const char *path, rb_descriptor **out) {
  rb_status st = RB_OK;
  char *text = NULL;
  RB_TRY(rb_read_file(path, &text, NULL));
  RB_TRY(rb_descriptor_parse(text, path, out));
done:
  free(text);
  return st;
}

/* ---- meaning ---------------------------------------------------------------------------------------- */

static int has_label(const rb_descriptor *d, const char *label) {
  for (unsigned i = 0; i < d->methods_count; i++)
    if (strcmp(d->methods[i].label, label) == 0) return 1;
  return 0;
}

static int has_metric(const rb_descriptor *d, const char *metric) {
  for (unsigned i = 0; i < d->columns_count; i++)
    if (strcmp(d->columns[i].metric, metric) == 0) return 1;
  return 0;
}
static int has_axis(const rb_descriptor *d, const char *name) {
  for (unsigned i = 0; i < d->axes_count; i++)
    if (strcmp(d->axes[i].name, name) == 0) return 1;
  return 0;
}

static const char *const plot_kinds[] = {"lines", "roofline", "stacked", "scatter", "panels", "trajectories", "animation"};

/* The line that `words`, one after the other, stand on first; 1 where they do not. */
static size_t line_of(const char *text, const char *first, const char *second) {
  size_t line = 1;
  for (const char *s = text; *s; line++) {
    const char *end = s + strcspn(s, "\n"), *a = strstr(s, first), *b = a && a < end ? strstr(a, second) : NULL;
    if (b && b < end) return line;
    s = *end ? end + 1 : end;
  }
  return 1;
}
/* Check something of the descriptor that stands where `key` is followed by `value`. */
#define CHECK_AT(condition, key, value, ...)                                                        \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      char told[512];                                                                               \
      snprintf(told, sizeof told, __VA_ARGS__);                                                     \
      st = RB_FAIL(RB_EFORMAT, "%s:%zu: %s", origin, line_of(d->text, (key), (value)), told);       \
      goto done;                                                                                    \
    }                                                                                               \
  } while (0)

static rb_status validate_methods(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->methods_count; i++) {
    const rb_method *m = &d->methods[i];
    const rb_workload *w;
    const rb_variant *v;
    char cause[400] = "";
    for (unsigned j = 0; j < i; j++) CHECK_AT(strcmp(m->label, d->methods[j].label) != 0, "label:", m->label, "two methods are labelled '%s'", m->label);
    if (rb_workload_find(m->kind, &w) != RB_OK) {
      rb_clear();
      CHECK_AT(0, "kind:", m->kind, "method '%s': unknown kind '%s'", m->label, m->kind);
    }
    if (rb_variant_find(w->family, m->variant, &v) != RB_OK) {
      snprintf(cause, sizeof cause, "%s", rb_message());
      rb_clear();
    }
    CHECK_AT(!cause[0], "variant:", m->variant, "method '%s': %s", m->label, cause);
    CHECK_AT(!m->published_as || has_label(d, m->published_as), "published_as:", m->published_as, "method '%s': no method '%s' to be published as", m->label, m->published_as);
  }
done:
  return st;
}

/* Some method reads the axis, or all rows are printed ones. */
static int is_read(const rb_descriptor *d, const char *axis) {
  int computed = 0;
  for (unsigned i = 0; i < d->methods_count; i++) {
    computed |= strcmp(d->methods[i].kind, "published") != 0;
    if (rb_workload_reads(d->methods[i].kind, axis)) return 1;
  }
  return !computed;
}
static rb_status validate_axes(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->axes_count; i++) {
    const rb_axis *a = &d->axes[i];
    CHECK_AT(rb_axis_values(a, RB_PRESET_PAPER).count, "name:", a->name, "axis '%s' has no values", a->name);
    CHECK_AT(is_read(d, a->name), "name:", a->name, "axis '%s': no method reads it; kind %s reads %s", a->name, d->methods[0].kind, rb_workload_axes(d->methods[0].kind));
  }
done:
  return st;
}

/* "axis=value,axis=value" of axes that there are. */
static rb_status validate_where(const rb_descriptor *d, const rb_claim *c, const char *origin) {
  rb_status st = RB_OK;
  for (const char *s = c->where; s && *s; s += strcspn(s, ","), s += *s == ',') {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(s, "=,"), s);
    CHECK_AT(s[strcspn(s, "=,")] == '=' && has_axis(d, name), "id:", c->id, "claim '%s': where '%s': axis=value,... of this experiment's axes", c->id, c->where);
  }
done:
  return st;
}

static rb_status validate_claims(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->claims_count; i++) {
    const rb_claim *c = &d->claims[i];
    char *end;
    strtod(c->right, &end);
    CHECK_AT(has_label(d, c->left), "id:", c->id, "claim '%s': no method '%s'", c->id, c->left);
    CHECK_AT(*end == '\0' || has_label(d, c->right) || strcmp(c->right, "published") == 0, "id:", c->id, "claim '%s': no method '%s'", c->id, c->right);
    CHECK_AT(strcmp(c->right, "published") != 0 || has_metric(d, c->metric), "id:", c->id, "claim '%s': no column shows '%s', so none is published", c->id, c->metric);
    RB_TRY(validate_where(d, c, origin));
    CHECK_AT(!c->axis || has_axis(d, c->axis), "id:", c->id, "claim '%s': no axis '%s'", c->id, c->axis);
    CHECK_AT(strcmp(c->relation, "<=") == 0 || strcmp(c->relation, ">=") == 0, "id:", c->id, "claim '%s': relation '%s'; <= or >=", c->id, c->relation);
  }
done:
  return st;
}

static rb_status validate_plots(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->plots_count; i++) {
    const rb_plot *p = &d->plots[i];
    int lines = strcmp(p->kind, "lines") == 0, known = 0;
    for (size_t k = 0; k < sizeof plot_kinds / sizeof *plot_kinds; k++) known |= strcmp(p->kind, plot_kinds[k]) == 0;
    CHECK_AT(known, "file:", p->file, "plot '%s': kind '%s'; lines, roofline, stacked, scatter, panels, trajectories or animation", p->file, p->kind);
    CHECK_AT(strcmp(p->kind, "stacked") != 0 || p->parts_count, "file:", p->file, "plot '%s' of stacked bars needs parts", p->file);
    CHECK_AT(strcmp(p->kind, "scatter") != 0 || (p->x && p->y), "file:", p->file, "plot '%s' of points needs x and y", p->file);
    CHECK_AT(!lines || (p->x && p->y), "file:", p->file, "plot '%s' of lines needs x and y", p->file);
    CHECK_AT(!lines || has_axis(d, p->x) || has_metric(d, p->x), "file:", p->file, "plot '%s': no axis or column's metric '%s'", p->file, p->x);
    CHECK_AT(!p->relative_to || has_label(d, p->relative_to), "file:", p->file, "plot '%s': no method '%s'", p->file, p->relative_to);
    CHECK_AT(!p->panel || has_axis(d, p->panel), "file:", p->file, "plot '%s': no axis '%s'", p->file, p->panel);
  }
done:
  return st;
}

static rb_status validate(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  CHECK_AT(d->schema == 1, "schema:", "", "schema %d; this program reads schema 1", d->schema);
  CHECK_AT(strcmp(d->cache, "warm") == 0 || strcmp(d->cache, "cold") == 0, "cache:", "", "cache is '%s'; warm or cold", d->cache);
  RB_TRY(validate_methods(d, origin));
  RB_TRY(validate_axes(d, origin));
  RB_TRY(validate_claims(d, origin));
  RB_TRY(validate_plots(d, origin));
done:
  return st;
}

rb_strings rb_axis_values(const rb_axis *a, rb_preset preset) {
  if (preset >= RB_PRESET_PAPER && a->paper_count) return (rb_strings){a->paper, a->paper_count};
  if (preset >= RB_PRESET_STANDARD && a->standard_count) return (rb_strings){a->standard, a->standard_count};
  if (a->quick_count) return (rb_strings){a->quick, a->quick_count};
  if (a->standard_count) return (rb_strings){a->standard, a->standard_count};
  return (rb_strings){a->paper, a->paper_count};
}

static const char *const preset_names[] = {"quick", "standard", "paper"};

rb_status rb_preset_parse(const char *name, rb_preset *out) {
  for (int i = 0; i < RB_PRESETS; i++)
    if (strcmp(name, preset_names[i]) == 0) {
      *out = (rb_preset)i;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown preset '%s': quick, standard, paper", name);
}
const char *rb_preset_name(rb_preset p) { return preset_names[p]; }

/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/descriptor/descriptor.h"

#include "experiments/runner/base/files.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/registry/registry.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* ---- schema ----------------------------------------------------------------------------------------- */

static const cyaml_schema_value_t string_value = {CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, 4096)};

#define TEXT(key, type, member) CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, type, member, 1, 8192)
#define TEXT_OPT(key, type, member) \
  CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, member, 1, 8192)
#define STRINGS_OPT(key, type, member) \
  CYAML_FIELD_SEQUENCE(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, member, &string_value, 1, 256)

static const cyaml_schema_field_t method_fields[] = {
    TEXT("label", rb_method, label),
    TEXT("kind", rb_method, kind),
    TEXT("variant", rb_method, variant),
    TEXT_OPT("basis", rb_method, basis),
    TEXT_OPT("scheme", rb_method, scheme),
    TEXT_OPT("sums", rb_method, sums),
    TEXT_OPT("published_as", rb_method, published_as),
    CYAML_FIELD_UINT_PTR("largest", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_method, largest),
    CYAML_FIELD_END};
static const cyaml_schema_value_t method_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_method, method_fields)};

static const cyaml_schema_field_t axis_fields[] = {TEXT("name", rb_axis, name), STRINGS_OPT("quick", rb_axis, quick),
                                                   STRINGS_OPT("standard", rb_axis, standard),
                                                   STRINGS_OPT("paper", rb_axis, paper), CYAML_FIELD_END};
static const cyaml_schema_value_t axis_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_axis, axis_fields)};

static const cyaml_strval_t class_names[] = {
    {"numeric", RB_NUMERIC}, {"hardware", RB_HARDWARE}, {"data", RB_DATA}, {"info", RB_INFO}};
const char *rb_column_class_name(rb_column_class c) { return class_names[c].str; }
static const cyaml_strval_t origin_names[] = {
    {"paper", RB_ORIGIN_PAPER}, {"input", RB_ORIGIN_INPUT}, {"program", RB_ORIGIN_PROGRAM}};
static const cyaml_schema_field_t column_fields[] = {
    TEXT("name", rb_column, name),
    TEXT("metric", rb_column, metric),
    TEXT("title", rb_column, title),
    CYAML_FIELD_ENUM("class", CYAML_FLAG_STRICT, rb_column, class, class_names, CYAML_ARRAY_LEN(class_names)),
    CYAML_FIELD_ENUM("origin", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, rb_column, origin, origin_names,
                     CYAML_ARRAY_LEN(origin_names)),
    CYAML_FIELD_FLOAT_PTR("tolerance", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_column, tolerance),
    CYAML_FIELD_FLOAT_PTR("absolute", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_column, absolute),
    TEXT_OPT("reason", rb_column, reason),
    TEXT_OPT("relative_to", rb_column, relative_to),
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
                                                    TEXT_OPT("at", rb_claim, at),
                                                    TEXT_OPT("spread", rb_claim, spread),
                                                    STRINGS_OPT("values", rb_claim, values),
                                                    CYAML_FIELD_END};
static const cyaml_schema_value_t claim_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_claim, claim_fields)};

static const cyaml_schema_field_t plot_fields[] = {
    TEXT("file", rb_plot, file),
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
    TEXT_OPT("where", rb_plot, where),
    TEXT_OPT("published", rb_plot, published),
    CYAML_FIELD_UINT_PTR("slope", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_plot, slope),
    CYAML_FIELD_BOOL("log_x", CYAML_FLAG_OPTIONAL, rb_plot, log_x),
    CYAML_FIELD_BOOL("log_y", CYAML_FLAG_OPTIONAL, rb_plot, log_y),
    CYAML_FIELD_END};
static const cyaml_schema_value_t plot_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_plot, plot_fields)};

#define LIST(key, member, schema, least) \
  CYAML_FIELD_SEQUENCE(key, CYAML_FLAG_POINTER, rb_descriptor, member, &schema, least, 512)
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
    CYAML_FIELD_BOOL("single_run", CYAML_FLAG_OPTIONAL, rb_descriptor, single_run),
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

/* What libcyaml logged, as one line: "Load: CAUSE Load: Backtrace: in mapping field 'KEY' (line: N, column: M) ..."
 */
static rb_status malformed(const char *origin, const char *log) {
  static const char head[] = "Load: ", field[] = "mapping field '", place[] = "(line: ";
  const char *cause = strncmp(log, head, strlen(head)) == 0 ? log + strlen(head) : log,
             *end = strstr(cause, " Load:");
  const char *key = strstr(cause, field), *line = strstr(cause, place);
  const int length = end ? (int)(end - cause) : (int)strlen(cause),
            missing = strncmp(cause, "Missing", 7) == 0; /* its place is the mapping's last key */
  if (!key || !line) return RB_FAIL(RB_EFORMAT, "%s: %.*s", origin, length, cause);
  key += strlen(field);
  if (missing)
    return RB_FAIL(RB_EFORMAT, "%s: %.*s (in the mapping that has '%.*s' at line %d)", origin, length, cause,
                   (int)strcspn(key, "'"), key, atoi(line + strlen(place)));
  return RB_FAIL(RB_EFORMAT, "%s:%d: key '%.*s': %.*s%s", origin, atoi(line + strlen(place)), (int)strcspn(key, "'"),
                 key, length, cause,
                 !strstr(cause, "ENUM")           ? ""
                 : strncmp(key, "origin", 6) == 0 ? "; one of paper, input, program"
                                                  : "; one of numeric, hardware, info");
}

/* Every key of the schema. libcyaml rejects a key in the wrong place too, but counts lines from the mapping's start
 * and offers no nearest name. */
static rb_status known_key(const char *key, const char *origin, size_t line) {
  static const char *const known[] = {
      "schema",       "paper",  "name",    "title",      "source",   "note",     "cache",   "counters",
      "methods",      "axes",   "columns", "published",  "claims",   "plots",    "label",   "kind",
      "variant",      "basis",  "scheme",  "quick",      "standard", "metric",   "class",   "tolerance",
      "reason",       "id",     "text",    "left",       "right",    "relation", "factor",  "axis",
      "values",       "where",  "at",      "file",       "x",        "y",        "x_label", "y_label",
      "published_as", "panel",  "log_x",   "log_y",      "largest",  "absolute", "parts",   "relative_to",
      "slope",        "origin", "sums",    "single_run", "spread"};
  int count = sizeof known / sizeof *known;
  for (int i = 0; i < count; i++)
    if (strcmp(key, known[i]) == 0) return RB_OK;
  const char *near = rb_nearest(key, known, count);
  return RB_FAIL(RB_EFORMAT, "%s:%zu: unknown key '%s'%s%s%s", origin, line, key, near ? "; did you mean '" : "",
                 near ? near : "", near ? "'?" : "");
}

enum { MOST_DEPTH = 16, MOST_KEYS = 64 };

/* Where the parser is: of each level its keys so far, whether it is a mapping, and whether a key comes next. */
typedef struct {
  const char *origin;
  char *keys[MOST_DEPTH][MOST_KEYS];
  int count[MOST_DEPTH], mapping[MOST_DEPTH], expect_key[MOST_DEPTH];
  int depth, documents;
} key_check;

static void forget_keys(key_check *k, int depth) {
  for (int i = 0; i < k->count[depth]; i++) free(k->keys[depth][i]);
  k->count[depth] = 0;
}

/* A key is known and the first of its name in its mapping. */
static rb_status check_key(key_check *k, const char *key, size_t line) {
  rb_status st = RB_OK;
  const int d = k->depth;
  for (int i = 0; i < k->count[d]; i++)
    RB_CHECK(strcmp(k->keys[d][i], key) != 0, RB_EFORMAT, "%s:%zu: key '%s' appears twice; keep one", k->origin, line,
             key);
  RB_TRY(known_key(key, k->origin, line));
  if (k->count[d] < MOST_KEYS) k->keys[d][k->count[d]++] = strdup(key);
done:
  return st;
}

static rb_status check_scalar(key_check *k, const yaml_event_t *event, size_t line) {
  rb_status st = RB_OK;
  const char *text = (const char *)event->data.scalar.value;
  const int d = k->depth;
  RB_CHECK(strlen(text) == event->data.scalar.length, RB_EFORMAT, "%s:%zu: a text holds a NUL character", k->origin,
           line);
  RB_CHECK(!event->data.scalar.tag, RB_EFORMAT, "%s:%zu: tag '%s': values are written plainly, without tags",
           k->origin, line, (const char *)event->data.scalar.tag);
  if (k->mapping[d] && k->expect_key[d]) RB_TRY(check_key(k, text, line));
  if (k->mapping[d]) k->expect_key[d] = !k->expect_key[d];
done:
  return st;
}

static rb_status check_event(key_check *k, const yaml_event_t *event) {
  rb_status st = RB_OK;
  const size_t line = event->start_mark.line + 1;
  switch (event->type) {
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
      if (k->mapping[k->depth]) k->expect_key[k->depth] = 1;
      RB_CHECK(k->depth + 1 < MOST_DEPTH, RB_EFORMAT, "%s:%zu: nested too deeply", k->origin, line);
      k->depth++;
      k->mapping[k->depth] = event->type == YAML_MAPPING_START_EVENT;
      k->expect_key[k->depth] = 1;
      break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
      forget_keys(k, k->depth);
      k->mapping[k->depth] = 0;
      k->depth--;
      break;
    case YAML_SCALAR_EVENT:
      RB_TRY(check_scalar(k, event, line));
      break;
    case YAML_ALIAS_EVENT:
      st = RB_FAIL(RB_EFORMAT, "%s:%zu: alias '*%s': write the value out; descriptors have no anchors and aliases",
                   k->origin, line, (const char *)event->data.alias.anchor);
      break;
    case YAML_DOCUMENT_START_EVENT:
      RB_CHECK(!k->documents++, RB_EFORMAT, "%s:%zu: a second document begins; one file holds one experiment",
               k->origin, line);
      break;
    default:
      break;
  }
done:
  return st;
}

/* libcyaml takes the last of two equal keys; a benchmark must not. */
static rb_status check_keys(const char *text, const char *origin) {
  rb_status st = RB_OK;
  yaml_parser_t parser;
  yaml_event_t event;
  key_check k = {.origin = origin};
  int at_end = 0;
  if (!yaml_parser_initialize(&parser)) return RB_FAIL(RB_ENOMEM, "host memory");
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
  while (st == RB_OK && !at_end) {
    if (!yaml_parser_parse(&parser, &event)) {
      st = RB_FAIL(RB_EFORMAT, "%s:%zu: %s", origin, parser.problem_mark.line + 1,
                   parser.problem ? parser.problem : "not YAML");
      break;
    }
    st = check_event(&k, &event);
    at_end = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
  }
  for (int d = 0; d < MOST_DEPTH; d++) forget_keys(&k, d);
  yaml_parser_delete(&parser);
  return st;
}

rb_status rb_descriptor_parse(const char *text, const char *origin, rb_descriptor **out) {
  rb_status st = RB_OK;
  log_buffer log = {""};
  rb_descriptor *d = NULL;
  cyaml_config_t config = {.log_fn = keep_log, .log_ctx = &log, .mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR};
  *out = NULL;
  RB_TRY(check_keys(text, origin));
  cyaml_err_t e =
      cyaml_load_data((const uint8_t *)text, strlen(text), &config, &descriptor_schema, (cyaml_data_t **)&d, NULL);
  if (e != CYAML_OK) {
    st = log.text[0] ? malformed(origin, log.text) : RB_FAIL(RB_EFORMAT, "%s: %s", origin, cyaml_strerror(e));
    goto done;
  }
  RB_CHECK(d, RB_EFORMAT, "%s is empty: no descriptor stands in it", origin);
  d->text = strdup(text);
  RB_CHECK(d->text, RB_ENOMEM, "host memory");
  rb_sha256_text(text, d->sha256);
  RB_TRY(rb_descriptor_validate(d, origin));
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

rb_status rb_descriptor_load(const char *path, rb_descriptor **out) {
  rb_status st = RB_OK;
  char *text = NULL;
  RB_TRY(rb_read_file(path, &text, NULL));
  RB_TRY(rb_descriptor_parse(text, path, out));
  if ((st = rb_descriptor_check_use(*out, path)) != RB_OK) {
    rb_descriptor_free(*out);
    *out = NULL;
  }
done:
  free(text);
  return st;
}

rb_strings rb_axis_values(const rb_axis *a, rb_preset preset) {
  if (preset >= RB_PRESET_PAPER && a->paper_count) return (rb_strings){a->paper, a->paper_count};
  if (preset >= RB_PRESET_STANDARD && a->standard_count) return (rb_strings){a->standard, a->standard_count};
  if (a->quick_count) return (rb_strings){a->quick, a->quick_count};
  if (a->standard_count) return (rb_strings){a->standard, a->standard_count};
  return (rb_strings){a->paper, a->paper_count};
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract of a solver: a system that registers. `regbench register`, `list` and the kinds of case know a solver
 * by the table below and by nothing else.
 *
 * A problem is a reference and N templates on one grid, with surfaces where a solver takes them, or N templates and a
 * reference of corresponding points. A
 * solver reads it, works on the backend of the variant that was chosen, and leaves a solution (numbers, history, how
 * it ended) and outputs (fields, points), all on the host. To add a solver: its folder and a line in solvers.def. */
#ifndef RB_SOLVER_H
#define RB_SOLVER_H

#include "kernels/base/grid.h"
#include "kernels/base/team.h"
#include "kernels/base/variant.h"

/* ---- the problem ------------------------------------------------------------------------------------------ */

/* What is known before a file is read: enough to predict memory. */
typedef struct {
  rb_grid grid;      /* of images; {0}: the problem has none */
  double spacing[3]; /* of its voxels along axes 1 to 3, mm; 0: not known */
  int channels;      /* images a subject */
  int64_t points;    /* a subject; 0: none */
  int dim;           /* of points */
  int templates;
  int labels;       /* whether label maps come with the images */
  int surfaces;     /* a subject */
  int64_t vertices; /* of a template's surfaces together */
  int64_t faces;    /* of both subjects' surfaces together */
} rb_problem_shape;

/* A triangle surface: x [3][vertices] along x1, x2, x3 in voxels of the problem's grid, face [faces][3]. */
typedef struct {
  int64_t vertices, faces;
  const double *x;
  const int32_t *face;
} rb_surface;

/* The reference or a template. Arrays of the host, borrowed until the solver is destroyed; NULL: not there. */
typedef struct {
  const float *image;         /* [channels][n1][n2][n3], finite */
  const float *labels;        /* [n1][n2][n3], whole numbers 0 .. 255 */
  const double *points;       /* [dim][points] */
  const rb_surface *surfaces; /* [surfaces]; those of one number belong together */
} rb_subject;

typedef struct {
  rb_problem_shape shape;
  const rb_subject *reference; /* NULL: the solver makes one, as an atlas does */
  const rb_subject *templates; /* [shape.templates] */
} rb_problem;

/* ---- options ---------------------------------------------------------------------------------------------- */

typedef enum {
  RB_OPTION_REAL,   /* double */
  RB_OPTION_WHOLE,  /* int */
  RB_OPTION_CHOICE, /* int: the index of a word in `choices` */
  RB_OPTION_FLAG,   /* int: becomes `flag` when the option is named; takes no value */
  RB_OPTION_TEXT    /* const char *, borrowed */
} rb_option_type;

/* The least value of an option that takes positive numbers only. */
#define RB_POSITIVE 2.2250738585072014e-308

/* One option: --name on the command line, name (with _ for -) as an axis of an experiment and in metrics.json. */
typedef struct {
  const char *name;
  rb_option_type type;
  size_t offset;       /* of the value in the solver's struct of options */
  double least, most;  /* of numbers, inclusive; most 0: no limit */
  const char *choices; /* words between blanks; of a text: what stands for it in --help, with a blank before */
  int flag;
  const char *unit; /* "voxel"; "points": the unit of the points; "1": a pure number; "": a word */
  const char *help;
} rb_solver_option;

/* NULL: the table has no such name; - and _ are the same. */
const rb_solver_option *rb_solver_option_find(const rb_solver_option *table, const char *name);
/* RB_EINVAL says what values work. `text` of a flag: "1" names it, "0" does not. */
rb_status rb_solver_option_set(const rb_solver_option *o, void *options, const char *text);
/* The present value as text that rb_solver_option_set takes. */
void rb_solver_option_show(const rb_solver_option *o, const void *options, char *out, size_t size);
double rb_solver_option_number(const rb_solver_option *o, const void *options); /* REAL, WHOLE, CHOICE, FLAG */

/* ---- the solution ----------------------------------------------------------------------------------------- */

typedef enum {
  RB_END_CONVERGED,
  RB_END_STALLED,
  RB_END_ITERATIONS,
  RB_END_LINE_SEARCH,
  RB_END_INTERRUPTED,
  RB_END_NO_FORCE,
  RB_END_DIVERGED
} rb_solver_end;
const char *rb_solver_end_name(rb_solver_end e);

typedef struct {
  const char *name, *unit, *formula;
  double value;
} rb_scalar;

/* Strings that the solver sets are constants of the program. */
typedef struct {
  rb_solver_end end;
  int as_asked;                  /* the end is what the options ask for: nothing to warn of; convergence always is */
  const char *advice;            /* a remedy where there is one, else NULL */
  const char *remark;            /* what a user must know of the options, whatever the end; NULL: nothing */
  double seconds, setup_seconds; /* the solve alone; buffers and inputs on the backend before it */
  rb_scalar *scalars, *parts;    /* parts: seconds of the solve's parts, where they were timed */
  int scalar_count, part_count;
  double *history; /* [rows][columns of the solver's table] */
  int rows, columns, room;
  int lost; /* values for which there was no memory */
  /* Called after every row; may be NULL. */
  void (*watch)(void *context, const double *row, int columns);
  void *context;
} rb_solution;

void rb_solution_scalar(rb_solution *s, const char *name, double value, const char *unit, const char *formula);
void rb_solution_part(rb_solution *s, const char *name, double seconds);
/* Appends a row of s->columns values and shows it to whoever watches. */
void rb_solution_row(rb_solution *s, const double *row);
/* NaN: it has no such scalar. */
double rb_solution_value(const rb_solution *s, const char *name);
/* What it holds; who watches stays. Takes a zeroed one. */
void rb_solution_free(rb_solution *s);

/* ---- outputs ---------------------------------------------------------------------------------------------- */

typedef enum {
  RB_OUTPUT_SCALAR,        /* float [n1][n2][n3] */
  RB_OUTPUT_VECTOR,        /* float [3][n1][n2][n3], in voxels of its axis (a unit time) */
  RB_OUTPUT_INVERSE,       /* the same: w with w + u(x + w) = 0 for the output "displacement", u */
  RB_OUTPUT_DETERMINANT,   /* float [n1][n2][n3]: by how much volumes change */
  RB_OUTPUT_LABELS,        /* float [n1][n2][n3], whole numbers; there when the problem has labels */
  RB_OUTPUT_POINTS,        /* double [dim][points]: positions, written in the form of the template's file */
  RB_OUTPUT_POINT_VECTORS, /* double [dim][points]: vectors at the points */
  RB_OUTPUT_PATHS,         /* double [time points][dim][points]: positions */
  RB_OUTPUT_CHANNELS,      /* float [channels][n1][n2][n3] */
  RB_OUTPUT_SURFACES       /* double [3][vertices], the template's surfaces one after the other, in voxels */
} rb_output_kind;

typedef struct {
  const char *name; /* results go to files of that name: warped.nii.gz; no file where it begins with '.' */
  rb_output_kind kind;
  const char *what;
  /* Of template `t`, one of this member's share. May use the backend; not inside a solve. */
  rb_status (*get)(void *state, int t, void *out);
  int (*length)(void *state); /* time points of RB_OUTPUT_PATHS; else NULL */
  int common;                 /* one for all templates, the same on all members of a team; `t` is not read */
} rb_output;

/* ---- the solver ------------------------------------------------------------------------------------------- */

enum { RB_TAKES_IMAGES = 1, RB_TAKES_POINTS = 2, RB_TAKES_CHANNELS = 4, RB_TAKES_SURFACES = 8 };

typedef struct {
  const char *name, *unit;
} rb_history_column;

typedef struct rb_solver {
  const rb_family *family;           /* name, what it is, its variants */
  const char *preferred, *otherwise; /* the variant where none is named: the first of them that runs here */
  int takes;                         /* RB_TAKES_ flags */
  int teams;                         /* whether several processes can share a problem's templates */
  int cohort;                        /* any number of templates, with or without a reference; else one of each */
  const char *about;                 /* a paragraph for `register NAME --help`; "" */
  const char *citation;              /* of the method; "": options and variant say it (cite) */
  /* The kernels that a variant is put together from, as text. */
  void (*made_of)(const rb_variant *v, char *out, size_t size);
  /* What is to be cited where `citation` is "", as text; else NULL. */
  void (*cite)(const rb_variant *v, const void *options, char *out, size_t size);
  const rb_solver_option *options; /* up to one without name */
  size_t options_size;
  void (*defaults)(void *options);
  const rb_history_column *history; /* up to one without name */
  const rb_output *outputs;         /* up to one without name */
  /* Bytes on the backend, and on the host beside the problem, of create, solve and outputs. RB_EINVAL,
   * RB_EUNSUPPORTED: options that cannot work. */
  rb_status (*predict)(const rb_variant *v, const void *options, const rb_problem_shape *shape, size_t *backend,
                       size_t *host);
  /* What can be said of a problem before anything is made of its size: RB_EINVAL with the reason. NULL: nothing. */
  rb_status (*check)(const rb_problem *problem);
  /* Copies the options; `interrupted` (may be NULL) ends a solve early once it is not 0, the iterate is kept. A team
   * of several only where `teams`: templates beyond a member's share (rb_team_share) may then be NULL. */
  rb_status (*create)(const rb_variant *v, const void *options, const rb_problem *problem, const rb_team *team,
                      const volatile int *interrupted, void **out);
  /* Fills a solution that rb_solver_solve has made ready. An end without convergence is RB_OK; the best iterate is
   * kept. */
  rb_status (*solve)(void *state, rb_solution *solution);
  /* Carry points [dim][n] of the template's space along, in place; NULL where a solver cannot. */
  rb_status (*carry)(void *state, int64_t n, double *x);
  /* The flow's velocity at time 0 at points [dim][n], a unit time; NULL where a solver cannot. */
  rb_status (*velocity_at)(void *state, int64_t n, const double *x, double *out);
  void (*destroy)(void *state); /* takes NULL */
  void (*close)(void);          /* at the end of the program; may be NULL */
} rb_solver;

/* All solvers, in the order of solvers.def. */
const rb_solver *const *rb_solvers(int *count);
/* RB_ENOTFOUND names all. */
rb_status rb_solver_find(const char *name, const rb_solver **out);
/* Solve, again where it was solved before. The solution is cleared first; who watches stays. */
rb_status rb_solver_solve(const rb_solver *s, void *state, rb_solution *solution);
/* The output of that name; NULL: none. */
const rb_output *rb_solver_output(const rb_solver *s, const char *name);

#define RB_SOLVER(name) extern const rb_solver rb_solver_##name;
#include "solvers/solvers.def"
#undef RB_SOLVER
#endif

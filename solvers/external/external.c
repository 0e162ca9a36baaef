/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/external/external.h"

#include <string.h>

/* A further program is its adapter and a row. */
static const rb_external_program plastimatch = {"plastimatch-log-demons", ""}, squares = {"elastix", ""},
                                 information = {"elastix", "metric=AdvancedMattesMutualInformation"},
                                 ants = {"ants-syn", ""}, greedy = {"greedy", ""}, niftyreg = {"niftyreg", ""},
                                 fireants = {"fireants", ""}, claire = {"claire-original", ""}, named = {"", ""};
static const rb_variant variants[] = {
    {"plastimatch-log-demons", "ITK", "ITK's log-domain demons as packaged in plastimatch, all cores",
     RB_ON_CPU(&plastimatch)},
    {"elastix-squares", "", "elastix: cubic B-splines by mean squares, all cores", RB_ON_CPU(&squares)},
    {"elastix-information", "", "elastix: cubic B-splines by mutual information, all cores", RB_ON_CPU(&information)},
    {"ants-syn", "", "ANTs SyN (ANTsPy), all cores", RB_ON_CPU(&ants)},
    {"greedy", "", "greedy: by cross-correlation, all cores", RB_ON_CPU(&greedy)},
    {"niftyreg", "", "NiftyReg: free-form deformation by a stationary velocity", RB_ON_CPU(&niftyreg)},
    {"fireants", "", "FireANTs: on a GPU of its own choice", RB_ON_CPU(&fireants)},
    {"claire-original", "CLAIRE", "CLAIRE: its authors' program", RB_ON_CPU(&claire)},
    {"adapter", "", "the program that the file of --adapter describes", RB_ON_CPU(&named)},
};
const rb_family rb_external_family = {
    .name = "external",
    .what = "programs of others, as baselines, judged by their displacement",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

rb_status rb_external_adapter(const rb_variant *variant, const rb_external_options *o, rb_adapter **out) {
  rb_status st = RB_OK;
  const rb_external_program *p = variant->ops;
  const char *own = p->adapter, *asked = o->adapter ? o->adapter : "";
  *out = NULL;
  RB_CHECK(*own || *asked, RB_EINVAL, "variant %s needs --adapter FILE, which says how a program is started",
           variant->name);
  RB_CHECK(!*own || !*asked, RB_EINVAL, "variant %s has an adapter of its own; --variant adapter takes --adapter",
           variant->name);
  RB_TRY(rb_adapter_load(*own ? own : asked, out));
  RB_TRY(rb_adapter_set(*out, p->set));
  if (o->set && *o->set) RB_TRY(rb_adapter_set(*out, o->set));
  RB_CHECK(!(*out)->makes_template, RB_EINVAL, "adapter %s makes a template of several images: it registers no pair",
           (*out)->name);
done:
  if (st != RB_OK) rb_adapter_free(*out), *out = NULL;
  return st;
}

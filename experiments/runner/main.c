#include "experiments/runner/check.h"
#include <string.h>
int main(int argc, char **argv) {
  rb_check_options o = {.golden = "tests/golden"};
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-v")) o.verbose = 1;
    else o.family[o.families++] = argv[i];
  }
  return rb_check_run(&o);
}

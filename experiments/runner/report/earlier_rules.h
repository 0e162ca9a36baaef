/* SPDX-License-Identifier: BSD-3-Clause */
/* Records are kept as they were made. What is checked of a case today and was not when it was recorded, is told. */
#ifndef RB_EARLIER_RULES_H
#define RB_EARLIER_RULES_H

#include <jansson.h>
#include <stdio.h>

/* One paragraph that counts a record's valid cases by the checks that they lack; nothing where they lack none. */
void rb_earlier_rules_print(const json_t *record, FILE *out);
#endif

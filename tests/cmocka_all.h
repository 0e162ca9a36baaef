/* SPDX-License-Identifier: BSD-3-Clause */
/* cmocka needs these four before itself. */
#ifndef RB_CMOCKA_ALL_H
#define RB_CMOCKA_ALL_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#endif

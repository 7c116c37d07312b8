/* Members of a plan of trials (trials_plan.h). Errors have EXIT_CODE_CONFIG, and name WHERE, the
 * file, and the member. */
#ifndef COMMON_TRIALS_TRIALS_MEMBER_H
#define COMMON_TRIALS_TRIALS_MEMBER_H

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { TRIALS_NAME_SIZE = 48, TRIALS_VALUE_SIZE = 256 };

int trials_member_error(const char *where, const char *name, const char *what, struct error *err);
/* OBJECT, called NAME, has no other members than the NULL-terminated MEMBERS. */
int trials_member_only(const json_t *object, const char *name, const char *const *members,
                       const char *where, struct error *err);
int trials_member_int(const json_t *object, const char *name, int64_t low, int64_t high,
                      bool needed, int64_t *ret, const char *where, struct error *err);
int trials_member_real(const json_t *object, const char *name, double low, double high, double *ret,
                       const char *where, struct error *err);
/* A flag's or metric's name: letters, digits, '-', '_'. */
int trials_member_name(const char *text, char ret[TRIALS_NAME_SIZE], const char *where,
                       struct error *err);
/* The value of the flag NAME as text: a string, number or truth value. */
int trials_member_value(const json_t *value, char ret[TRIALS_VALUE_SIZE], const char *name,
                        const char *where, struct error *err);

#endif

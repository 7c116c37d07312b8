/* JSON with integers of any size.
 *
 * Jansson holds integers of 64 bits and refuses larger ones. Here a larger one becomes a string
 * of its digits after a NUL, which no other string of the document begins with: a NUL that was
 * written is an error, as it is in json_parse. */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_BIG_INTEGERS_H
#define ENTRYPOINT_JOB_SAGEMAKER_BIG_INTEGERS_H

#include "common/error.h"

#include <jansson.h>
#include <stddef.h>

/* As json_parse. */
int big_integers_parse(const char *bytes, size_t size, const char *source, json_t **ret_root,
                       struct error *err);

/* *RET becomes the JSON in TEXT, which the caller owns; NULL if that is none. */
int big_integers_decode(const char *text, json_t **ret, struct error *err);

/* The digits, borrowed from VALUE; NULL for every other value. */
const char *big_integers_digits(const json_t *value);

/* json_shortest with such integers as JSON writes them. */
char *big_integers_dump(const json_t *value, size_t flags);

#endif

/* Redaction of secrets in logs.
 *
 * Registered values are replaced by "***" wherever redact_text() is applied; the log applies it to
 * every line. There is one registry per process; register at start, from the main thread. */
#ifndef COMMON_REDACT_H
#define COMMON_REDACT_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { REDACT_MAX = 256, REDACT_SHORTEST = 6 };

/* Registers a copy of VALUE. Values shorter than REDACT_SHORTEST are left out: they would blot
 * out ordinary words. */
int redact_add(const char *value, struct error *err);

/* True when a variable or hyperparameter of this name holds a secret by its name: one that has
 * key, token, secret or password among its words and does not end in file, path or dir. */
bool redact_is_secret_name(const char *name);

/* Registers the values of all variables of ENVIRONMENT with secret names. */
int redact_add_environment(char *const *environment, struct error *err);

/* Appends TEXT with every registered value blotted out. */
int redact_text(struct buf *out, const char *text, struct error *err);

/* Forgets and wipes all values. */
void redact_done(void);

#endif

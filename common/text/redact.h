/* Redaction of secrets in logs.
 *
 * Registered values are replaced by "***" wherever redact_text() is applied; the log applies it to
 * every line. There is one registry per process; register at start, from the main thread. */
#ifndef COMMON_TEXT_REDACT_H
#define COMMON_TEXT_REDACT_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { REDACT_MAX = 256, REDACT_SHORTEST = 6 };

/* Registers a copy of VALUE. Values shorter than REDACT_SHORTEST are ignored, because replacing
 * them would also hide ordinary words. */
int redact_add(const char *value, struct error *err);

/* Returns true if the name of a variable or hyperparameter says that it holds a secret: key, token,
 * secret or password is among its words, and it does not end in file, path or dir. */
bool redact_is_secret_name(const char *name);

/* Registers the value of every variable in ENVIRONMENT that has a secret's name. */
int redact_add_environment(char *const *environment, struct error *err);

/* Appends TEXT with every registered value replaced by "***". */
int redact_text(struct buf *out, const char *text, struct error *err);

/* Removes all values and wipes them from memory. */
void redact_done(void);

#endif

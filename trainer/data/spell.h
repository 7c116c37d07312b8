/* Text in UTF-8 spelled in ASCII, for labels whose letters are ASCII's alone: Latin letters without
 * their marks ("Kase" for "Käse"), every other character as U+ and its number. */
#ifndef DATA_SPELL_H
#define DATA_SPELL_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>

/* True for printable ASCII alone. */
bool spell_is_plain(const char *text);

/* Appends TEXT so that only printable ASCII is in OUT. */
int spell_ascii(const char *text, struct buf *out, struct error *err);

#endif

/* Building blocks of man pages in roff.
 *
 * Both programs print theirs from their own tables.
 *
 * Text that would be a command or an escape of roff is escaped. All functions append to RET and
 * fail as buffers do. */
#ifndef COMMON_TEXT_ROFF_H
#define COMMON_TEXT_ROFF_H

#include "common/buf.h"
#include "common/error.h"

/* Appends the head of the page NAME, in lower case, of a SECTION of the manual (1: programs, 7:
 * other subjects): the title line with the PROGRAM and its VERSION, and the NAME section. */
int roff_head(struct buf *ret, const char *name, int section, const char *program,
              const char *version, const char *summary, struct error *err);
/* Appends a section title, in capitals. */
int roff_section(struct buf *ret, const char *title, struct error *err);
/* Appends TEXT as a line of its own. */
int roff_text(struct buf *ret, const char *text, struct error *err);
/* Appends NAME in bold, WORDS ("" for none) on the line below, and TEXT indented. */
int roff_item(struct buf *ret, const char *name, const char *words, const char *text,
              struct error *err);

#endif

/* What failures mean, why they happen and what to do, for `ringmaster explain`, for the failure
 * file and for docs/reference/failures.md. Pure. */
#ifndef ENTRYPOINT_OUTCOME_EXPLAIN_H
#define ENTRYPOINT_OUTCOME_EXPLAIN_H

#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/outcome/explain_table.h"
#include "entrypoint/outcome/verdict.h"

const char *explain_means(const struct explain_row *row);
/* What to call the row by: "73", "SIGSEGV", "nccl:2", "module-not-found". */
void explain_key(const struct explain_row *row, char key[EXPLAIN_KEY_SIZE]);

/* The row that people mean by TEXT, in any case: a number, a name, KIND:NUMBER, or a line that has
 * the words of one; NULL: none. A number above 128 without a row of its own is a signal's. */
const struct explain_row *explain_find(const char *text);

/* What explains a verdict best: the sign that stands first in its evidence, else last in its story,
 * as what is said last is nearest to the end, else its signal or its class. NULL: the table has no
 * more to say than the verdict does. */
const struct explain_row *explain_verdict(const struct verdict *v);

/* Appends for a terminal what TEXT means: a row, all rows of a kind (signal, mpi, nccl, cuda, xid),
 * all that speak of TEXT ("oom"), or with NULL the whole table. */
int explain_print(const char *text, struct buf *ret, struct error *err);
/* All of it as docs/reference/failures.md has it. */
int explain_page(struct buf *ret, struct error *err);

#endif

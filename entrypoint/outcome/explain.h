/* Table of explained failures: meaning, cause and remedy, for `ringmaster explain`, the failure
 * file and docs/reference/failures.md. Pure. */
#ifndef ENTRYPOINT_OUTCOME_EXPLAIN_H
#define ENTRYPOINT_OUTCOME_EXPLAIN_H

#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/outcome/explain_table.h"
#include "entrypoint/outcome/verdict.h"

const char *explain_means(const struct explain_row *row);
/* Returns the name of a row: "73", "SIGSEGV", "nccl:2", "module-not-found". */
void explain_key(const struct explain_row *row, char key[EXPLAIN_KEY_SIZE]);

/* Returns the row for TEXT, in any case: a number, a name, KIND:NUMBER, or a line with the words of
 * a row; NULL: none. A number above 128 without a row of its own is a signal's. */
const struct explain_row *explain_find(const char *text);

/* Returns the row that explains a verdict best: the first sign in its evidence, else the last in
 * its log tail, which is nearest to the end, else its signal or class. NULL if the table says no
 * more than the verdict. */
const struct explain_row *explain_verdict(const struct verdict *v);

/* Appends for a terminal what TEXT means: a row, all rows of a kind (signal, mpi, nccl, cuda, xid),
 * all that mention TEXT ("oom"), or with NULL the whole table. */
int explain_print(const char *text, struct buf *ret, struct error *err);
/* All of it as docs/reference/failures.md has it. */
int explain_page(struct buf *ret, struct error *err);

#endif

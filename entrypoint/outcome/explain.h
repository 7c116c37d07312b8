/* What failures mean, why they happen and what to do: one table for `ringmaster explain`, for the
 * failure file and for TROUBLESHOOTING.md. Pure.
 *
 * A row is named by what people have in their hands: an exit code (73, host-lost), a signal
 * (SIGSEGV, 139), or an error of a library, whose own numbers mean nothing as exit codes
 * (nccl:2, ncclSystemError, cuda:700, xid:79). A row with signs is also found by what a program's
 * last lines or the kernel's say. */
#ifndef OUTCOME_EXPLAIN_H
#define OUTCOME_EXPLAIN_H

#include "common/buf.h"
#include "common/error.h"
#include "outcome/verdict.h"

#include <stddef.h>

/* In the order of the page. */
enum explain_kind {
    EXPLAIN_CODE,   /* number: what we leave with, or what runtimes make programs leave with */
    EXPLAIN_SIGNAL, /* number: of the signal; the exit code is 128 more */
    EXPLAIN_NCCL,   /* number: ncclResult_t */
    EXPLAIN_CUDA,   /* number: cudaError_t */
    EXPLAIN_XID,    /* number: of an Xid that NVIDIA's driver tells the kernel's log */
    EXPLAIN_TEXT,   /* no number: known by its signs alone */
    EXPLAIN_KINDS,
};

enum { EXPLAIN_SIGNS_MAX = 3, EXPLAIN_KEY_SIZE = 48 };

struct explain_row {
    enum explain_kind kind;
    int number;
    const char *name;                     /* unlike any other row's */
    const char *signs[EXPLAIN_SIGNS_MAX]; /* found in lines as they are; NULL: none */
    const char *means;                    /* a clause; NULL: exit_code.h has it */
    const char *see;
    const char *why;
    const char *act;
};

const struct explain_row *explain_table(size_t *ret_count);
const char *explain_means(const struct explain_row *row);
/* What to call the row by: "73", "SIGSEGV", "nccl:2", "module-not-found". */
void explain_key(const struct explain_row *row, char key[EXPLAIN_KEY_SIZE]);

/* The row that people mean by TEXT, in any case: a number, a name, KIND:NUMBER; NULL: none. A
 * number above 128 without a row of its own is a signal's. */
const struct explain_row *explain_find(const char *text);

/* What explains a verdict best: the sign that stands first in its evidence, else last in its story,
 * as what is said last is nearest to the end, else its signal or its class. NULL: the table has no
 * more to say than the verdict does. */
const struct explain_row *explain_verdict(const struct verdict *v);

/* Appends for a terminal what TEXT means: a row, all rows of a kind (signal, nccl, cuda, xid), or
 * with NULL the whole table. */
int explain_print(const char *text, struct buf *ret, struct error *err);
/* All of it as TROUBLESHOOTING.md has it. */
int explain_page(struct buf *ret, struct error *err);

#endif

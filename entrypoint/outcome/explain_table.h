/* The rows of what failures mean. A row is named by what people see: an exit code
 * (73, host-lost), a signal (SIGSEGV, 139), or an error of a library, where its numbers mean
 * nothing as exit codes (mpi:15, nccl:2, ncclSystemError, cuda:700, xid:79). A row with signs is
 * also found by what a program's last lines or the kernel's say. */
#ifndef ENTRYPOINT_OUTCOME_EXPLAIN_TABLE_H
#define ENTRYPOINT_OUTCOME_EXPLAIN_TABLE_H

#include <stddef.h>

/* In the order of the page. */
enum explain_kind {
    EXPLAIN_CODE,   /* number: what we leave with, or what runtimes make programs leave with */
    EXPLAIN_SIGNAL, /* number: of the signal; the exit code is 128 more */
    EXPLAIN_MPI,    /* number: of the error class in Open MPI, with which a program is ended, too */
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

#endif

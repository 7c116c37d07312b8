/* Table of the evidence that is gathered when ranks hang or fail: what, about what, how long it may
 * take, and how large it may become.
 *
 * A row runs in a process of its own (gather.h), which is killed at its deadline: it may wait for a
 * disk, a driver or a socket. What it prints becomes a file. */
#ifndef ENTRYPOINT_EVIDENCE_GATHER_TABLE_H
#define ENTRYPOINT_EVIDENCE_GATHER_TABLE_H

#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/evidence/gather_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum evidence_of { EVIDENCE_OF_RANK, EVIDENCE_OF_HOST, EVIDENCE_OF_JOB };

/* What a row gathers about. */
struct evidence_subject {
    const struct gather_order *order;
    unsigned rank; /* of EVIDENCE_OF_RANK, as its shim */
    pid_t shim;
    int64_t deadline; /* clock_now() */
};

struct evidence_row {
    const char *name;     /* lower case, for messages */
    const char *file;     /* its name; HOST and RANK are replaced */
    const char *what;     /* for the page */
    enum evidence_of of;  /* each rank, one a host, or one a job */
    bool quick;           /* gathered of ranks that are about to be ended, too */
    int64_t milliseconds; /* or less, where the order has less */
    size_t most;          /* bytes; the rest is cut */
    /* Writes to standard output. Returns the process's exit code: 0, or 1 if there is nothing to
     * gather here. NULL wherever the row is about nothing on this host. */
    int (*gather)(const struct evidence_subject *subject);
    /* Returns true if the row applies; NULL: always. */
    bool (*applies)(const struct gather_order *order);
};

extern const struct evidence_row evidence_rows[];
size_t evidence_row_count(void);
/* Returns the row called NAME, or NULL. */
const struct evidence_row *evidence_row_find(const char *name);

/* Writes the name of the row's file. */
enum { EVIDENCE_FILE_SIZE = 320 };
void evidence_row_file(const struct evidence_row *row, const char *host, unsigned rank,
                       char ret[EVIDENCE_FILE_SIZE]);

/* Appends the table in Markdown. */
int evidence_page(struct buf *ret, struct error *err);

#endif

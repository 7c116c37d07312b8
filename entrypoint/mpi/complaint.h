/* What Open MPI says on mpirun's standard error of a program that broke its rules or aborted: the
 * cause of an end of which the rank itself says no word. */
#ifndef MPI_COMPLAINT_H
#define MPI_COMPLAINT_H

#include <stdbool.h>
#include <stddef.h>

enum { COMPLAINT_SIZE = 192 };

struct complaint {
    char text[COMPLAINT_SIZE]; /* the first: "An error occurred in MPI_Recv; MPI_ERR_TRUNCATE: ..."
                                */
};

/* LINE has no '\n'. True where it is part of such a complaint, also of a later one. */
bool complaint_add(struct complaint *c, const char *line, size_t size);

#endif

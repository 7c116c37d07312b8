/* What Open MPI says on mpirun's standard error of a program that broke its rules or aborted: the
 * cause of an end of which the rank itself says no word. */
#ifndef ENTRYPOINT_MPI_MPI_ERROR_TEXT_H
#define ENTRYPOINT_MPI_MPI_ERROR_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { MPI_ERROR_TEXT_SIZE = 192 };

struct mpi_error_text {
    char text[MPI_ERROR_TEXT_SIZE]; /* the first: "An error occurred in MPI_Recv; MPI_ERR_TRUNCATE:
                                     * ..."
                                     */
};

/* LINE has no '\n'. True where it is part of such a complaint, also of a later one. */
bool mpi_error_text_add(struct mpi_error_text *c, const char *line, size_t size);

#endif

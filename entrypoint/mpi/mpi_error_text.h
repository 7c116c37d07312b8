/* Open MPI's messages about a program that misused MPI or aborted.
 *
 * They come on mpirun's standard error, and are the cause of an end that the rank itself does not
 * report. */
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

/* LINE has no '\n'. Returns true if it is part of such a message, also of a later one. */
bool mpi_error_text_add(struct mpi_error_text *c, const char *line, size_t size);

#endif

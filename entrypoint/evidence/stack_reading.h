/* Reading of what py-spy, eu-stack or gdb print of one rank: which collective operation it is in,
 * and where its main thread is.
 *
 * The text comes from tools and, in function names, from the user's program. Pure. */
#ifndef ENTRYPOINT_EVIDENCE_STACK_READING_H
#define ENTRYPOINT_EVIDENCE_STACK_READING_H

#include <stddef.h>

enum { STACK_READING_COLLECTIVE_SIZE = 64, STACK_READING_PLACE_SIZE = 160 };

struct stack_reading {
    char collective[STACK_READING_COLLECTIVE_SIZE]; /* MPI_Allreduce, all_reduce ...; "": none */
    char place[STACK_READING_PLACE_SIZE]; /* innermost functions of the main thread, "a < b"; "":
                                             unknown */
};

/* Reads SIZE bytes; both members become valid UTF-8 on one line. The first process of the text
 * counts for the place, all of them and all threads for the collective. */
void stack_reading_take(const char *text, size_t size, struct stack_reading *ret);

/* First line of a process in the text; the reader looks for it. */
#define STACK_READING_PROCESS "== pid "
/* Line of a process that a signal has stopped. */
#define STACK_READING_STOPPED "stopped by a signal"

#endif

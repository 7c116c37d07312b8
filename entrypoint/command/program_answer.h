/* Output of a program that is asked something and ends.
 *
 * Only the programs themselves know it: `ringmaster-transfer version`, `ringtrain train --help`.
 * Blocks, for PROGRAM_ANSWER_SECONDS at most. */
#ifndef ENTRYPOINT_COMMAND_PROGRAM_ANSWER_H
#define ENTRYPOINT_COMMAND_PROGRAM_ANSWER_H

#include "common/buf.h"
#include "common/error.h"

enum { PROGRAM_ANSWER_SECONDS = 10, PROGRAM_ANSWER_MAX = 64 * 1024 };

/* Appends what the program WORDS[0], a path, says when it is called with the other WORDS. An error
 * where it cannot be started, ends with another code than 0, or not in time. */
int program_answer(const char *const *words, struct buf *ret, struct error *err);

#endif

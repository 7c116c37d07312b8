/* The shell line of mpirun's launcher taken apart without a shell: the login-shell frame and the
 * settings of paths before the daemon are recognised and dropped, the rest becomes words. Two
 * forms of word are known, bare and "quoted" whole; each has an alphabet, and any byte outside it
 * is refused. Nothing is expanded. */
#ifndef ENTRYPOINT_MPI_SHELL_WORDS_H
#define ENTRYPOINT_MPI_SHELL_WORDS_H

#include "common/error.h"

#include <stddef.h>

enum { GATE_COMMAND_MAX = 64 * 1024, SHELL_WORDS_MAX = 256 };

struct shell_words {
    char *text;                         /* owned; what items point into */
    const char *items[SHELL_WORDS_MAX]; /* without quotes; items[0] is the daemon */
    size_t count;
};

void shell_words_done(struct shell_words *w);
int shell_words_split(const char *command, size_t size, struct shell_words *ret, struct error *err);

/* An error with code EXIT_CODE_INTERNAL that shows WORD's first SIZE bytes. */
int shell_words_refuse(const char *word, size_t size, const char *why, struct error *err);

#define cleanup_shell_words __attribute__((cleanup(shell_words_done)))

#endif

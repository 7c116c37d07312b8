/* Errors as values, with a message and an exit code.
 *
 * A function that may fail returns 0 or -1 and fills the struct error that it was given. Nothing is
 * allocated, so that running out of memory can be reported too.
 *
 *     if (json_load_file(path, &root, err) != 0)
 *         return error_wrap(err, "reading the cluster");
 *
 * Library code never prints an error and never exits; one place in each program does. `code` is the
 * exit code the program should leave with. */
#ifndef COMMON_ERROR_H
#define COMMON_ERROR_H

#include "common/exit_code.h"

enum { ERROR_TEXT_MAX = 768 };

struct error {
    enum exit_code code;
    int os_errno; /* 0 if no system call or allocation failed */
    char text[ERROR_TEXT_MAX];
};

/* Fills ERR (which may be NULL) and returns -1, so that `return error_set(...)` reads as one step.
 * A text too long for the buffer is cut at the end. */
int error_set(struct error *err, enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: appends ": " and the words for errno. Keeps errno. ENOMEM is
 * no internal error: its code is that of error_no_memory. */
int error_set_errno(struct error *err, enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prepends "CONTEXT: " to the text; returns -1. A text too long for the buffer is cut at the end.
 */
int error_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports that memory ran out for WHAT. The code is EXIT_CODE_CONFIG, because a larger machine or
 * limit is the remedy; os_errno is ENOMEM. */
int error_no_memory(struct error *err, const char *what);

/* Replaces the code of an error, as the caller knows the remedy better; returns -1. */
int error_recode(struct error *err, enum exit_code code);

#endif

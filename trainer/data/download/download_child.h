/* The program ringmaster-transfer as a child: it has libcurl, so that this program needs none.
 *
 * It lies beside this program or in a folder of PATH, and gets its order
 * (entrypoint/transfer/download_order.h) in sealed memory: no command line or environment has the
 * password. It is killed if this process ends. */
#ifndef TRAINER_DATA_DOWNLOAD_DOWNLOAD_CHILD_H
#define TRAINER_DATA_DOWNLOAD_DOWNLOAD_CHILD_H

#include "common/error.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* Sets RET to the program's path. PATH is a list of folders, as in the environment; may be NULL. An
 * error, with EXIT_CODE_NOT_FOUND, says where it was looked for. */
int download_child_find(const char *path, char ret[PATH_MAX], struct error *err);

struct download_child_options {
    const char *program;
    const char *order; /* JSON */
    int64_t seconds;   /* after which it is killed */
    /* Gets each line of its standard output, without the line end. */
    void (*mark)(void *context, const char *line);
    /* Gets each line of its standard error but the last one, which says why it failed. */
    void (*say)(void *context, const char *line);
    void *context;
};

/* Runs it to its end. Its own last line and exit code become the error. */
int download_child_run(const struct download_child_options *options, struct error *err);

#endif

/* Directories in which programs find libraries, in the loader's order: those of LD_LIBRARY_PATH,
 * then the usual ones of the library in question. Nothing is opened here: some may not exist. */
#ifndef ENTRYPOINT_JOB_MACHINE_LIBRARY_FOLDERS_H
#define ENTRYPOINT_JOB_MACHINE_LIBRARY_FOLDERS_H

#include <limits.h>

struct library_folders {
    const char *root;
    const char *rest;         /* of LD_LIBRARY_PATH; NULL: nothing is left */
    const char *const *usual; /* the next one */
    char path[PATH_MAX];      /* the one returned last */
};

/* Begins with the first. USUAL: absolute paths, NULL at the end. ROOT is put before absolute ones:
 * "" except in tests. All of them, and ENVIRONMENT, must outlive F. */
void library_folders_begin(struct library_folders *f, const char *root, char *const *environment,
                           const char *const *usual);

/* Returns the next one, valid until the next call; NULL after the last. An empty or relative one is
 * relative to the current directory, as for the loader. One that is too long for the kernel is
 * skipped. */
const char *library_folders_next(struct library_folders *f);

#endif

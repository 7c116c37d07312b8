/* The folders in which programs find their libraries, in the loader's order: those of
 * LD_LIBRARY_PATH, then the usual ones of the library that is looked for. Nothing is opened here:
 * some of them may not be there. */
#ifndef ENTRYPOINT_JOB_MACHINE_LIBRARY_FOLDERS_H
#define ENTRYPOINT_JOB_MACHINE_LIBRARY_FOLDERS_H

#include <limits.h>

struct library_folders {
    const char *root;
    const char *rest;         /* of LD_LIBRARY_PATH; NULL: nothing is left */
    const char *const *usual; /* the next one */
    char path[PATH_MAX];      /* the one that was asked for last */
};

/* Begins with the first. USUAL: absolute paths, NULL behind the last. ROOT is put in front of
 * absolute ones: "" but in tests. All of them, and ENVIRONMENT, have to outlive F. */
void library_folders_begin(struct library_folders *f, const char *root, char *const *environment,
                           const char *const *usual);

/* The next one, valid until the one after it is asked for; NULL behind the last. An empty or
 * relative one is from where this process is, as it is to the loader. One that is too long for the
 * kernel is left out. */
const char *library_folders_next(struct library_folders *f);

#endif

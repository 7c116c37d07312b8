/* Frames of Python's call stacks.
 *
 * A frame is one of the program's own code or of a library's:
 *
 *   File "/code/train.py", line 12, in <module>
 *
 * The frame to look at first is one of the program's own folders; next one that is no library's
 * (frozen modules, the standard library, site-packages, entry points in bin). */
#ifndef ENTRYPOINT_OUTCOME_TRACEBACK_FRAME_H
#define ENTRYPOINT_OUTCOME_TRACEBACK_FRAME_H

#include "common/argv.h"

#include <stdbool.h>
#include <stddef.h>

enum { TRACEBACK_FOLDER_SIZE = 1024, TRACEBACK_FILE_MOST = 80 };

/* Where a program's own code lies, besides relative paths. "": not known. */
struct traceback_folders {
    char script[TRACEBACK_FOLDER_SIZE];
    char working[TRACEBACK_FOLDER_SIZE];
};

/* Finds the folder of the first word of PROGRAM that names a Python file, and takes DIRECTORY,
 * absolute, in which it runs, unless that is the root. */
void traceback_folders_find(const struct argv *program, const char *directory,
                            struct traceback_folders *ret);
/* The same for a program that runs in DIRECTORY; NULL: in this process's. */
void traceback_folders_here(const struct argv *program, const char *directory,
                            struct traceback_folders *ret);

/* In the order of what tells more. */
enum traceback_origin { TRACEBACK_NONE, TRACEBACK_LIBRARY, TRACEBACK_ELSEWHERE, TRACEBACK_OWN };

struct traceback_frame {
    enum traceback_origin origin;       /* TRACEBACK_NONE: there is no frame */
    char file[TRACEBACK_FILE_MOST + 1]; /* the end of its path, whole characters */
    unsigned line;
    bool named; /* it names a function, as all do but those of errors of syntax */
};

/* Reads TEXT, a line without its end. Returns false if it is no frame. */
bool traceback_frame_read(const char *text, const struct traceback_folders *folders,
                          struct traceback_frame *ret);

#endif

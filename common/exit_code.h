/* Exit codes of ringmaster and ringtrain, in one table.
 *
 * Programs, help texts and documents use it.
 *
 * Codes of the user's program pass unchanged, except 130, which becomes 1: the SageMaker SDK's
 * local mode takes 130 for success. A program that died of signal n counts as 128 + n. */
#ifndef COMMON_EXIT_CODE_H
#define COMMON_EXIT_CODE_H

#include <stdbool.h>
#include <stddef.h>

enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_USAGE = 64,       /* command line */
    EXIT_CODE_CONFIG = 65,      /* cluster description, JSON, variables, ports; a full disk, too
                                 little memory */
    EXIT_CODE_DATA = 66,        /* input data and checkpoints */
    EXIT_CODE_NOT_READY = 69,   /* hosts missing at the deadline, or a stalled download */
    EXIT_CODE_INTERNAL = 70,    /* a fault in this program, or in the system below it */
    EXIT_CODE_DEVICE = 72,      /* device missing or unfit */
    EXIT_CODE_HOST_LOST = 73,   /* a host of the running job vanished */
    EXIT_CODE_STALLED = 74,     /* no progress within the limit */
    EXIT_CODE_UPLOAD = 75,      /* the output of the job was not uploaded */
    EXIT_CODE_KEY_REFUSED = 77, /* control link authentication */
    EXIT_CODE_NOT_EXECUTABLE = 126,
    EXIT_CODE_NOT_FOUND = 127,
    EXIT_CODE_STOPPED = 143, /* stopped before the end, with a checkpoint */
};

struct exit_code_row {
    int code;
    const char *class_name; /* first word of the failure file */
    const char *meaning;
    bool trainer; /* also an exit code of ringtrain */
};

/* All rows, sorted by code. */
const struct exit_code_row *exit_code_table(size_t *ret_count);

/* The class of CODE: a row's class, "signal" for 129..192, else "program". Never NULL. */
const char *exit_code_class(int code);

#endif

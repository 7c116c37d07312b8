/* Program that runs on every slot, as an argv.
 *
 * No shell ever sees it.
 *
 *   train -- PROGRAM ARGS   PROGRAM ARGS, exactly
 *   train FLAGS             sagemaker_program, if that hyperparameter (or the variable
 *                           SAGEMAKER_PROGRAM) is there, with the other hyperparameters as flags
 *                           and FLAGS after them; else ringtrain train HYPERPARAMETERS FLAGS
 *
 * sagemaker_program is looked up in sagemaker_submit_directory (or SAGEMAKER_SUBMIT_DIRECTORY),
 * BASE/code, BASE/input/data/code (the channel "code") and PATH. X.py runs as `python3 X.py`. In a
 * folder that is a Python package (python_code.h) it runs as `python3 -m X`, which needs no file of
 * that name there.
 *
 * A script that names its interpreter (#!) runs with that one, as the kernel would do it. Neither
 * the file's mode nor a folder that programs may not be run from matters then. X.sh that names none
 * runs as `sh X.sh`; anything else must be executable.
 *
 * Not found is exit code 127, not executable 126. Code that came as an archive lies in BASE/code
 * when this is asked (download_sources.h). */
#ifndef ENTRYPOINT_JOB_USER_PROGRAM_H
#define ENTRYPOINT_JOB_USER_PROGRAM_H

#include "common/argv.h"
#include "common/error.h"
#include "entrypoint/job/python_code.h"
#include "entrypoint/job/sagemaker/sagemaker_request.h"

#include <stdbool.h>

struct user_program_inputs {
    const char *const *arguments; /* the words after `train`, NULL at the end */
    const struct sagemaker_request *request;
    const char *base_dir;     /* /opt/ml */
    char *const *environment; /* for PATH */
    const char *ringtrain;    /* path of the trainer; NULL: looked up in PATH */
};

struct user_program {
    struct argv argv;
    char *directory;   /* owned; where it runs: the folder of sagemaker_program; else NULL */
    char *entry_point; /* owned; sagemaker_program as given, for SM_USER_ENTRY_POINT; or NULL */
    char *root;        /* owned; the folder of code that sagemaker_program was found in; or NULL */
    struct python_code code; /* what that asks for before the program can run */
    struct argv user_args;   /* what follows the program's name, for SM_USER_ARGS */
    bool is_trainer;         /* `train FLAGS` that runs ringtrain: its ranks report progress */
    bool needs_no_mpi; /* the program is ringtrain, named either way, and no flag of it asks for
                          MPI: without mpirun its ranks find each other over TCP */
};

void user_program_done(struct user_program *p);
int user_program_resolve(const struct user_program_inputs *in, struct user_program *ret,
                         struct error *err);

/* The executable called NAME, as an absolute path: from the current folder if it holds a '/', else
 * searched in PATH (NULL: a default). Not found is 127, not executable 126. The caller frees
 * *RET. */
int user_program_find(const char *name, const char *path, char **ret, struct error *err);

#endif

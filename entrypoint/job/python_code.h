/* Requirements of a directory of Python code.
 *
 * They are read as SageMaker's training toolkit reads them. One is requirements.txt, which pip
 * installs. The other is a setup.py (or a pyproject.toml with build settings, as others only
 * configure tools), which makes the directory a package. That is installed, and the program runs as
 * a module of it. */
#ifndef ENTRYPOINT_JOB_PYTHON_CODE_H
#define ENTRYPOINT_JOB_PYTHON_CODE_H

#include "common/argv.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { PYTHON_MODULE_MAX = 256 };

struct python_code {
    bool requirements;
    bool package;
};

/* Looks for them; a missing directory requires nothing. It is an error (EXIT_CODE_CONFIG) if the
 * system does not let us read something. */
int python_code_look(const char *folder, struct python_code *ret, struct error *err);

/* Writes the module name for NAME ("train.py", "tool.train"); returns false if there can be none.
 */
bool python_code_module(const char *name, char ret[PYTHON_MODULE_MAX]);

/* Builds the pip command for the requirements of FOLDER. */
int python_code_pip(const char *python, const char *folder, const struct python_code *code,
                    struct argv *ret, struct error *err);

/* Registers secrets in package addresses ("https://user:secret@host/"), in FOLDER's requirements
 * and in ENVIRONMENT (PIP_INDEX_URL and the like), with redact.h. */
int python_code_redact(const char *folder, char *const *environment, struct error *err);

#endif

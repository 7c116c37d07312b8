/* What a folder of Python code asks for beside its program, as SageMaker's training toolkit reads
 * it: requirements.txt, which pip installs, and a setup.py (or a pyproject.toml that says how it is
 * built, as others only configure tools), which makes the folder a package: it is installed, and
 * the program runs as a module of it. */
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

/* What is there; a folder that is missing asks for nothing. What the system does not let us read is
 * an error (EXIT_CODE_CONFIG). */
int python_code_look(const char *folder, struct python_code *ret, struct error *err);

/* The module that NAME ("train.py", "tool.train") stands for; false where it can be none. */
bool python_code_module(const char *name, char ret[PYTHON_MODULE_MAX]);

/* pip's words for what FOLDER asks for. */
int python_code_pip(const char *python, const char *folder, const struct python_code *code,
                    struct argv *ret, struct error *err);

/* Secrets in addresses of packages ("https://user:secret@host/"), in FOLDER's requirements and in
 * ENVIRONMENT (PIP_INDEX_URL and the like), are registered with redact.h. */
int python_code_redact(const char *folder, char *const *environment, struct error *err);

#endif

/* Parser of SageMaker's hyperparameters.json: one flat object. Three spellings reach a container:
 * text as it is (SDK v3, service), str() of a Python value (generic Estimator), and JSON in a
 * string ("\"abc\"", Estimator with source_dir). The rule for texts and numbers: a value arrives as
 * it was sent, but for the quotes of a JSON string, which are taken off. true, false, lists and
 * objects arrive as SageMaker's toolkit hands them on: flags in Python's spelling (python_repr.h),
 * variables as compact JSON. null, which both SDKs make of None, counts as not given: an empty text
 * for programs, as in the toolkit; no flag for ringtrain, so that its own value stays; and as if it
 * were not there where it is for Ringmaster. Integers may have any size: in `root` those beyond 64
 * bits are as big_integers.h has them.
 *
 * Ceilings and a strict grammar of names: `[A-Za-z0-9_][A-Za-z0-9_.:-]*`, at most 256 bytes, or
 * nothing, which is a flag without a name as in the toolkit. The service allows others: they are in
 * SM_HPS, but become neither flag nor variable of their own.
 *
 * Parameters called sagemaker_*, default_user_module_name and _tuning_objective_metric are for
 * Ringmaster and are hidden from the program. */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_HYPERPARAMETERS_H
#define ENTRYPOINT_JOB_SAGEMAKER_HYPERPARAMETERS_H

#include "common/argv.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    HYPERPARAMETERS_MAX = 256,
    HYPERPARAMETER_NAME_MAX = 256,
    HYPERPARAMETER_VALUE_MAX = 64 * 1024,
};

struct hyperparameter {
    const char *name; /* borrowed from root */
    char *text;       /* owned */
    char *flag;       /* owned; what it is as a flag's value; NULL: the text */
    bool null;        /* and TEXT is empty */
    bool hidden;
    bool odd; /* a name outside the grammar: neither flag nor variable of its own */
};

struct hyperparameters {
    json_t *root;                 /* owned; the object as read; NULL if there was no file */
    struct hyperparameter *items; /* owned; in byte order of names */
    size_t count;
    size_t ignored;            /* names outside the grammar */
    const char *first_ignored; /* one of them, borrowed from root */
};

void hyperparameters_done(struct hyperparameters *h);

/* A file that does not exist is no parameters. */
int hyperparameters_read(const char *path, struct hyperparameters *ret, struct error *err);
int hyperparameters_parse(const char *bytes, size_t size, const char *source,
                          struct hyperparameters *ret, struct error *err);

/* The text of a parameter, hidden or not; NULL if absent or null. */
const char *hyperparameters_get(const struct hyperparameters *h, const char *name);

/* Appends `--name value` for every parameter that is not hidden, `-n value` for one letter. NULLS:
 * those that are null, too. */
int hyperparameters_add_flags(const struct hyperparameters *h, bool nulls, struct argv *ret,
                              struct error *err);

#endif

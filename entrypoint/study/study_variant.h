/* A variant of the program that `ringmaster scaling` measures: `--variant NAME=WORDS`.
 *
 * WORDS follow the program's own, and lie between blanks; nothing is quoted. The first of them may
 * be variables, NAME=VALUE with a name in capitals, as before a command of a shell:
 *
 *     --variant tree='NCCL_ALGO=Tree --batch 64' */
#ifndef ENTRYPOINT_STUDY_STUDY_VARIANT_H
#define ENTRYPOINT_STUDY_STUDY_VARIANT_H

#include "common/argv.h"
#include "common/error.h"
#include "common/scaling/scaling_variants.h"

/* Adds the name of TEXT. EXIT_CODE_USAGE. */
int study_variant_name(const char *text, struct scaling_names *names, struct error *err);

/* Appends the words of TEXT, which has a name, to ENVIRONMENT and WORDS. */
int study_variant_words(const char *text, struct argv *environment, struct argv *words,
                        struct error *err);

#endif

/* A rank of `ringmaster trials` or `ringmaster scaling`: the first one leads, all have a slot in
 * which the program runs. */
#ifndef ENTRYPOINT_STUDY_STUDY_H
#define ENTRYPOINT_STUDY_STUDY_H

#include "common/error.h"

/* WORDS are the command's name and its words. */
int study_run(const char *const *words, struct error *err);

#endif

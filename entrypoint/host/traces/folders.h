/* The folders that a job leaves its work in. */
#ifndef TRACES_FOLDERS_H
#define TRACES_FOLDERS_H

#include "common/error.h"

/* Gives those below BASE that are there to the user that programs run as (os/identity.h), but not
 * what lies in them. */
int folders_give(const char *base, struct error *err);

#endif

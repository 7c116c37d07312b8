/* Names that torchvision's detectors had before version 0.12, under which many files still lie. */
#ifndef RUN_OLD_NAMES_H
#define RUN_OLD_NAMES_H

#include "checkpoint/array.h"

#include <stdbool.h>

/* Whether NAME was another one then; fills it in. */
bool old_name(const char *name, char ret_old[ARRAY_NAME_MAX]);

#endif

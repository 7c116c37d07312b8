/* The version of what this trainer writes: checkpoints, model.safetensors and config.json carry it.
 * Files without one are of version 1, which is read as well: their states know no courses, and
 * nothing ties a model's two files together. A file of a later version is refused by name. */
#ifndef TRAINER_CHECKPOINT_FORMAT_VERSION_H
#define TRAINER_CHECKPOINT_FORMAT_VERSION_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Key in a safetensors file's metadata (as text) and in config.json (as a number). */
#define FORMAT_VERSION_KEY "format_version"

#define FORMAT_VERSION 2
enum { FORMAT_VERSION_FIRST = 1 };

/* A macro's value as text. */
#define FORMAT_VERSION_QUOTE(number) #number
#define FORMAT_VERSION_QUOTED(macro) FORMAT_VERSION_QUOTE(macro)
#define FORMAT_VERSION_TEXT FORMAT_VERSION_QUOTED(FORMAT_VERSION)

struct safetensors;

/* Refuses (EXIT_CODE_DATA) what is not a version that is read here; PATH names the file. */
int format_version_check(int64_t version, const char *path, struct error *err);
/* The same for what the metadata of FILE says. *RET_NEWER tells a later version from nonsense. */
int format_version_check_file(const struct safetensors *file, bool *ret_newer, struct error *err);

#endif

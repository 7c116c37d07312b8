/* Version of this trainer's file formats, stored in checkpoints, model.safetensors and
 * config.json. Files without one have version 1, which is read as well: their states have no
 * lineage, and nothing ties a model's two files together. A later version is refused with a
 * message that names it. */
#ifndef TRAINER_CHECKPOINT_FORMAT_VERSION_H
#define TRAINER_CHECKPOINT_FORMAT_VERSION_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Key in a safetensors file's metadata (as text) and in config.json (as a number). */
#define FORMAT_VERSION_KEY "format_version"

#define FORMAT_VERSION 2
enum { FORMAT_VERSION_FIRST = 1 };

/* Expands a macro's value as text. */
#define FORMAT_VERSION_QUOTE(number) #number
#define FORMAT_VERSION_QUOTED(macro) FORMAT_VERSION_QUOTE(macro)
#define FORMAT_VERSION_TEXT FORMAT_VERSION_QUOTED(FORMAT_VERSION)

struct safetensors;

/* Fails (EXIT_CODE_DATA) for a version that cannot be read here; PATH names the file. */
int format_version_check(int64_t version, const char *path, struct error *err);
/* The same for the version in the metadata of FILE. *RET_NEWER distinguishes a later version from
 * an invalid one. */
int format_version_check_file(const struct safetensors *file, bool *ret_newer, struct error *err);

#endif

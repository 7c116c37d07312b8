/* A gzip file, unpacked into a plain one. */
#ifndef TRAINER_DATA_ARCHIVE_GUNZIP_H
#define TRAINER_DATA_ARCHIVE_GUNZIP_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Returns true if the file at PATH begins as gzip's do; false for one that cannot be read. */
bool gunzip_is(const char *path);

/* Sets *RET to the bytes that the unpacked file will have: gzip tells them modulo 2^32, so that
 * one of more than 4 GiB is estimated from below. */
int gunzip_size(const char *path, int64_t *ret, struct error *err);

/* Unpacks the file FROM to TO, which appears whole or not at all. The checksum is verified. Errors
 * name the file: EXIT_CODE_DATA for its content. */
int gunzip_file(const char *from, const char *to, struct error *err);

#endif

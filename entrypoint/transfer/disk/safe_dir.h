/* Path resolution below one directory for untrusted names: a path is walked part by part from a
 * descriptor, each part a plain name, and no link is followed. */
#ifndef ENTRYPOINT_TRANSFER_DISK_SAFE_DIR_H
#define ENTRYPOINT_TRANSFER_DISK_SAFE_DIR_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAFE_DIR_DEPTH_MAX = 64, SAFE_DIR_NAME_MAX = 255 };

/* Opens the directory PATH, created if missing; this path is trusted. -1 on failure. */
int safe_dir_open(const char *path, struct error *err);

/* Returns true if it is empty, except for names that begin with IGNORED. */
bool safe_dir_is_empty(int folder, const char *ignored);

/* Opens the directory below ROOT that holds the last part of PATH, creating missing ones; that part
 * is copied to NAME. Returns -1 if a part is invalid ("", ".", "..", too long, more than
 * SAFE_DIR_DEPTH_MAX) or in the way. */
int safe_dir_enter(int root, const char *path, char name[SAFE_DIR_NAME_MAX + 1], struct error *err);
/* The same if the directories exist; else -1, and none is created. */
int safe_dir_find(int root, const char *path, char name[SAFE_DIR_NAME_MAX + 1]);

/* Fails if the disk below ROOT has no room for BYTES more. */
int safe_dir_check_room(int root, int64_t bytes, struct error *err);

#endif

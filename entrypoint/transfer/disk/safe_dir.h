/* Where strangers' names may lead: below one folder and nowhere else. A path is walked part by part
 * from a descriptor, each part a plain name, and no link is followed, whoever made it. */
#ifndef ENTRYPOINT_TRANSFER_DISK_SAFE_DIR_H
#define ENTRYPOINT_TRANSFER_DISK_SAFE_DIR_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAFE_DIR_DEPTH_MAX = 64, SAFE_DIR_NAME_MAX = 255 };

/* Opens the folder PATH, made where it is missing; this path is trusted. -1 on failure. */
int safe_dir_open(const char *path, struct error *err);

/* Nothing in it, or nothing but what has a name that begins with IGNORED. */
bool safe_dir_is_empty(int folder, const char *ignored);

/* Opens the folder below ROOT that holds the last part of PATH, and makes what is missing on the
 * way; that part is copied to NAME. -1 where a part is none ("", ".", "..", too long, more than
 * SAFE_DIR_DEPTH_MAX) or in the way. */
int safe_dir_enter(int root, const char *path, char name[SAFE_DIR_NAME_MAX + 1], struct error *err);
/* The same where the folders are there; else -1, and none is made. */
int safe_dir_find(int root, const char *path, char name[SAFE_DIR_NAME_MAX + 1]);

/* Fails where the disk below ROOT has no room for BYTES more. */
int safe_dir_check_room(int root, int64_t bytes, struct error *err);

#endif

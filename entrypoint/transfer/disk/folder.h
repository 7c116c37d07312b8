/* Where strangers' names may lead: below one folder and nowhere else. A path is walked part by part
 * from a descriptor, each part a plain name, and no link is followed, whoever made it. */
#ifndef DISK_FOLDER_H
#define DISK_FOLDER_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FOLDER_DEPTH_MAX = 64, FOLDER_NAME_MAX = 255 };

/* Opens the folder PATH, made where it is missing; this path is trusted. -1 on failure. */
int folder_open(const char *path, struct error *err);

/* Nothing in it, or nothing but what has a name that begins with IGNORED. */
bool folder_is_empty(int folder, const char *ignored);

/* Opens the folder below ROOT that holds the last part of PATH, and makes what is missing on the
 * way; that part is copied to NAME. -1 where a part is none ("", ".", "..", too long, more than
 * FOLDER_DEPTH_MAX) or in the way. */
int folder_enter(int root, const char *path, char name[FOLDER_NAME_MAX + 1], struct error *err);
/* The same where the folders are there; else -1, and none is made. */
int folder_find(int root, const char *path, char name[FOLDER_NAME_MAX + 1]);

/* Fails where the disk below ROOT has no room for BYTES more. */
int folder_check_room(int root, int64_t bytes, struct error *err);

#endif

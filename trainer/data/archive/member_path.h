/* Checks of archive members' paths, which are foreign text.
 *
 * Called before a file is made from such a path. */
#ifndef TRAINER_DATA_ARCHIVE_MEMBER_PATH_H
#define TRAINER_DATA_ARCHIVE_MEMBER_PATH_H

#include <stdbool.h>

/* Returns true if PATH stays below the folder that it is relative to, and names a file: it does
 * not begin with a slash, and no part of it is empty, "." or "..", or longer than a name may be. */
bool member_path_is_safe(const char *path);

/* Returns true if NAME can be one part of such a path. */
bool member_path_is_name(const char *name);

#endif

/* Files and descriptors: complete reads and writes, atomic replacement, and bounded sizes. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The exit code for a failure to write with this errno: EXIT_CODE_CONFIG where the place that was
 * named does not take it (full, broken, read-only, missing, not allowed), else EXIT_CODE_INTERNAL.
 */
enum exit_code file_write_code(int number);

/* Writes all SIZE bytes, through EINTR and short writes. */
int file_write_all(int fd, const void *bytes, size_t size, struct error *err);
/* Reads exactly SIZE bytes; an earlier end of file is an error. */
int file_read_exact(int fd, void *bytes, size_t size, struct error *err);

/* Appends the whole regular file PATH to OUT, whose ceiling bounds it. FIFOs, devices and sockets
 * are refused without blocking. The error names PATH. */
int file_read(const char *path, struct buf *out, struct error *err);

/* Replaces PATH by SIZE bytes so that a reader, also after a crash, sees the old or the new file:
 * temporary file in the same folder, write, fsync, rename, fsync of the folder. */
int file_publish(const char *path, const void *bytes, size_t size, mode_t mode, struct error *err);

/* Makes PATH anew with SIZE bytes, without waiting for a disk: for what is of no use after a crash.
 * What was there is removed first, so that no link is followed. */
int file_put(const char *path, const void *bytes, size_t size, mode_t mode, struct error *err);

/* The same as file_publish for content that is streamed: file_publish_open makes the temporary file
 * (its name is written to TEMP: PATH.partial-XXXXXX) and returns its descriptor, or -1;
 * file_publish_commit syncs, renames and closes; file_publish_abort removes and closes. */
int file_publish_open(const char *path, char temp[4096], mode_t mode, struct error *err);
int file_publish_commit(int fd, const char *temp, const char *path, struct error *err);
void file_publish_abort(int fd, const char *temp);

/* Removes the temporary files that killed publishes have left in FOLDER, of files whose names
 * IS_OURS. What a living process writes, here or on a host that shares the folder, stays. */
void file_tidy(const char *folder, bool (*is_ours)(const char *name));

/* Makes the folder and its parents (0755 less umask), to last; existing folders are fine. */
int file_make_dirs(const char *path, struct error *err);

/* The path of this process's own program; SIZE bytes of room, PATH_MAX are enough. */
int file_self(char *path, size_t size, struct error *err);

/* Marks every descriptor above 2 close-on-exec. */
void file_cloexec_all(void);

#endif

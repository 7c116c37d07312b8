/* Input and output of files and descriptors: complete reads and writes, atomic replacement, and
 * bounded sizes. */
#ifndef COMMON_FILE_FILE_H
#define COMMON_FILE_FILE_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The exit code for a write that failed with this errno: EXIT_CODE_CONFIG if the given place does
 * not accept it (full, broken, read-only, missing, no permission), else EXIT_CODE_INTERNAL. */
enum exit_code file_write_code(int number);

/* Writes all SIZE bytes and continues after EINTR and short writes. */
int file_write_all(int fd, const void *bytes, size_t size, struct error *err);
/* Reads exactly SIZE bytes; an earlier end of file is an error. */
int file_read_exact(int fd, void *bytes, size_t size, struct error *err);

/* Appends the regular file PATH to OUT, up to OUT's maximum size. Refuses FIFOs, devices and
 * sockets without blocking. The error names PATH. */
int file_read(const char *path, struct buf *out, struct error *err);

/* Replaces PATH with SIZE bytes atomically: a reader sees either the old or the new file, also
 * after a crash. Writes a temporary file in the same folder, then fsync, rename, and fsync of the
 * folder. */
int file_publish(const char *path, const void *bytes, size_t size, mode_t mode, struct error *err);

/* Creates PATH with SIZE bytes, without waiting for the disk: for files that are useless after a
 * crash. An existing file is removed first, so that no link is followed. */
int file_put(const char *path, const void *bytes, size_t size, mode_t mode, struct error *err);

/* file_publish for streamed content: file_publish_open makes the temporary file (its name is
 * written to TEMP: PATH.partial-XXXXXX) and returns its descriptor, or -1; file_publish_commit
 * syncs, renames and closes; file_publish_abort removes and closes. */
int file_publish_open(const char *path, char temp[4096], mode_t mode, struct error *err);
int file_publish_commit(int fd, const char *temp, const char *path, struct error *err);
void file_publish_abort(int fd, const char *temp);

/* Removes temporary files left in FOLDER by killed processes, if IS_OURS accepts the name. Files
 * that a living process is writing, on this host or another that shares the folder, stay. */
void file_tidy(const char *folder, bool (*is_ours)(const char *name));

/* Makes the folder and its parents (0755 less umask) and syncs them to disk; existing folders are
 * fine. */
int file_make_dirs(const char *path, struct error *err);

/* Writes the path of this process's own program to PATH, which has room for SIZE bytes; PATH_MAX is
 * enough. */
int file_self(char *path, size_t size, struct error *err);

#endif

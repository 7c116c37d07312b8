/* List of the complete regular files in an output directory.
 *
 * The directory is walked from a descriptor without following links. Names of incomplete files are
 * skipped: those that begin with a dot, end with ".tmp" or ".part" or hold ".partial-", which is
 * how checkpoints and models are published. An unreadable entry is reported, and the rest is
 * listed. */
#ifndef ENTRYPOINT_TRANSFER_DISK_SCAN_H
#define ENTRYPOINT_TRANSFER_DISK_SCAN_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { SCAN_MAX = 1000 * 1000 }; /* files in all */

/* Stays the same as long as no process writes to the file. */
struct scan_stamp {
    dev_t device;
    ino_t inode;
    int64_t size;
    struct timespec modified;
    struct timespec changed;
};

struct scan_file {
    char *path; /* owned; below the folder */
    struct scan_stamp stamp;
    bool there; /* the target has the same file, as the uploader sets */
};

struct scan {
    struct scan_file *items; /* owned; by path */
    size_t count;
    size_t capacity;
    size_t odd;     /* skipped: links, devices and the like */
    char first[64]; /* the beginning of the first of these names, printable */
    size_t missed;  /* unreadable directories and paths, and files beyond the most */
    struct error first_missed;
};

void scan_done(struct scan *l);
/* A missing directory is empty. Of more than SCAN_MAX files the first that are found are listed,
 * and the others counted as missed. */
int scan_read(const char *folder, struct scan *ret, struct error *err);
/* The same with another limit. */
int scan_read_some(const char *folder, size_t most, struct scan *ret, struct error *err);

/* Lists a single file of FOLDER, or nothing if it is missing. */
int scan_read_one(const char *folder, const char *path, struct scan *ret, struct error *err);

/* Returns NULL if it is not there. */
const struct scan_file *scan_find(const struct scan *l, const char *path);

void scan_stamp(const struct stat *st, struct scan_stamp *ret);
bool scan_same(const struct scan_stamp *a, const struct scan_stamp *b);

/* Opens it for reading, without following links; -1 on failure. */
int scan_open(const char *folder, const char *path, struct error *err);

/* Returns true if no process has the file FD open for writing; if the kernel cannot tell, if it has
 * been unchanged for SCAN_QUIET_SECONDS. NOW is in nanoseconds since 1970. */
enum { SCAN_QUIET_SECONDS = 10 };
bool scan_at_rest(int fd, const struct scan_stamp *stamp, int64_t now);

#endif

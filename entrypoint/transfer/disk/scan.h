/* What a program has left in a folder, to be uploaded: its plain files, by walking it from a
 * descriptor without following links. Names of files that are not whole yet are left out:
 * those that begin with a dot, end with ".tmp" or ".part" or hold ".partial-" (which is how
 * checkpoints and models are published). What cannot be looked at is named, and the rest is found.
 */
#ifndef ENTRYPOINT_TRANSFER_DISK_SCAN_H
#define ENTRYPOINT_TRANSFER_DISK_SCAN_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { SCAN_MAX = 1000 * 1000 }; /* files in all */

/* What is the same as long as nobody has written to the file. */
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
    bool there; /* the same lies at the target; whoever uploads says so */
};

struct scan {
    struct scan_file *items; /* owned; by path */
    size_t count;
    size_t capacity;
    size_t odd;     /* links, devices and the like, which are left out */
    char first[64]; /* of these, the beginning of a name that may be shown */
    size_t missed;  /* folders and paths that could not be looked at */
    struct error first_missed;
};

void scan_done(struct scan *l);
/* A folder that is not there holds nothing. */
int scan_read(const char *folder, struct scan *ret, struct error *err);

/* One file of FOLDER alone, or none where it is not there. */
int scan_read_one(const char *folder, const char *path, struct scan *ret, struct error *err);

/* NULL where it is not there. */
const struct scan_file *scan_find(const struct scan *l, const char *path);

void scan_stamp(const struct stat *st, struct scan_stamp *ret);
bool scan_same(const struct scan_stamp *a, const struct scan_stamp *b);

/* Opens it for reading, without following links; -1 on failure. */
int scan_open(const char *folder, const char *path, struct error *err);

/* Whether nobody has the file FD open for writing. Where the kernel cannot tell, whether it has
 * been left alone for SCAN_QUIET_SECONDS. NOW is in nanoseconds since 1970. */
enum { SCAN_QUIET_SECONDS = 10 };
bool scan_at_rest(int fd, const struct scan_stamp *stamp, int64_t now);

#endif

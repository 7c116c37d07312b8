/* Folder of the first host that reaches all others (address first:///PATH).
 *
 * The first host lists the folder and offers the list, then each file, once its SHA-256 is known,
 * to the hosts below it in the tree (peers/sharing.h). Another host gets the list first, passes it
 * on, and then fetches every file of it that it lacks (fetch/prefix.h). Files keep the time of
 * their last change, by which, with the size, a later start knows those that are here.
 *
 * The list has a line a file, sorted by path: "SIZE SECONDS PATH", the seconds since 1970, the path
 * percent-encoded. Hidden and unfinished files, links and devices are left out (disk/scan.h). */
#ifndef ENTRYPOINT_TRANSFER_FETCH_FIRST_FOLDER_H
#define ENTRYPOINT_TRANSFER_FETCH_FIRST_FOLDER_H

#include "common/buf.h"
#include "entrypoint/transfer/disk/scan.h"
#include "entrypoint/transfer/peers/sharing.h"
#include "entrypoint/transfer/s3/objects.h"

/* The list's name among the files of its task. */
#define FIRST_FOLDER_LIST ".ringmaster-list"

enum {
    FIRST_FOLDER_FILES_MAX = 2 * 1000 * 1000,
    FIRST_FOLDER_LIST_MAX = 512 * 1024 * 1024, /* bytes */
};

/* Appends the list of FILES to OUT. */
int first_folder_print(const struct scan *files, struct buf *out, struct error *err);
/* Reads a list. The ETag of a file is "SIZE-SECONDS". Errors have EXIT_CODE_DATA and a line. */
int first_folder_parse(const char *text, size_t size, struct objects *ret, struct error *err);

/* Computes the SHA-256 of the SIZE bytes of FD. TURN is called after each block. */
int first_folder_digest(int fd, int64_t size, void (*turn)(void *context), void *context,
                        char ret[DIGEST_HEX_MAX], struct error *err);

/* Returns true, with its SHA-256, if OBJECT's file is at PATH below ROOT with its size and time. */
bool first_folder_has(int root, const char *path, const struct object *object,
                      void (*turn)(void *context), void *context, char ret[DIGEST_HEX_MAX]);
/* Gives the fetched file the time that the list has. */
void first_folder_date(int root, const char *path, int64_t seconds);

struct first_folder_offer {
    const char *folder; /* an absolute path */
    const char *what;   /* for people */
    const char *task;   /* for other hosts */
    int64_t deadline;
    struct sharing *passing;
    void (*say)(const char *line);
    void (*mark)(const char *line); /* progress; NULL: not needed */
};

/* Offers all files of a folder, on the first host. Returns once all are offered. */
int first_folder_offer(const struct first_folder_offer *offer, struct error *err);

#endif

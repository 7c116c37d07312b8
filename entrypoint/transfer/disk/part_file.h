/* Partial file of a download: a large file that arrives in parts, in any order, and can be resumed.
 *
 * It has a name of its own beside its destination, and a note after its last byte of what it is and
 * which parts are here. A killed process leaves it, and the next one resumes it if it is of the
 * same version (ETag and size) and the machine has not been rebooted since, as unwritten data would
 * be lost then. One process has it at a time; for others it does not exist. */
#ifndef ENTRYPOINT_TRANSFER_DISK_PART_FILE_H
#define ENTRYPOINT_TRANSFER_DISK_PART_FILE_H

#include "common/error.h"
#include "entrypoint/transfer/disk/safe_dir.h"

#include <stdbool.h>
#include <stdint.h>

/* Size of a part, or more if there would be too many parts. */
#define PART_FILE_PIECE (INT64_C(16) << 20)
enum { PART_FILE_PIECES_MAX = 16384, PART_FILE_ETAG_MAX = 256 };

struct part_file {
    int folder; /* the directory of both */
    int fd;     /* -1: closed */
    int64_t size;
    int64_t piece;
    uint32_t count;
    unsigned char *here; /* owned; per part, 1 if it is here */
    char name[SAFE_DIR_NAME_MAX + 1];
    char temp[64];
};

/* Opens the file for PATH below ROOT, SIZE bytes of the version ETAG. Returns 1 if another process
 * has it, or if that is unknown. */
int part_file_open(struct part_file *f, int root, const char *path, int64_t size, const char *etag,
                   struct error *err);
/* Closes it; the file stays for the next start. */
void part_file_close(struct part_file *f);
void part_file_remove(struct part_file *f);
/* Removes what an earlier start has left for PATH, which is now downloaded in another way, unless
 * another process has it: it would occupy the disk forever. */
void part_file_forget(int root, const char *path);

/* Return where part NUMBER begins, and its size. */
int64_t part_file_begin(const struct part_file *f, uint32_t number);
int64_t part_file_length(const struct part_file *f, uint32_t number);

/* Records that all bytes of the part have been written to fd. */
int part_file_note(struct part_file *f, uint32_t number, struct error *err);

/* All parts are here and verified: gives the file its name and closes it. */
int part_file_publish(struct part_file *f, struct error *err);

/* Returns how many bytes PATH occupies on disk already, complete or in part, of its final SIZE. */
int64_t part_file_present(int root, const char *path, int64_t size);

#endif

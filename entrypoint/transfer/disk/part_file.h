/* A large file that comes in pieces, in any order: under a name of its own beside the place where
 * it is to be, with a note behind its last byte of what it is and which pieces are here. A start
 * that was killed leaves it, and the next one goes on with it, where it is of the same version
 * (ETag and size) and this machine has not been started anew since: what a disk had not been given
 * by then nobody knows. One process has it at a time; to another one it is as if it were not there.
 */
#ifndef ENTRYPOINT_TRANSFER_DISK_PART_FILE_H
#define ENTRYPOINT_TRANSFER_DISK_PART_FILE_H

#include "common/error.h"
#include "entrypoint/transfer/disk/safe_dir.h"

#include <stdbool.h>
#include <stdint.h>

/* A piece has so many bytes, or more where there would be too many. */
#define PART_FILE_PIECE (INT64_C(16) << 20)
enum { PART_FILE_PIECES_MAX = 16384, PART_FILE_ETAG_MAX = 256 };

struct part_file {
    int folder; /* that both lie in */
    int fd;     /* -1: closed */
    int64_t size;
    int64_t piece;
    uint32_t count;
    unsigned char *here; /* owned; of each piece, 1 where it is here */
    char name[SAFE_DIR_NAME_MAX + 1];
    char temp[64];
};

/* For PATH below ROOT, SIZE bytes of the version that ETAG names. 1 where another process has it,
 * or nobody could tell. */
int part_file_open(struct part_file *f, int root, const char *path, int64_t size, const char *etag,
                   struct error *err);
/* It stays, for the next start. */
void part_file_close(struct part_file *f);
void part_file_remove(struct part_file *f);
/* What an earlier start has left of PATH, which is got in another way, goes, unless another process
 * has it: it would take its room for ever. */
void part_file_forget(int root, const char *path);

/* Where piece NUMBER begins, and how many bytes it has. */
int64_t part_file_begin(const struct part_file *f, uint32_t number);
int64_t part_file_length(const struct part_file *f, uint32_t number);

/* All bytes of the piece have been written to fd. */
int part_file_note(struct part_file *f, uint32_t number, struct error *err);

/* All pieces are here and verified: it gets its name, and is closed. */
int part_file_publish(struct part_file *f, struct error *err);

/* How many bytes of the disk PATH has already, whole or in part, of the SIZE that it will. */
int64_t part_file_present(int root, const char *path, int64_t size);

#endif

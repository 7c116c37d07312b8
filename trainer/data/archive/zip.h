/* Members of a zip archive, by its central directory.
 *
 * Stored and deflated members are read, ZIP64's sizes too; encrypted ones and other methods are
 * refused. Any number of threads may read members of one archive. Errors name the archive: content
 * that is not as expected is EXIT_CODE_DATA. Source: PKWARE, APPNOTE.TXT 6.3. */
#ifndef TRAINER_DATA_ARCHIVE_ZIP_H
#define TRAINER_DATA_ARCHIVE_ZIP_H

#include "trainer/data/format/shard_file.h"

#include <stddef.h>
#include <stdint.h>

enum { ZIP_MEMBERS_MAX = 16 * 1024 * 1024 };

struct zip_member {
    const char *path; /* borrowed from the archive; foreign text (member_path.h) */
    uint64_t header;  /* offset of its local header */
    uint64_t packed;  /* bytes in the archive */
    uint64_t size;
    uint32_t crc; /* CRC-32 of its content */
    uint16_t method;
    uint16_t flags;
};

struct zip {
    struct shard_file file;
    struct zip_member *members; /* owned; [count], files alone, in the archive's order */
    size_t count;
    char *paths; /* owned */
};
#define ZIP_CLOSED                                                                                 \
    { .file = SHARD_FILE_CLOSED }

/* PATH must outlive the archive. */
int zip_open(struct zip *ret, const char *path, struct error *err);
void zip_done(struct zip *zip);

/* Writes the content of MEMBER to FD, and verifies its size and checksum. */
int zip_extract(const struct zip *zip, const struct zip_member *member, int fd, struct error *err);

#define cleanup_zip __attribute__((cleanup(zip_done)))

#endif

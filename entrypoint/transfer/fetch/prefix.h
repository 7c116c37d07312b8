/* Download of everything that an address names into a directory: an object, all objects of a
 * directory in parallel, or a file over https.
 *
 * Disk space is checked first, files that are already there are kept, and progress is logged every
 * ten seconds. The process that waits for it gets a line every second while there is progress, and
 * none otherwise. With other hosts (peers/sharing.h) the listing still comes from the source, so
 * that each host knows by the ETags that it gets the same files; what another host does not have
 * comes from the source. */
#ifndef ENTRYPOINT_TRANSFER_FETCH_PREFIX_H
#define ENTRYPOINT_TRANSFER_FETCH_PREFIX_H

#include "entrypoint/transfer/peers/sharing.h"
#include "entrypoint/transfer/s3/address.h"
#include "entrypoint/transfer/s3/s3.h"

struct prefix_download_order {
    struct s3 *s3;
    const struct address *from; /* S3, https, or on hosts but the first one a folder of that one */
    int root;                   /* the directory, by descriptor */
    const char *name;           /* of a single file there; NULL: as in the address */
    const char *what;           /* for people */
    const char *task;           /* for other hosts: the same on all hosts, and unique */
    bool may_be_none;           /* a directory without objects is no error */
    bool keep_newer;            /* a local file newer than the object is kept */
    size_t shard, shards;       /* every SHARDSth of a directory's objects, in the order of keys */
    int64_t deadline;
    struct sharing
        *passing; /* files come from another host or are served to others; NULL: neither */
    void (*say)(const char *line);
    void (*mark)(const char *line); /* progress; NULL: not needed */
};

int prefix_download(const struct prefix_download_order *order, struct error *err);

#endif

/* What an address stands for, brought into a folder: an object, all objects of a folder side by
 * side, or a file by https. The disk's room is checked before, what is there and the same is left,
 * and how far it has got is said every ten seconds. Whoever waits for it hears once a second that
 * it gets further, and nothing while it does not. With other hosts (peers/sharing.h) the listing is
 * the source's all the same, so that each host knows by the ETags that it gets the same files; what
 * another host does not have comes from the source. */
#ifndef ENTRYPOINT_TRANSFER_FETCH_PREFIX_H
#define ENTRYPOINT_TRANSFER_FETCH_PREFIX_H

#include "entrypoint/transfer/peers/sharing.h"
#include "entrypoint/transfer/s3/address.h"
#include "entrypoint/transfer/s3/s3.h"

struct prefix_download_order {
    struct s3 *s3;
    const struct address *from; /* S3 or https */
    int root;                   /* the folder, by descriptor */
    const char *name;           /* of a single file there; NULL: as the address has it */
    const char *what;           /* for people */
    const char *task;           /* for other hosts: the same on all, and of this alone */
    bool may_be_none;           /* a folder without objects is no error */
    bool keep_newer;            /* a file that is there and newer than the object stays */
    size_t shard, shards;       /* of a folder's objects, in the order of keys, each SHARDSth */
    int64_t deadline;
    struct sharing *passing; /* files come from another host or go to others; NULL: neither */
    void (*say)(const char *line);
    void (*mark)(const char *line); /* it has got further; NULL: nobody asks */
};

int prefix_download(const struct prefix_download_order *order, struct error *err);

#endif

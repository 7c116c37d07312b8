/* Options for writing a data set as shards or folders. */
#ifndef TRAINER_DATA_PREPARE_SHARD_SET_OPTIONS_H
#define TRAINER_DATA_PREPARE_SHARD_SET_OPTIONS_H

#include "trainer/data/format/format.h"

#include <stdbool.h>
#include <stdint.h>

enum { SHARD_SET_SHARDS_MAX = 99999, SHARD_SET_THREADS_MAX = 256 };

struct shard_set_options {
    const char *target;          /* folder; created if missing */
    const struct format *format; /* NULL: folders of classes */
    int64_t shards; /* not of folders; of the first part; others get their share. 0: of 128 MiB */
    int resize;     /* short side of pictures that are larger; 0: pictures are copied */
    int quality;    /* of resized JPEGs, 1..100 */
    bool raw;       /* pictures are decoded and stored as PNM */
    int label_base; /* number of the first class in the records */
    int threads;
    int ranks; /* that write the set together: shard s of all is of rank s mod RANKS. 0 is as 1 */
    int rank;
    int64_t bad_allowed; /* pictures that may be left out, where they are resized */
    /* Called after some pictures with the number of those that are done, from any thread, one at a
     * time; NULL: not at all. */
    void (*written)(void *context, int64_t done);
    void *context;
};

#endif

/* Cache of decoded pictures, shared by the ranks of a host.
 *
 * It lies in memory or in a file. Each picture is kept once, as rows of RGB, in the order in which
 * pictures come; those beyond the capacity are not kept. Any number of threads and processes may
 * read and add at the same time. An entry has a checksum of its picture: what was overwritten, cut
 * or never written to the disk counts as missing, so a cache never gives another picture.
 *
 * Layout: a head of 4 KiB, then an entry of 16 bytes for each sample, which are mapped; then the
 * pixels, which are read and written as a file is. Numbers have the machine's order.
 *
 *     head     "RTPC", version u32, key u64, samples u64, capacity u64, bytes of pixels that are
 *              taken u64
 *     entry    offset of the pixels u64 (0 and 1: none), CRC32C u32, width u16, height u16 */
#ifndef TRAINER_DATA_CACHE_PICTURE_CACHE_H
#define TRAINER_DATA_CACHE_PICTURE_CACHE_H

#include "common/error.h"
#include "trainer/data/codec/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture_cache;

/* What a cache is for. */
struct picture_cache_plan {
    uint64_t key; /* of the set and of how its pictures are made */
    size_t samples;
    uint64_t capacity; /* bytes of pixels */
};

/* Makes a cache in memory; NULL with an error. */
struct picture_cache *picture_cache_in_memory(const struct picture_cache_plan *plan,
                                              struct error *err);
/* Opens the cache in the file PATH. One of another plan, or damaged, is replaced by an empty one;
 * *RET_KEPT: it was one of this plan. The capacity is reserved on the disk. Fails with
 * EXIT_CODE_CONFIG, with the path, if there is no room, or another process uses it for another
 * plan. */
struct picture_cache *picture_cache_in_file(const char *path, const struct picture_cache_plan *plan,
                                            bool *ret_kept, struct error *err);
/* Opens the cache that another process has open; takes ownership of FD, a descriptor of it. */
struct picture_cache *picture_cache_share(int fd, const struct picture_cache_plan *plan,
                                          struct error *err);
/* NULL is fine. */
void picture_cache_done(struct picture_cache *cache);

/* The descriptor, for picture_cache_share in another process. */
int picture_cache_fd(const struct picture_cache *cache);

/* Fills IMAGE and returns true if picture SAMPLE is there. */
bool picture_cache_get(struct picture_cache *cache, size_t sample, struct image *image);
/* Keeps a picture, if there is room for it and it is not there. */
void picture_cache_put(struct picture_cache *cache, size_t sample, const struct image *image);

/* Bytes that a cache takes besides its pixels. */
uint64_t picture_cache_overhead(size_t samples);

struct picture_cache_figures {
    uint64_t kept;  /* pictures, by all processes that share it */
    uint64_t bytes; /* of their pixels */
};
void picture_cache_figures(const struct picture_cache *cache, struct picture_cache_figures *ret);

#endif

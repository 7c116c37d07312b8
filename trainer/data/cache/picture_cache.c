#include "trainer/data/cache/picture_cache.h"

#include "common/cleanup.h"
#include "common/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Head and entries are mapped and shared; pixels go through pread and pwrite. A mapping of the
 * pixels would end the program with SIGBUS where the disk is full or another process cuts the file.
 * A failed read or write is just a picture that is not cached.
 *
 * No lock is taken for a picture. An entry goes from 0 to CLAIMED by one compare-and-swap, so that
 * one process alone writes it, and then to its offset, with release order. A reader that sees the
 * offset, with acquire order, sees size and checksum, too. A process that dies between the two
 * leaves its entry claimed for good: the picture is decoded each time.
 *
 * trainer/app/hosts/training_cache.c opens the cache for the ranks of a host, and
 * trainer/data/dataset/fetch.c asks it before it decodes. */

#define MAGIC "RTPC"

enum { VERSION = 1, HEAD_BYTES = 4096 };
/* In place of an offset: the picture is being written, or there was no room for it. No real offset
 * is that small, as pixels follow the head. */
enum { CLAIMED = 1 };

/* Start of the file. Key, samples and version say what the cache is for; the two counters are
 * written by all processes that share it. */
struct cache_head {
    char magic[4];
    uint32_t version;
    uint64_t key, samples, capacity;
    atomic_ullong taken; /* bytes of pixels, more than the capacity once it is full */
    atomic_ullong kept;  /* pictures, for picture_cache_figures */
};

struct cache_entry {
    atomic_ullong offset; /* CLAIMED first, set last */
    uint32_t crc;         /* of the sides and the pixels */
    uint16_t width, height;
};

_Static_assert(sizeof(struct cache_entry) == 16, "the layout of an entry");
_Static_assert(sizeof(struct cache_head) <= HEAD_BYTES, "the layout of the head");

struct picture_cache {
    int fd;
    struct cache_head *head; /* mapped */
    struct cache_entry *entries;
    size_t mapped;
};

/* Head and entries, in whole pages of 4 KiB, so that the pixels begin at a page, too. */
uint64_t picture_cache_overhead(size_t samples) {
    return HEAD_BYTES + ((uint64_t)samples * sizeof(struct cache_entry) + HEAD_BYTES - 1) /
                            HEAD_BYTES * HEAD_BYTES;
}

void picture_cache_done(struct picture_cache *cache) {
    if (cache == NULL)
        return;
    if (cache->head != NULL)
        (void)munmap(cache->head, cache->mapped);
    if (cache->fd >= 0)
        (void)close(cache->fd);
    free(cache);
}

int picture_cache_fd(const struct picture_cache *cache) {
    return cache->fd;
}

/* Maps head and entries. Takes over FD, and closes it on failure. The file must have that length
 * already: a mapping beyond its end faults at the first access. */
static struct picture_cache *map(int fd, const struct picture_cache_plan *plan, struct error *err) {
    struct picture_cache *cache = calloc(1, sizeof(*cache));
    if (cache == NULL) {
        (void)close(fd);
        (void)error_no_memory(err, "a cache of pictures");
        return NULL;
    }
    cache->fd = fd;
    cache->mapped = (size_t)picture_cache_overhead(plan->samples);
    void *memory = mmap(NULL, cache->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        (void)error_set_errno(err, EXIT_CODE_CONFIG, "a cache of pictures");
        picture_cache_done(cache);
        return NULL;
    }
    cache->head = memory;
    cache->entries = (struct cache_entry *)((char *)memory + HEAD_BYTES);
    return cache;
}

/* Makes an empty cache of zeros one of PLAN. The magic number comes last: a file without it is not
 * taken for a cache by is_of. */
static void begin(struct picture_cache *cache, const struct picture_cache_plan *plan) {
    struct cache_head *head = cache->head;
    head->key = plan->key;
    head->samples = plan->samples;
    head->capacity = plan->capacity;
    head->version = VERSION;
    memcpy(head->magic, MAGIC, sizeof(head->magic));
}

/* The capacity is no part of the plan's identity: a cache that was made with another one stays
 * useful. */
static bool is_of(const struct cache_head *head, const struct picture_cache_plan *plan) {
    return memcmp(head->magic, MAGIC, sizeof(head->magic)) == 0 && head->version == VERSION &&
           head->key == plan->key && head->samples == plan->samples;
}

/* The memory is a file without a name, of which pages are used as they are written. The descriptor
 * is how other ranks reach it. */
struct picture_cache *picture_cache_in_memory(const struct picture_cache_plan *plan,
                                              struct error *err) {
    const int fd = memfd_create("ringtrain pictures", MFD_CLOEXEC);
    const uint64_t size = picture_cache_overhead(plan->samples) + plan->capacity;
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
        (void)error_set_errno(err, EXIT_CODE_CONFIG, "--cache ram: %llu bytes of memory",
                              (unsigned long long)size);
        if (fd >= 0)
            (void)close(fd);
        return NULL;
    }
    struct picture_cache *cache = map(fd, plan, err);
    if (cache != NULL)
        begin(cache, plan);
    return cache;
}

/* The descriptor comes from another process of the host. The checks find two ranks that disagree
 * about the data, which would be a fault of the program: EXIT_CODE_INTERNAL. */
struct picture_cache *picture_cache_share(int fd, const struct picture_cache_plan *plan,
                                          struct error *err) {
    struct stat status;
    if (fstat(fd, &status) != 0 ||
        (uint64_t)status.st_size < picture_cache_overhead(plan->samples)) {
        (void)error_set(err, EXIT_CODE_INTERNAL, "the cache of another rank is too small");
        (void)close(fd);
        return NULL;
    }
    struct picture_cache *cache = map(fd, plan, err);
    if (cache == NULL || is_of(cache->head, plan))
        return cache;
    (void)error_set(err, EXIT_CODE_INTERNAL,
                    "the cache of another rank belongs to another data set");
    picture_cache_done(cache);
    return NULL;
}

/* --- in a file ------------------------------------------------------------------------------- */

/* Returns true if the file begins as a cache of this plan does, and is as long as it says. The
 * bound on the capacity keeps the sum from overflowing, as the number comes from a file. */
static bool looks_like(int fd, const struct picture_cache_plan *plan) {
    struct cache_head head;
    struct stat status;
    const uint64_t overhead = picture_cache_overhead(plan->samples);
    return pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) && is_of(&head, plan) &&
           fstat(fd, &status) == 0 && head.capacity <= (uint64_t)INT64_MAX - overhead &&
           (uint64_t)status.st_size == overhead + head.capacity;
}

/* Empties the file and reserves its room, so that a full disk is found now and not in the middle of
 * a training. File systems that cannot reserve room give it as pictures come. On failure the file
 * is emptied again, to give back what was reserved. */
static int make_anew(int fd, const char *path, const struct picture_cache_plan *plan,
                     struct error *err) {
    const off_t size = (off_t)(picture_cache_overhead(plan->samples) + plan->capacity);
    int failed = ftruncate(fd, 0);
    if (failed == 0 && fallocate(fd, 0, 0, size) != 0)
        failed = errno == EOPNOTSUPP ? ftruncate(fd, size) : -1;
    if (failed == 0)
        return 0;
    (void)error_set_errno(err, EXIT_CODE_CONFIG, "--cache %s: %lld bytes", path, (long long)size);
    if (ftruncate(fd, 0) != 0)
        return error_wrap(err, "the file keeps the disk space that was reserved; remove it");
    return -1;
}

/* Returns 1 if the file is one of this plan, 0 if it was emptied for it, -1 with an error. The lock
 * is exclusive while a cache is made, and shared while it is used. A file that holds anything but a
 * cache is never emptied. */
static int settle(int fd, const char *path, const struct picture_cache_plan *plan,
                  struct error *err) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "--cache %s", path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, EXIT_CODE_CONFIG, "--cache %s: not a regular file", path);
    const bool alone = flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (looks_like(fd, plan))
        return flock(fd, LOCK_SH | LOCK_NB) == 0
                   ? 1
                   : error_set_errno(err, EXIT_CODE_CONFIG, "--cache %s", path);
    if (!alone)
        return error_set(err, EXIT_CODE_CONFIG,
                         "--cache %s: another process uses it for other data; give another file",
                         path);
    char magic[4] = "";
    if (status.st_size > 0 && (pread(fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) ||
                               memcmp(magic, MAGIC, sizeof(magic)) != 0))
        return error_set(
            err, EXIT_CODE_CONFIG,
            "--cache %s: not a cache of pictures; name a cache, or a file that does not "
            "exist yet",
            path);
    return make_anew(fd, path, plan, err);
}

struct picture_cache *picture_cache_in_file(const char *path, const struct picture_cache_plan *plan,
                                            bool *ret_kept, struct error *err) {
    /* O_NONBLOCK: a FIFO of this name must not block; settle refuses it, as it is no regular
     * file. */
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    if (fd < 0) {
        (void)error_set_errno(err, EXIT_CODE_CONFIG, "--cache %s", path);
        return NULL;
    }
    const int kept = settle(fd, path, plan, err);
    if (kept < 0) {
        (void)close(fd);
        return NULL;
    }
    struct picture_cache *cache = map(fd, plan, err);
    if (cache == NULL)
        return NULL;
    if (kept == 0)
        begin(cache, plan);
    /* From exclusive to shared, so that other processes may use the new cache, too. */
    (void)flock(fd, LOCK_SH | LOCK_NB);
    *ret_kept = kept == 1;
    return cache;
}

/* --- pictures -------------------------------------------------------------------------------- */

/* Reads exactly SIZE bytes; false at an error or an early end, as of a file that was cut. */
static bool read_all(int fd, uint8_t *bytes, size_t size, uint64_t offset) {
    while (size > 0) {
        const ssize_t got = pread(fd, bytes, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        size -= (size_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

/* False where the disk is full, which happens on file systems that could not reserve the room. The
 * entry then stays claimed. */
static bool write_all(int fd, const uint8_t *bytes, size_t size, uint64_t offset) {
    while (size > 0) {
        const ssize_t put = pwrite(fd, bytes, size, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        size -= (size_t)put;
        offset += (uint64_t)put;
    }
    return true;
}

/* Covers the size, too: rows of another length are another picture. */
static uint32_t checksum(const uint8_t *pixels, size_t size, uint16_t width, uint16_t height) {
    const uint16_t sides[2] = {width, height};
    return crc32c(crc32c(0, sides, sizeof(sides)), pixels, size);
}

/* A checksum that differs means that the entry was damaged, or that its pixels never reached the
 * disk before a crash: the picture counts as missing. */
bool picture_cache_get(struct picture_cache *cache, size_t sample, struct image *image) {
    struct cache_entry *e = &cache->entries[sample];
    const uint64_t offset = atomic_load_explicit(&e->offset, memory_order_acquire);
    if (offset <= CLAIMED || e->width == 0 || e->height == 0 ||
        image_resize(image, e->width, e->height, NULL) != 0)
        return false;
    const size_t size = (size_t)image->width * (size_t)image->height * IMAGE_CHANNELS;
    return read_all(cache->fd, image->pixels, size, offset) &&
           checksum(image->pixels, size, (uint16_t)image->width, (uint16_t)image->height) == e->crc;
}

/* The first look at the capacity spares a full cache the claim of every entry. The second one,
 * after the room is taken, decides, as others may have taken room meanwhile. */
void picture_cache_put(struct picture_cache *cache, size_t sample, const struct image *image) {
    struct cache_entry *e = &cache->entries[sample];
    struct cache_head *head = cache->head;
    const size_t size = (size_t)image->width * (size_t)image->height * IMAGE_CHANNELS;
    unsigned long long none = 0;
    if (image->width > UINT16_MAX || image->height > UINT16_MAX ||
        atomic_load(&head->taken) + size > head->capacity ||
        !atomic_compare_exchange_strong(&e->offset, &none, CLAIMED))
        return;
    const uint64_t at = atomic_fetch_add(&head->taken, size);
    const uint64_t offset = picture_cache_overhead((size_t)head->samples) + at;
    if (at > head->capacity || size > head->capacity - at ||
        !write_all(cache->fd, image->pixels, size, offset))
        return;
    e->width = (uint16_t)image->width;
    e->height = (uint16_t)image->height;
    e->crc = checksum(image->pixels, size, e->width, e->height);
    atomic_store_explicit(&e->offset, offset, memory_order_release);
    atomic_fetch_add(&head->kept, 1);
}

void picture_cache_figures(const struct picture_cache *cache, struct picture_cache_figures *ret) {
    const uint64_t taken = atomic_load(&cache->head->taken);
    *ret = (struct picture_cache_figures){
        .kept = atomic_load(&cache->head->kept),
        .bytes = taken < cache->head->capacity ? taken : cache->head->capacity,
    };
}

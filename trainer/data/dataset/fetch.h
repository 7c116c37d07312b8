/* Fetching of one sample, from its number to pixels: read, decode what the plan needs, resample. */
#ifndef TRAINER_DATA_DATASET_FETCH_H
#define TRAINER_DATA_DATASET_FETCH_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/cache/picture_cache.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/resize.h"
#include "trainer/data/dataset/augment.h"
#include "trainer/data/dataset/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* State that a thread keeps between samples. */
struct fetcher {
    struct jpeg_decoder decoder;
    struct resizer resizer;
    struct image picture;
    struct image small; /* `picture`, scaled down to be kept */
    bool whole;         /* `picture` holds the decoded open picture: it is not a JPEG */
    struct buf encoded;
    const char *damage; /* damage of the last sample that was decoded over: in words; NULL for
                         * none */
};

/* How pictures are fetched that are decoded once and kept. */
struct fetch_cache {
    bool on;                     /* else the rest is unused */
    struct picture_cache *cache; /* NULL: pictures are made as for one, and are not kept */
    int side;                    /* larger pictures are scaled down to this short side; 0: not */
};

int fetcher_init(struct fetcher *fetcher, struct error *err);
void fetcher_done(struct fetcher *fetcher);

/* Writes image_size x image_size x 3 bytes to PIXELS. The error names the file; EXIT_CODE_DATA
 * means that it is the file's fault. */
int fetch_sample(struct fetcher *fetcher, const struct dataset *set, size_t sample,
                 const struct augment *augment, uint64_t seed, uint32_t epoch, uint8_t *pixels,
                 struct error *err);

/* The same for SIZE encoded bytes, as sample SAMPLE. The error does not name the sample. */
int fetch_picture(struct fetcher *fetcher, const uint8_t *bytes, size_t size,
                  const struct augment *augment, uint64_t seed, uint32_t epoch, uint64_t sample,
                  uint8_t *pixels, struct error *err);

/* fetch_sample through a cache. The pixels do not depend on what is in it: each picture is decoded
 * as a whole, and scaled down, before its part is taken. */
int fetch_sample_kept(struct fetcher *fetcher, const struct dataset *set, size_t sample,
                      const struct fetch_cache *kept, const struct augment *augment, uint64_t seed,
                      uint32_t epoch, uint8_t *pixels, struct error *err);

/* Takes a whole picture from the cache, or decodes it and keeps it, into `picture`. Not for
 * synthetic sets. The error names the file. */
int fetch_kept(struct fetcher *fetcher, const struct dataset *set, size_t sample,
               const struct fetch_cache *kept, struct error *err);

/* Decodes a whole picture at its own size into `picture`. The error does not name the file. */
int fetch_whole(struct fetcher *fetcher, const uint8_t *bytes, size_t size, struct error *err);

#define cleanup_fetcher __attribute__((cleanup(fetcher_done)))

#endif

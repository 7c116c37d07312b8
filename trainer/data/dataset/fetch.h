/* Fetching of one sample, from its number to pixels: read, decode what the plan needs, resample. */
#ifndef TRAINER_DATA_DATASET_FETCH_H
#define TRAINER_DATA_DATASET_FETCH_H

#include "common/buf.h"
#include "common/error.h"
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
    bool whole; /* `picture` holds the decoded open picture: it is not a JPEG */
    struct buf encoded;
    const char *damage; /* damage of the last sample that was decoded over: in words; NULL for
                         * none */
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

/* Decodes a whole picture at its own size into `picture`. The error does not name the file. */
int fetch_whole(struct fetcher *fetcher, const uint8_t *bytes, size_t size, struct error *err);

#define cleanup_fetcher __attribute__((cleanup(fetcher_done)))

#endif

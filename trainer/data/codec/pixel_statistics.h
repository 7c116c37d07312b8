/* Mean and standard deviation of the pixels of pictures, channel by channel; each picture has the
 * same weight, whatever its size.
 *
 * Sums are whole numbers in doubles, exact for up to two million pictures: the result depends
 * neither on the order of the pictures nor on how threads and ranks divide them. */
#ifndef TRAINER_DATA_CODEC_PIXEL_STATISTICS_H
#define TRAINER_DATA_CODEC_PIXEL_STATISTICS_H

#include "trainer/data/codec/image.h"

/* Zeroed, it is empty. All members are to be added up over ranks. */
struct pixel_statistics {
    double pictures;
    double sum[IMAGE_CHANNELS];    /* of the pictures' means, in units of 2^-16 */
    double square[IMAGE_CHANNELS]; /* of the means of squares, in the same unit */
};
enum { PIXEL_STATISTICS_VALUES = 1 + 2 * IMAGE_CHANNELS };

void pixel_statistics_add(struct pixel_statistics *s, const struct image *image);
void pixel_statistics_merge(struct pixel_statistics *s, const struct pixel_statistics *other);

/* Sets mean and deviation for pixels from 0 to 1; zeros if S is empty. */
void pixel_statistics_result(const struct pixel_statistics *s, double mean[IMAGE_CHANNELS],
                             double deviation[IMAGE_CHANNELS]);

#endif

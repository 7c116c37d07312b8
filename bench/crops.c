/* Crops as the trainer sees them, for bench/crops_torch.py to compare:
 *
 *     bench_crops FOLDER SIDE        FOLDER holds class folders of JPEGs
 *
 * For every picture, in the order of the data set: the training crop's box and mirroring as five
 * 32-bit numbers (left, top, width, height, flip), the evaluation crop and the training crop, both
 * SIDE x SIDE x 3 bytes. */
#include "trainer/data/dataset/fetch.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIDE_MOST = 1024 };

static int write_picture(struct fetcher *f, const struct dataset *set, size_t sample, int side,
                         uint8_t *pixels, struct error *err) {
    struct augment train, eval;
    struct augment_plan plan;
    size_t size = (size_t)side * (size_t)side * IMAGE_CHANNELS;
    augment_defaults_train(&train, side);
    augment_defaults_eval(&eval, side);
    train.mode = AUGMENT_RANDOM_RESIZED_CROP;
    if (dataset_read(set, sample, &f->encoded, err) != 0)
        return -1;
    const uint8_t *bytes = (const uint8_t *)f->encoded.data;
    if (jpeg_open(&f->decoder, bytes, f->encoded.size, err) != 0)
        return -1;
    augment_draw(&train, f->decoder.width, f->decoder.height, 1, 0, sample, &plan);
    const int32_t head[5] = {plan.source.left, plan.source.top, plan.source.width,
                             plan.source.height, plan.flip};
    fwrite(head, sizeof(head), 1, stdout);
    if (fetch_picture(f, bytes, f->encoded.size, &eval, 1, 0, sample, pixels, err) != 0)
        return -1;
    fwrite(pixels, size, 1, stdout);
    if (fetch_picture(f, bytes, f->encoded.size, &train, 1, 0, sample, pixels, err) != 0)
        return -1;
    fwrite(pixels, size, 1, stdout);
    return 0;
}

int main(int argc, char **argv) {
    static uint8_t pixels[SIDE_MOST * SIDE_MOST * IMAGE_CHANNELS];
    cleanup_dataset struct dataset set = {0};
    cleanup_fetcher struct fetcher f = {0};
    struct error err = {0};
    int side = argc == 3 ? atoi(argv[2]) : 0;
    if (side < 1 || side > SIDE_MOST) {
        fprintf(stderr, "usage: bench_crops FOLDER SIDE\n");
        return EXIT_CODE_USAGE;
    }
    int rc = dataset_open_folder(&set, argv[1], &err);
    if (rc == 0)
        rc = fetcher_init(&f, &err);
    for (size_t i = 0; rc == 0 && i < set.count; i++)
        rc = write_picture(&f, &set, i, side, pixels, &err);
    if (rc == 0 && fflush(stdout) == 0)
        return 0;
    fprintf(stderr, "bench_crops: %s\n", err.text);
    return 1;
}

#include "tests/support/pictures.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/fetch.h"

#include "trainer/data/codec/png.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 48, SIZE = SIDE * SIDE * 3 };

static struct fetcher fetcher;
static struct error err;

/* The plan carried out the long way: all of the picture decoded, then resampled. */
static void the_long_way(const struct buf *bytes, const struct augment *augment, uint64_t sample,
                         uint8_t *out) {
    cleanup_image struct image whole = {0};
    struct resizer resizer = {0};
    struct rect at;
    struct augment_plan p;
    const uint8_t *jpeg = (const uint8_t *)bytes->data;
    CU_ASSERT_EQUAL_FATAL(jpeg_open(&fetcher.decoder, jpeg, bytes->size, &err), 0);
    const struct rect all = {0, 0, fetcher.decoder.width, fetcher.decoder.height};
    augment_draw(augment, all.width, all.height, 1, 2, sample, &p);
    CU_ASSERT_EQUAL_FATAL(jpeg_decode(&fetcher.decoder, &all, 1, &whole, &at, &err), 0);
    const struct resize_map map = {.left = p.source.left,
                                   .top = p.source.top,
                                   .width = p.source.width,
                                   .height = p.source.height,
                                   .virtual_width = p.width,
                                   .virtual_height = p.height,
                                   .window = {p.left, p.top, SIDE, SIDE},
                                   .flip = p.flip};
    CU_ASSERT_EQUAL_FATAL(resize_window(&resizer, &whole, &map, out, &err), 0);
    resizer_done(&resizer);
}

static void cropping_first_gives_the_same_pixels(void) {
    cleanup_buf struct buf bytes = {0};
    struct augment modes[3];
    uint8_t fast[SIZE], slow[SIZE];
    augment_defaults_train(&modes[0], SIDE);
    augment_defaults_eval(&modes[1], SIDE);
    augment_defaults_train(&modes[2], SIDE);
    modes[2].mode = AUGMENT_PAD_CROP;
    CU_ASSERT_EQUAL_FATAL(fetcher_init(&fetcher, &err), 0);
    const int sizes[][2] = {{150, 120}, {70, 180}, {48, 48}, {20, 30}, {180, 61}};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        picture_encode(&bytes, sizes[s][0], sizes[s][1], (int)s);
        for (uint64_t i = 0; i < 60; i++) {
            const struct augment *a = &modes[i % 3];
            const uint8_t *jpeg = (const uint8_t *)bytes.data;
            CU_ASSERT_EQUAL_FATAL(fetch_picture(&fetcher, jpeg, bytes.size, a, 1, 2, i, fast, &err),
                                  0);
            the_long_way(&bytes, a, i, slow);
            CU_ASSERT_EQUAL(memcmp(fast, slow, SIZE), 0);
        }
    }
}

/* A picture ten times too large is shrunk while it is decoded: near the long way, not equal. */
static void shrinking_while_decoding_stays_near(void) {
    cleanup_buf struct buf bytes = {0};
    struct augment a;
    uint8_t fast[SIZE], slow[SIZE];
    augment_defaults_eval(&a, SIDE);
    picture_encode(&bytes, 560, 560, 1);
    CU_ASSERT_EQUAL_FATAL(
        fetch_picture(&fetcher, (const uint8_t *)bytes.data, bytes.size, &a, 1, 2, 0, fast, &err),
        0);
    the_long_way(&bytes, &a, 0, slow);
    int most = 0;
    for (int i = 0; i < SIZE; i++)
        most = abs(fast[i] - slow[i]) > most ? abs(fast[i] - slow[i]) : most;
    CU_ASSERT(most <= 8);
}

/* The very file that ImageNet has: a PNG that is called .JPEG. */
static void a_png_by_another_name_is_read(void) {
    char folder[600], path[700];
    uint8_t pixels[SIZE];
    struct augment a;
    cleanup_dataset struct dataset set = {0};
    cleanup_image struct image image = {0};
    cleanup_buf struct buf bytes = {.max = PNG_BYTES_MAX};
    snprintf(folder, sizeof(folder), "%s/png", unit_temp_dir());
    snprintf(path, sizeof(path), "%s/a/000.jpg", folder);
    augment_defaults_eval(&a, SIDE);
    a.resize_side = SIDE;
    picture_fill(&image, SIDE, SIDE, 5);
    CU_ASSERT_EQUAL_FATAL(png_encode(&image, &bytes, &err), 0);
    picture_write(folder, "a", 0, 60, 60);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, bytes.data, bytes.size, 0644, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    CU_ASSERT_EQUAL(fetch_sample(&fetcher, &set, 0, &a, 1, 0, pixels, &err), 0);
    CU_ASSERT_EQUAL(memcmp(pixels, image.pixels, SIZE), 0);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, bytes.data, bytes.size / 2, 0644, NULL), 0);
    CU_ASSERT_EQUAL(fetch_sample(&fetcher, &set, 0, &a, 1, 0, pixels, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, path);
}

static void errors_name_the_file(void) {
    char folder[600], path[700];
    uint8_t pixels[SIZE];
    struct augment a;
    cleanup_dataset struct dataset set = {0};
    snprintf(folder, sizeof(folder), "%s/set", unit_temp_dir());
    snprintf(path, sizeof(path), "%s/a/000.jpg", folder);
    augment_defaults_eval(&a, SIDE);
    picture_write(folder, "a", 0, 60, 60);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, &err), 0);
    CU_ASSERT_EQUAL(fetch_sample(&fetcher, &set, 0, &a, 1, 0, pixels, &err), 0);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, "GIF89a", 6, 0644, NULL), 0);
    CU_ASSERT_EQUAL(fetch_sample(&fetcher, &set, 0, &a, 1, 0, pixels, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, path);
    ASSERT_CONTAINS(err.text, "not a JPEG");
    CU_ASSERT_EQUAL_FATAL(remove(path), 0);
    CU_ASSERT_EQUAL(fetch_sample(&fetcher, &set, 0, &a, 1, 0, pixels, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, path);
}

static void a_synthetic_sample_needs_no_file(void) {
    uint8_t pixels[SIZE], painted[SIZE];
    struct augment a;
    cleanup_dataset struct dataset set = {0};
    augment_defaults_train(&a, SIDE);
    CU_ASSERT_EQUAL_FATAL(dataset_open_synthetic(&set, 4, 2, &err), 0);
    CU_ASSERT_EQUAL(fetch_sample(&fetcher, &set, 3, &a, 1, 0, pixels, &err), 0);
    dataset_paint(&set, 3, SIDE, painted);
    CU_ASSERT_EQUAL(memcmp(pixels, painted, SIZE), 0);
    fetcher_done(&fetcher);
    fetcher_done(&fetcher);
}

UNIT_SUITE("data.fetch", UNIT(cropping_first_gives_the_same_pixels),
           UNIT(shrinking_while_decoding_stays_near), UNIT(a_png_by_another_name_is_read),
           UNIT(errors_name_the_file), UNIT(a_synthetic_sample_needs_no_file))

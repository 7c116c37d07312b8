/* Pictures. The first two bytes choose recipe and key, the rest is the file. Whatever it is, the
 * pixels are written in full or the error is one of data. */
#include "tests/fuzz/check.h"
#include "trainer/data/codec/whole.h"
#include "trainer/data/dataset/fetch.h"

#include <stdint.h>
#include <string.h>

enum { SIDE = 24, PIXELS_MOST = 1 << 22 /* larger pictures only cost the fuzzer time */ };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void choose_recipe(struct augment *augment, uint8_t choice) {
    if (choice % 3 == 0)
        augment_defaults_eval(augment, SIDE);
    else
        augment_defaults_train(augment, SIDE);
    if (choice % 3 == 1)
        augment->mode = AUGMENT_RANDOM_RESIZED_CROP;
}

/* A small PNG or PNM with a sound header. */
static bool is_small(const struct whole_format *format, const uint8_t *bytes, size_t size) {
    int width = 0;
    int height = 0;
    return whole_size(format, bytes, size, &width, &height, NULL) == 0 &&
           (int64_t)width * height <= PIXELS_MOST;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t pixels[SIDE * SIDE * IMAGE_CHANNELS];
    struct fetcher fetcher;
    struct augment augment;
    struct error err = {0};
    if (size < 2)
        return 0;
    choose_recipe(&augment, data[0]);
    CHECK(fetcher_init(&fetcher, &err) == 0);
    const struct whole_format *format = whole_format_of(data + 2, size - 2);
    if (format != NULL) {
        if (is_small(format, data + 2, size - 2) &&
            fetch_picture(&fetcher, data + 2, size - 2, &augment, 1, 0, data[1], pixels, &err) != 0)
            CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    } else if (jpeg_open(&fetcher.decoder, data + 2, size - 2, &err) == 0) {
        int64_t area = (int64_t)fetcher.decoder.width * fetcher.decoder.height;
        CHECK(area > 0 && area <= JPEG_PIXELS_MAX);
        if (area <= PIXELS_MOST &&
            fetch_picture(&fetcher, data + 2, size - 2, &augment, 1, 0, data[1], pixels, &err) != 0)
            CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    } else {
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    }
    fetcher_done(&fetcher);
    return 0;
}

/* tests/golden/pictures: unusual files, and the pixels that Pillow reads from them
 * (tests/golden/pictures.py). */
#include "common/cleanup.h"
#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/png.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char GOLDEN[] = RINGMASTER_TEST_DATA "/../golden/pictures";

enum { WIDTH = 24, HEIGHT = 16, SIZE = WIDTH * HEIGHT * IMAGE_CHANNELS, FILES_MAX = 32 };

struct sample {
    char name[256];
    struct buf bytes;
    uint8_t pixels[SIZE]; /* as read by Pillow */
};

static struct sample samples[FILES_MAX];
static int count;
static struct buf without_tables; /* no_quantization_tables.bad */
static struct jpeg_decoder decoder;

static void read_file(const char *name, struct buf *out) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", GOLDEN, name);
    buf_init(out, 1 << 20);
    CU_ASSERT_EQUAL_FATAL(file_read(path, out, NULL), 0);
}

static void add_sample(const char *name, size_t stem) {
    char golden[300];
    struct buf pixels;
    struct sample *s = &samples[count++];
    snprintf(s->name, sizeof(s->name), "%s", name);
    read_file(name, &s->bytes);
    snprintf(golden, sizeof(golden), "%.*s.rgb", (int)stem, name);
    read_file(golden, &pixels);
    CU_ASSERT_EQUAL_FATAL(pixels.size, SIZE);
    memcpy(s->pixels, pixels.data, SIZE);
    buf_done(&pixels);
}

static void the_files_are_there(void) {
    struct dirent **names = NULL;
    int found = scandir(GOLDEN, &names, NULL, alphasort);
    for (int i = 0; i < found; i++) {
        const char *dot = strrchr(names[i]->d_name, '.');
        CU_ASSERT_FATAL(count < FILES_MAX);
        if (strcmp(dot, ".jpg") == 0 || strcmp(dot, ".png") == 0)
            add_sample(names[i]->d_name, (size_t)(dot - names[i]->d_name));
        free(names[i]);
    }
    free(names);
    read_file("no_quantization_tables.bad", &without_tables);
    CU_ASSERT_FATAL(count >= 15);
    CU_ASSERT_EQUAL_FATAL(jpeg_decoder_init(&decoder, NULL), 0);
}

static int decode(const struct sample *s, struct image *out) {
    const uint8_t *bytes = (const uint8_t *)s->bytes.data;
    struct error err = {0};
    struct rect at;
    const struct rect all = {0, 0, WIDTH, HEIGHT};
    if (png_is(bytes, s->bytes.size))
        return png_decode(bytes, s->bytes.size, out, &err);
    if (jpeg_open(&decoder, bytes, s->bytes.size, &err) != 0)
        return -1;
    return jpeg_decode(&decoder, &all, 1, out, &at, &err);
}

static void every_file_has_the_pixels_that_pillow_reads(void) {
    for (int i = 0; i < count; i++) {
        cleanup_image struct image out = {0};
        CU_ASSERT_EQUAL_FATAL(decode(&samples[i], &out), 0);
        CU_ASSERT(out.width == WIDTH && out.height == HEIGHT);
        int most = 0;
        for (int k = 0; k < SIZE; k++) {
            int difference = abs(out.pixels[k] - samples[i].pixels[k]);
            most = difference > most ? difference : most;
        }
        /* PNG is exact; two libjpegs may round differently. */
        int allowed = strstr(samples[i].name, ".png") != NULL ? 0 : 1;
        if (most > allowed)
            printf("%s: %d from Pillow's\n", samples[i].name, most);
        CU_ASSERT(most <= allowed);
        CU_ASSERT_PTR_NULL(decoder.damage);
    }
}

static void a_picture_does_not_depend_on_the_one_before(void) {
    for (int i = 0; i < count; i++) {
        cleanup_image struct image alone = {0};
        jpeg_decoder_done(&decoder);
        CU_ASSERT_EQUAL_FATAL(jpeg_decoder_init(&decoder, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(decode(&samples[i], &alone), 0);
        for (int k = 0; k < count; k++) {
            cleanup_image struct image before = {0};
            cleanup_image struct image out = {0};
            CU_ASSERT_EQUAL_FATAL(decode(&samples[k], &before), 0);
            CU_ASSERT_EQUAL_FATAL(decode(&samples[i], &out), 0);
            CU_ASSERT_EQUAL(memcmp(out.pixels, alone.pixels, SIZE), 0);
        }
    }
}

static void without_quantization_tables_there_is_no_picture(void) {
    struct sample bad = {.name = "bad", .bytes = without_tables};
    for (int k = 0; k < count; k++) {
        cleanup_image struct image out = {0};
        CU_ASSERT_EQUAL(decode(&bad, &out), -1);
        CU_ASSERT_EQUAL_FATAL(decode(&samples[k], &out), 0);
        CU_ASSERT_EQUAL(decode(&bad, &out), -1);
    }
}

/* For the sanitizers: everything that was allocated is freed here. */
static void nothing_is_left(void) {
    for (int i = 0; i < count; i++) {
        buf_done(&samples[i].bytes);
        CU_ASSERT_PTR_NULL(samples[i].bytes.data);
    }
    buf_done(&without_tables);
    jpeg_decoder_done(&decoder);
}

UNIT_SUITE("data.pictures", UNIT(the_files_are_there),
           UNIT(every_file_has_the_pixels_that_pillow_reads),
           UNIT(a_picture_does_not_depend_on_the_one_before),
           UNIT(without_quantization_tables_there_is_no_picture), UNIT(nothing_is_left))

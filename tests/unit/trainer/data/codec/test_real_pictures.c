/* Pictures that people took: each is decoded whole, without damage, in the size that its frame
 * header tells, which is read here by hand; gray ones have three equal channels; another
 * orientation in the EXIF tag changes no pixel. How many there are of what was counted with other
 * programs. RINGMASTER_DATA names the folder of the sets. */
#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/codec/jpeg.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static struct jpeg_decoder decoder;
static struct error err;

struct header {
    int width, height, channels;
    size_t orientation; /* where the tag's value lies, 0 where there is none */
    bool big_endian;
};

/* What was seen of a set. */
static struct {
    size_t pictures, wrong, gray, tagged;
    int width[2], height[2]; /* the least, the most */
} seen;

static unsigned number(const uint8_t *at, size_t bytes, bool big_endian) {
    unsigned value = 0;
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | at[big_endian ? i : bytes - 1 - i];
    return value;
}

/* The orientation in the SIZE bytes of TIFF after "Exif\0\0" in an APP1 segment. */
static void read_tags(const uint8_t *tiff, size_t size, size_t base, struct header *ret) {
    enum { FIRST = 8, ENTRY = 12, ORIENTATION = 0x112, VALUE = 8 };
    if (size < FIRST)
        return;
    ret->big_endian = tiff[0] == 'M';
    size_t at = number(tiff + 4, 4, ret->big_endian);
    size_t count = at + 2 <= size ? number(tiff + at, 2, ret->big_endian) : 0;
    for (at += 2; count > 0 && at + ENTRY <= size; count--, at += ENTRY)
        if (number(tiff + at, 2, ret->big_endian) == ORIENTATION)
            ret->orientation = base + at + VALUE;
}

/* Segment by segment up to the frame's (ITU-T T.81, annex B). */
static bool read_header(const uint8_t *bytes, size_t size, struct header *ret) {
    for (size_t at = 2; at + 10 < size;) {
        unsigned marker = bytes[at + 1];
        size_t length = number(bytes + at + 2, 2, true);
        if (bytes[at] != 0xff)
            return false;
        if (marker == 0xff) {
            at++;
            continue;
        }
        if (marker == 0xe1 && length > 8 && memcmp(bytes + at + 4, "Exif", 5) == 0)
            read_tags(bytes + at + 10, length - 8, at + 10, ret);
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
            marker != 0xcc) {
            ret->height = (int)number(bytes + at + 5, 2, true);
            ret->width = (int)number(bytes + at + 7, 2, true);
            ret->channels = bytes[at + 9];
            return true;
        }
        at += 2 + length;
    }
    return false;
}

static bool decode(const struct buf *file, const struct header *h, struct image *out) {
    const struct rect all = {0, 0, h->width, h->height};
    struct rect at;
    return jpeg_open(&decoder, (const uint8_t *)file->data, file->size, &err) == 0 &&
           decoder.width == h->width && decoder.height == h->height &&
           jpeg_decode(&decoder, &all, 1, out, &at, &err) == 0 && decoder.warnings == 0 &&
           at.left == 0 && at.top == 0 && out->width == h->width && out->height == h->height;
}

static size_t bytes_of(const struct image *image) {
    return (size_t)image->width * (size_t)image->height * IMAGE_CHANNELS;
}

static bool is_gray(const struct image *image) {
    for (const uint8_t *p = image->pixels; p < image->pixels + bytes_of(image); p += IMAGE_CHANNELS)
        if (p[0] != p[1] || p[1] != p[2])
            return false;
    return true;
}

/* From now on the picture lies on its side, for decoders that read the tag. */
static bool turned_it_is_the_same(struct buf *file, const struct header *h,
                                  const struct image *image) {
    cleanup_image struct image turned = {0};
    file->data[h->orientation + (h->big_endian ? 1 : 0)] = 6;
    return decode(file, h, &turned) && memcmp(turned.pixels, image->pixels, bytes_of(image)) == 0;
}

static void widen(int range[2], int value) {
    if (range[0] == 0 || value < range[0])
        range[0] = value;
    if (value > range[1])
        range[1] = value;
}

static int look_at(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info;
    (void)place;
    if (kind != FTW_F)
        return 0;
    cleanup_buf struct buf file = {.max = JPEG_BYTES_MAX};
    cleanup_image struct image image = {0};
    struct header h = {0};
    seen.pictures++;
    if (file_read(path, &file, &err) != 0 ||
        !read_header((const uint8_t *)file.data, file.size, &h) || !decode(&file, &h, &image) ||
        (h.channels == 1 && !is_gray(&image)) ||
        (h.orientation != 0 && !turned_it_is_the_same(&file, &h, &image))) {
        printf("%s: %s\n", path, err.text);
        seen.wrong++;
    }
    seen.gray += h.channels == 1;
    seen.tagged += h.orientation != 0;
    widen(seen.width, h.width);
    widen(seen.height, h.height);
    return 0;
}

/* Whether the set is there; the test is skipped where it is not. */
static bool see(const char *set) {
    enum { FOLDERS_OPEN = 16 };
    const char *data = getenv("RINGMASTER_DATA");
    char path[4096], reason[128];
    memset(&seen, 0, sizeof(seen));
    snprintf(path, sizeof(path), "%s/%s", data != NULL ? data : "", set);
    if (data == NULL || access(path, R_OK) != 0) {
        snprintf(reason, sizeof(reason), "RINGMASTER_DATA does not lead to %s", set);
        unit_skip(reason);
        return false;
    }
    CU_ASSERT_EQUAL(nftw(path, look_at, FOLDERS_OPEN, FTW_PHYS), 0);
    CU_ASSERT_EQUAL(seen.wrong, 0);
    return true;
}

static void pictures_of_all_sizes_some_gray_some_with_exif(void) {
    if (!see("imagenet-sample"))
        return;
    CU_ASSERT_EQUAL(seen.pictures, 334);
    CU_ASSERT_EQUAL(seen.gray, 11);
    CU_ASSERT_EQUAL(seen.tagged, 15);
    CU_ASSERT_EQUAL(seen.width[0], 100);
    CU_ASSERT_EQUAL(seen.width[1], 2400);
    CU_ASSERT_EQUAL(seen.height[0], 97);
    CU_ASSERT_EQUAL(seen.height[1], 1600);
}

static void flowers(void) {
    if (!see("flowers"))
        return;
    CU_ASSERT_EQUAL(seen.pictures, 4317);
    CU_ASSERT(seen.width[0] == 128 && seen.width[1] == 128);
    CU_ASSERT(seen.height[0] == 128 && seen.height[1] == 128);
}

static void small_pictures(void) {
    if (!see("cifar10-jpg/test"))
        return;
    CU_ASSERT_EQUAL(seen.pictures, 10000);
    CU_ASSERT(seen.width[0] == 32 && seen.width[1] == 32);
    CU_ASSERT(seen.height[0] == 32 && seen.height[1] == 32);
}

int main(void) {
    static const struct unit_case cases[] = {UNIT(pictures_of_all_sizes_some_gray_some_with_exif),
                                             UNIT(flowers), UNIT(small_pictures)};
    if (jpeg_decoder_init(&decoder, &err) != 0)
        return 1;
    int status = unit_main("codec.real_pictures", cases, sizeof(cases) / sizeof(cases[0]));
    jpeg_decoder_done(&decoder);
    return status;
}

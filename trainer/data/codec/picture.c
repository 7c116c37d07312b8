#include "trainer/data/codec/picture.h"

#include "common/file/file.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/png.h"
#include "trainer/data/codec/pnm.h"
#include "trainer/data/codec/whole.h"

#include <string.h>
#include <strings.h>

enum { QUALITY = 95 };

/* Crops to the requested pixels; the decoder may return a few more. */
static void crop(struct image *image, const struct rect *at, int width, int height) {
    size_t row = (size_t)width * IMAGE_CHANNELS;
    size_t from = (size_t)(-at->left) * IMAGE_CHANNELS;
    for (int y = 0; y < height; y++)
        memmove(image->pixels + (size_t)y * row, image_row(image, y - at->top) + from, row);
    image->width = width;
    image->height = height;
}

void picture_reader_done(struct picture_reader *reader) {
    jpeg_decoder_done(&reader->decoder);
    buf_done(&reader->encoded);
    *reader = (struct picture_reader){0};
}

static int open_jpeg(struct picture_reader *reader, const uint8_t *bytes, size_t size,
                     struct error *err) {
    struct jpeg_decoder *decoder = &reader->decoder;
    if (decoder->library == NULL && jpeg_decoder_init(decoder, err) != 0)
        return -1;
    return jpeg_open(decoder, bytes, size, err);
}

static int read_jpeg(struct picture_reader *reader, const uint8_t *bytes, size_t size,
                     struct image *ret, struct error *err) {
    struct jpeg_decoder *decoder = &reader->decoder;
    struct rect at;
    if (open_jpeg(reader, bytes, size, err) != 0)
        return -1;
    struct rect whole = {0, 0, decoder->width, decoder->height};
    if (jpeg_decode(decoder, &whole, 1, ret, &at, err) != 0)
        return -1;
    crop(ret, &at, whole.width, whole.height);
    reader->damage = decoder->damage;
    return 0;
}

/* Reads the file's bytes to reader->encoded. */
static int read_bytes(struct picture_reader *reader, const char *path, struct error *err) {
    struct buf *bytes = &reader->encoded;
    reader->damage = NULL;
    bytes->size = 0;
    bytes->max = JPEG_BYTES_MAX;
    return file_read(path, bytes, err);
}

int picture_reader_size(struct picture_reader *reader, const char *path, int *ret_width,
                        int *ret_height, struct error *err) {
    const struct buf *bytes = &reader->encoded;
    if (read_bytes(reader, path, err) != 0)
        return -1;
    const uint8_t *data = (const uint8_t *)bytes->data;
    const struct whole_format *format = whole_format_of(data, bytes->size);
    int failed = 0;
    if (format != NULL) {
        failed = whole_size(format, data, bytes->size, ret_width, ret_height, err);
    } else if ((failed = open_jpeg(reader, data, bytes->size, err)) == 0) {
        *ret_width = reader->decoder.width;
        *ret_height = reader->decoder.height;
    }
    return failed == 0 ? 0 : error_wrap(err, "%s", path);
}

int picture_reader_read(struct picture_reader *reader, const char *path, struct image *ret,
                        struct error *err) {
    const struct buf *bytes = &reader->encoded;
    if (read_bytes(reader, path, err) != 0)
        return -1;
    const uint8_t *data = (const uint8_t *)bytes->data;
    const struct whole_format *format = whole_format_of(data, bytes->size);
    int failed = format != NULL ? whole_decode(format, data, bytes->size, ret, err)
                                : read_jpeg(reader, data, bytes->size, ret, err);
    return failed == 0 ? 0 : error_wrap(err, "%s", path);
}

int picture_read(const char *path, struct image *ret, struct error *err) {
    cleanup_picture_reader struct picture_reader reader = {0};
    return picture_reader_read(&reader, path, ret, err);
}

int picture_write(const struct image *image, bool png, const char *path, struct error *err) {
    cleanup_buf struct buf bytes = {.max = png ? PNG_BYTES_MAX : JPEG_BYTES_MAX};
    int failed = png ? png_encode(image, &bytes, err) : jpeg_encode(image, QUALITY, &bytes, err);
    if (failed != 0)
        return error_wrap(err, "%s", path);
    return file_publish(path, bytes.data, bytes.size, 0644, err);
}

bool picture_suffix_ends(const char *name) {
    static const char *const suffixes[] = {".jpg", ".jpeg", ".jpe", ".jfif",
                                           ".png", ".ppm",  ".pgm"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (strcasecmp(dot, suffixes[i]) == 0)
            return true;
    return false;
}

const char *picture_suffix_of(const uint8_t *bytes, size_t size) {
    if (png_is(bytes, size))
        return ".png";
    return pnm_is(bytes, size) ? ".ppm" : ".jpg";
}

#include "data/png.h"

#include "data/jpeg.h"

#include <png.h>
#include <string.h>

static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

bool png_is(const uint8_t *bytes, size_t size) {
    return size >= sizeof(signature) && memcmp(bytes, signature, sizeof(signature)) == 0;
}

/* RGBA in place to RGB: libpng would blend what is transparent with a background. */
static void drop_alpha(const uint8_t *in, uint8_t *out, size_t pixels) {
    for (size_t i = 0; i < pixels; i++, in += 4, out += IMAGE_CHANNELS) {
        out[0] = in[0];
        out[1] = in[1];
        out[2] = in[2];
    }
}

static int read_pixels(png_image *picture, struct image *out, struct error *err) {
    int width = (int)picture->width;
    int height = (int)picture->height;
    bool alpha = (picture->format & PNG_FORMAT_FLAG_ALPHA) != 0;
    picture->format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    /* Room for four channels, of which the picture then uses three. */
    int rows = alpha ? height + (height + 2) / IMAGE_CHANNELS : height;
    if (image_resize(out, width, rows, err) != 0)
        return -1;
    if (png_image_finish_read(picture, NULL, out->pixels, 0, NULL) == 0)
        return error_set(err, EXIT_CODE_DATA, "PNG: %s", picture->message);
    if (alpha)
        drop_alpha(out->pixels, out->pixels, (size_t)width * (size_t)height);
    out->height = height;
    return 0;
}

int png_decode(const uint8_t *bytes, size_t size, struct image *out, struct error *err) {
    png_image picture;
    memset(&picture, 0, sizeof(picture));
    picture.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&picture, bytes, size) == 0)
        return error_set(err, EXIT_CODE_DATA, "PNG: %s", picture.message);
    int result = -1;
    picture.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* a deep picture is no linear one */
    if ((uint64_t)picture.width * picture.height > JPEG_PIXELS_MAX)
        (void)error_set(err, EXIT_CODE_DATA, "PNG: %u x %u pixels; %d in all are the most",
                        picture.width, picture.height, JPEG_PIXELS_MAX);
    else
        result = read_pixels(&picture, out, err);
    png_image_free(&picture);
    return result;
}

int png_encode(const struct image *image, struct buf *out, struct error *err) {
    png_image picture;
    memset(&picture, 0, sizeof(picture));
    picture.version = PNG_IMAGE_VERSION;
    picture.width = (png_uint_32)image->width;
    picture.height = (png_uint_32)image->height;
    picture.format = PNG_FORMAT_RGB;
    size_t size = PNG_IMAGE_PNG_SIZE_MAX(picture);
    if (buf_reserve(out, size, err) != 0)
        return -1;
    png_alloc_size_t written = size;
    if (png_image_write_to_memory(&picture, out->data + out->size, &written, 0, image->pixels, 0,
                                  NULL) == 0)
        return error_set(err, EXIT_CODE_INTERNAL, "PNG: %s", picture.message);
    out->size += written;
    out->data[out->size] = '\0';
    return 0;
}

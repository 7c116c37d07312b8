#include "data/png.h"

#include <png.h>
#include <string.h>

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

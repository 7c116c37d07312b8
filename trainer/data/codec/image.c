#include "trainer/data/codec/image.h"

#include <stdlib.h>

/* The one place that allocates pixels: decoders, the resampler and the painters all write to a
 * struct image that they have been given. */

void image_done(struct image *image) {
    free(image->pixels);
    *image = (struct image){0};
}

/* The old pixels are not kept: a larger picture gets new memory instead of a copy. On failure of
 * the allocation no pixels are left, and the sides are those from before, so that the picture must
 * not be read. */
int image_resize(struct image *image, int width, int height, struct error *err) {
    if (width <= 0 || height <= 0)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "a picture of %d x %d pixels; expected sides of 1 or more", width, height);
    size_t size = (size_t)width * (size_t)height * IMAGE_CHANNELS;
    if (size > image->capacity) {
        free(image->pixels);
        image->capacity = 0;
        image->pixels = malloc(size);
        if (image->pixels == NULL)
            return error_no_memory(err, "picture");
        image->capacity = size;
    }
    image->width = width;
    image->height = height;
    return 0;
}

#include "trainer/data/codec/resize.h"

#include <stdlib.h>
#include <string.h>

void resizer_done(struct resizer *resizer) {
    resize_across_done(&resizer->across);
    resize_axis_done(&resizer->columns);
    resize_axis_done(&resizer->rows);
    free(resizer->row);
    *resizer = (struct resizer){0};
}

int resize_window(struct resizer *resizer, const struct image *in, const struct resize_map *map,
                  uint8_t *out, struct error *err) {
    const struct rect *window = &map->window;
    struct resize_axis *columns = &resizer->columns;
    struct resize_axis *rows = &resizer->rows;
    const enum resize_isa isa = resize_isa_best();
    size_t stride = (size_t)in->width * IMAGE_CHANNELS;
    if (resize_axis_make(columns, map->left, map->width, map->virtual_width, window->left,
                         window->width, in->width, err) != 0 ||
        resize_axis_make(rows, map->top, map->height, map->virtual_height, window->top,
                         window->height, in->height, err) != 0 ||
        resize_across_prepare(&resizer->across, isa, columns, window->width, map->flip, err) != 0)
        return -1;
    size_t slack = (size_t)columns->taps * IMAGE_CHANNELS + RESIZE_ROW_SLACK;
    resizer->row = resize_grown(resizer->row, &resizer->row_capacity,
                                (stride + slack) * sizeof(*resizer->row));
    if (resizer->row == NULL)
        return error_no_memory(err, "resampling");
    memset(resizer->row + stride, 0, slack * sizeof(*resizer->row));
    size_t out_stride = (size_t)window->width * IMAGE_CHANNELS;
    for (int y = 0; y < window->height; y++, out += out_stride) {
        if (rows->first[y] < 0) {
            memset(out, 0, out_stride);
            continue;
        }
        const int16_t *weights = rows->weights + (size_t)y * (size_t)rows->taps;
        resize_down(isa, image_row(in, rows->first[y]), stride, weights, rows->taps, stride,
                    resizer->row);
        resize_across(&resizer->across, resizer->row, out);
    }
    return 0;
}

int resize_whole(struct resizer *resizer, const struct image *in, int width, int height,
                 struct image *out, struct error *err) {
    if (image_resize(out, width, height, err) != 0)
        return -1;
    const struct resize_map map = {
        .width = in->width,
        .height = in->height,
        .virtual_width = width,
        .virtual_height = height,
        .window = {0, 0, width, height},
    };
    return resize_window(resizer, in, &map, out->pixels, err);
}

int resize_short_side(struct resizer *resizer, const struct image *in, int side, struct image *out,
                      struct error *err) {
    const int least = in->width < in->height ? in->width : in->height;
    const int width = (int)((int64_t)in->width * side / least);
    const int height = (int)((int64_t)in->height * side / least);
    return resize_whole(resizer, in, width, height, out, err);
}

/* Resizing of pictures. */
#include "trainer/backend/ref/base/body.h"
#include "trainer/backend/ref/detect/region.h"
#include "trainer/math/bilinear.h"
#include "trainer/math/image_size.h"

struct picture {
    const struct ref_call *call;
    const double *bytes;
    int32_t size[IMAGE_SIZE_FIELDS];
    int channel;
};

/* Returns the normalized value of a source pixel, in the orientation of the resized picture. */
static double source_at(const struct picture *p, int32_t row, int32_t column) {
    const struct op_attr *attr = &p->call->op.attr;
    int32_t width = p->size[IMAGE_SIZE_SOURCE_W];
    bool bgr = (attr->detect.flags & DETECT_PIXELS_BGR) != 0;
    if (p->size[IMAGE_SIZE_FLIP] != 0)
        column = width - 1 - column;
    double level =
        p->bytes[((int64_t)row * width + column) * 3 + (bgr ? 2 - p->channel : p->channel)];
    return ((bgr ? level : level / 255) - (double)attr->mean[p->channel]) /
           (double)attr->std[p->channel];
}

/* Weights and positions are those of math/, in f32 as in all backends; only the sum is in
 * double. */
static double value_at(const struct picture *p, int32_t i, int32_t j) {
    int32_t height = p->size[IMAGE_SIZE_SOURCE_H], width = p->size[IMAGE_SIZE_SOURCE_W];
    struct bilinear_tap y =
        bilinear_source(i, bilinear_scale(height, p->size[IMAGE_SIZE_H]), height);
    struct bilinear_tap x = bilinear_source(j, bilinear_scale(width, p->size[IMAGE_SIZE_W]), width);
    double down = (double)y.fraction, right = (double)x.fraction;
    return (1 - down) *
               ((1 - right) * source_at(p, y.low, x.low) + right * source_at(p, y.low, x.high)) +
           down *
               ((1 - right) * source_at(p, y.high, x.low) + right * source_at(p, y.high, x.high));
}

/* Elements that no picture covers keep their zeros, and so do channels that pad a pixel. */
int ref_image_resize(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *y = &call->out_shape[IMAGE_RESIZE_Y];
    for (int64_t at = 0; at < shape_count(y); at++) {
        int64_t c = at % y->dim[3], j = at / y->dim[3] % y->dim[2];
        int64_t i = at / y->dim[3] / y->dim[2] % y->dim[1];
        int64_t n = at / y->dim[3] / y->dim[2] / y->dim[1];
        struct picture p = {.call = call, .channel = (int)c};
        p.bytes = call->in[IMAGE_RESIZE_IMAGE] + n * call->in_shape[IMAGE_RESIZE_IMAGE].dim[1];
        ref_ints(call->in[IMAGE_RESIZE_SIZE] + n * IMAGE_SIZE_FIELDS, IMAGE_SIZE_FIELDS, p.size);
        if (p.size[IMAGE_SIZE_VALID] != 0 && c < 3 && i < p.size[IMAGE_SIZE_H] &&
            j < p.size[IMAGE_SIZE_W])
            call->out[IMAGE_RESIZE_Y][at] = value_at(&p, (int32_t)i, (int32_t)j);
    }
    return 0;
}

#include "trainer/data/detect/detection_draw.h"

#include <math.h>

/* Limits coordinates to a range in which f32 still resolves pixels. */
static const double FAR = 1e6;

static void box_tv(const struct detection_draw *draw, struct detect_size picture,
                   const float box[4], float ret[4]) {
    const float width = (float)picture.width;
    float ratio_x = (float)draw->scaled.width / width;
    float ratio_y = (float)draw->scaled.height / (float)picture.height;
    ret[0] = (draw->flip ? width - box[2] : box[0]) * ratio_x;
    ret[1] = box[1] * ratio_y;
    ret[2] = (draw->flip ? width - box[0] : box[2]) * ratio_x;
    ret[3] = box[3] * ratio_y;
}

static void point_d2(const struct detection_draw *draw, struct detect_size picture, double x,
                     double y, float ret[2]) {
    double width = draw->scaled.width;
    x *= width / picture.width;
    y *= (double)draw->scaled.height / picture.height;
    ret[0] = (float)(draw->flip ? width - x : x);
    ret[1] = (float)y;
}

static void point_mb(const struct detection_draw *draw, struct detect_size picture, float x,
                     float y, float ret[2]) {
    float width = (float)draw->scaled.width;
    x *= width / (float)picture.width;
    y *= (float)draw->scaled.height / (float)picture.height;
    ret[0] = draw->flip ? width - x - 1 : x;
    ret[1] = y;
}

void detection_draw_point(const struct detection_draw *draw, struct detect_size picture, double x,
                          double y, float ret[2]) {
    x = fmin(fmax(x, -FAR), FAR);
    y = fmin(fmax(y, -FAR), FAR);
    if (draw->rule == DETECT_SIZE_MB)
        point_mb(draw, picture, (float)x, (float)y, ret);
    else
        point_d2(draw, picture, x, y, ret);
}

void detection_draw_box(const struct detection_draw *draw, struct detect_size picture,
                        const float box[4], float ret[4]) {
    float one[2], other[2];
    if (draw->rule == DETECT_SIZE_TV) {
        box_tv(draw, picture, box, ret);
        return;
    }
    detection_draw_point(draw, picture, (double)box[draw->flip ? 2 : 0], (double)box[1], one);
    detection_draw_point(draw, picture, (double)box[draw->flip ? 0 : 2], (double)box[3], other);
    ret[0] = one[0];
    ret[1] = one[1];
    ret[2] = other[0];
    ret[3] = other[1];
}

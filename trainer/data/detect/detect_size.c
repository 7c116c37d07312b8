#include "trainer/data/detect/detect_size.h"

#include <math.h>
#include <stdbool.h>

int detect_sizes_check(const struct detect_sizes *sizes, struct error *err) {
    if (sizes->short_side >= 1 && sizes->short_side <= sizes->long_side &&
        sizes->long_side <= DETECT_SIDE_MAX)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "pictures cannot be scaled to a short side of %d and a long one of %d "
                     "(1 <= short <= long <= %d)",
                     sizes->short_side, sizes->long_side, DETECT_SIDE_MAX);
}

static int at_least_one(double side) {
    return side < 1 ? 1 : (int)side;
}

static struct detect_size resized_tv(const struct detect_sizes *sizes, double low, double high,
                                     struct detect_size picture) {
    double scale = fmin(sizes->short_side / low, sizes->long_side / high);
    return (struct detect_size){at_least_one(floor(picture.height * scale)),
                                at_least_one(floor(picture.width * scale))};
}

static struct detect_size resized_d2(const struct detect_sizes *sizes, double low,
                                     struct detect_size picture) {
    double scale = sizes->short_side / low;
    bool flat = picture.height < picture.width;
    double height = flat ? sizes->short_side : scale * picture.height;
    double width = flat ? scale * picture.width : sizes->short_side;
    double longest = fmax(height, width);
    if (longest > sizes->long_side) {
        height *= sizes->long_side / longest;
        width *= sizes->long_side / longest;
    }
    return (struct detect_size){at_least_one(height + 0.5), at_least_one(width + 0.5)};
}

static struct detect_size resized_mb(const struct detect_sizes *sizes, double low, double high,
                                     struct detect_size picture) {
    int side = sizes->short_side;
    if (high / low * side > sizes->long_side)
        side = at_least_one(nearbyint(sizes->long_side * low / high));
    if (picture.width < picture.height)
        return (struct detect_size){at_least_one((double)side * picture.height / picture.width),
                                    side};
    return (struct detect_size){side, at_least_one((double)side * picture.width / picture.height)};
}

struct detect_size detect_resized(const struct detect_sizes *sizes, struct detect_size picture) {
    double low = picture.height < picture.width ? picture.height : picture.width;
    double high = picture.height < picture.width ? picture.width : picture.height;
    switch (sizes->rule) {
    case DETECT_SIZE_D2:
        return resized_d2(sizes, low, picture);
    case DETECT_SIZE_MB:
        return resized_mb(sizes, low, high, picture);
    case DETECT_SIZE_TV:
        break;
    }
    return resized_tv(sizes, low, high, picture);
}

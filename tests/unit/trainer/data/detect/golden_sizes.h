/* torchvision's sizes and boxes (tests/golden/detection_sample.py). */
#ifndef TESTS_UNIT_TRAINER_DATA_DETECT_GOLDEN_SIZES_H
#define TESTS_UNIT_TRAINER_DATA_DETECT_GOLDEN_SIZES_H

struct golden_size {
    int short_side;
    int long_side;
    int height;
    int width;
    int scaled_height;
    int scaled_width;
};

struct golden_box {
    int height;
    int width;
    int flip;
    double xywh[4];
    float box[4];
};

#include "tests/golden/detection_sample.h"

#endif

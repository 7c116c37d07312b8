#include "trainer/eval/coco_rules.h"

struct area_range {
    const char *name;
    double low;
    double high;
};

static const struct area_range AREAS[] = {
    {"all", 0, 1e10},
    {"small", 0, 32 * 32},
    {"medium", 32 * 32, 96 * 96},
    {"large", 96 * 96, 1e10},
};

double coco_threshold(size_t number) {
    return number == 9 ? 0.95 : (double)number * ((0.95 - 0.5) / 9) + 0.5;
}

double coco_recall(size_t number) {
    return (double)number * 0.01;
}

const char *coco_area_name(size_t number) {
    return AREAS[number].name;
}

bool coco_area_outside(size_t number, double area) {
    return area < AREAS[number].low || area > AREAS[number].high;
}

size_t coco_limit(size_t number) {
    static const size_t LIMITS[] = {1, 10, 100};
    return LIMITS[number];
}

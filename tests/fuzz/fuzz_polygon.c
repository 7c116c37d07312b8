/* Polygons: a byte of height, one of width, one for the form of the numbers (raw doubles, or small
 * ones in 64ths of a pixel), then coordinates. The runs add up, and the crossings that are
 * computed directly are those of the definition: every edge walked point by point. */
#include "tests/fuzz/check.h"
#include "trainer/eval/rle_polygon.h"
#include "trainer/eval/rle_text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { POINTS_MAX = 64, GRID = 256 };

/* How many crossings lie above each pixel of a column, by the definition. */
static uint8_t parity[GRID * GRID + GRID + 1];

static void cross(int x0, int y0, int x1, int y1, int height, int width) {
    if (x0 == x1)
        return;
    double column = ((x1 < x0 ? x1 : x1 - 1) + 0.5) / 5 - 0.5;
    if (floor(column) != column || column < 0 || column > width - 1)
        return;
    double row = ((y0 < y1 ? y0 : y1) + 0.5) / 5 - 0.5;
    row = ceil(row < 0 ? 0 : row > height ? height : row);
    parity[(int)column * height + (int)row] ^= 1;
}

/* The points of one edge, from its lower end along the longer axis. */
static void walk(int ax, int ay, int bx, int by, int height, int width) {
    int dx = abs(bx - ax), dy = abs(by - ay);
    int swap = dx >= dy ? ax > bx : ay > by;
    int sx = swap ? bx : ax, sy = swap ? by : ay, ex = swap ? ax : bx, ey = swap ? ay : by;
    int steps = dx >= dy ? dx : dy, last_x = 0, last_y = 0;
    double slope = steps == 0 ? 0 : dx >= dy ? (double)(ey - sy) / dx : (double)(ex - sx) / dy;
    for (int t = 0; t <= steps; t++) {
        int x = dx >= dy ? sx + t : (int)(sx + slope * t + 0.5);
        int y = dx >= dy ? (int)(sy + slope * t + 0.5) : sy + t;
        if (t > 0)
            cross(last_x, last_y, x, y, height, width);
        last_x = x;
        last_y = y;
    }
}

static void check_definition(const struct rle *mask, const double *points, size_t count) {
    int height = (int)mask->height, width = (int)mask->width;
    memset(parity, 0, sizeof(parity));
    for (size_t i = 0; i < count; i++) {
        size_t next = (i + 1) % count;
        walk((int)(5 * points[2 * i] + 0.5), (int)(5 * points[2 * i + 1] + 0.5),
             (int)(5 * points[2 * next] + 0.5), (int)(5 * points[2 * next + 1] + 0.5), height,
             width);
    }
    size_t at = 0;
    uint8_t inside = 0;
    for (size_t run = 0; run < mask->count; run++)
        for (uint32_t i = 0; i < mask->runs[run]; i++, at++) {
            inside ^= parity[at];
            CHECK(inside == (run & 1));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_rle struct rle mask = {0};
    static struct rle_scratch scratch; /* kept, as its users keep it */
    struct error err = {0};
    double points[2 * POINTS_MAX] = {0};
    if (size < 3)
        return 0;
    uint32_t height = data[0] + 1U, width = data[1] + 1U;
    size_t item = (data[2] & 1) != 0 ? sizeof(double) : sizeof(int16_t);
    size_t count = (size - 3) / item / 2;
    count = count < POINTS_MAX ? count : POINTS_MAX;
    for (size_t i = 0; i < 2 * count; i++) {
        int16_t parts;
        memcpy(&parts, data + 3 + i * item, sizeof(parts));
        points[i] = parts / 64.0;
        if (item == sizeof(double))
            memcpy(&points[i], data + 3 + i * item, sizeof(double));
    }
    if (rle_from_polygon(&mask, &scratch, points, count, height, width, &err) != 0) {
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
        return 0;
    }
    CHECK(rle_end(&mask, &err) == 0);
    for (size_t i = 1; i < mask.count; i++)
        CHECK(mask.runs[i] > 0);
    if (item != sizeof(double))
        check_definition(&mask, points, count);
    return 0;
}

#include "trainer/eval/rle_polygon.h"

#include "common/grow.h"
#include "trainer/math/polygon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The outline is upsampled by five, and each edge is followed from one fine position to the next
 * (math/polygon.h). Where it passes the centre of a column of pixels, the first pixel below it
 * changes between outside and inside. The mask is therefore known from these crossings alone:
 * sorted, the distances between them are its runs.
 *
 * Crossings of all edges are collected unsorted and counted by column, placed into their columns by
 * a counting sort, and sorted within each column. A column has few, so this is linear in practice.
 *
 * Coordinates are checked before anything is computed: beyond POLYGON_LIMIT the arithmetic of
 * math/polygon.h would not round as the reference does. */

/* Up to this many crossings of one column are sorted by insertion. Zigzag outlines, which a file
 * may have, would make that quadratic; they go to qsort. */
enum { INSERTION_MAX = 32 };

void rle_scratch_done(struct rle_scratch *scratch) {
    free(scratch->crossings);
    free(scratch->sorted);
    free(scratch->columns);
    rle_done(&scratch->part);
    rle_done(&scratch->merged);
    *scratch = (struct rle_scratch){0};
}

/* All arrays of the scratch memory hold 32-bit numbers: a pixel's index fits, as rle_size_fits was
 * asked. */
static int grow(uint32_t **numbers, size_t *capacity, size_t count, struct error *err) {
    return grow_array(numbers, capacity, count, sizeof(**numbers), "a polygon's crossings", err);
}

/* Adds the crossings of columns by the edge between two points, as pixel indices column * height +
 * row, counted by column; a crossing below the last row is one above the next column. */
static int add_edge(struct rle_scratch *scratch, const struct polygon_edge *edge, uint32_t height,
                    struct error *err) {
    if (edge->first > edge->last)
        return 0;
    size_t more = (size_t)(edge->last - edge->first) + 1;
    if (grow(&scratch->crossings, &scratch->crossing_capacity, scratch->crossing_count + more,
             err) != 0)
        return -1;
    for (int column = edge->first; column <= edge->last; column++) {
        uint32_t row = (uint32_t)polygon_edge_row(edge, column, (int)height);
        scratch->crossings[scratch->crossing_count++] = (uint32_t)column * height + row;
        scratch->columns[(uint32_t)column + (row == height)]++;
    }
    return 0;
}

/* Collects the crossings of the closed polygon: the first edge comes from the last point. `columns`
 * has a place more than the picture has columns, for crossings below the last one's last row. */
static int collect_crossings(struct rle_scratch *scratch, const double *points, size_t count,
                             uint32_t height, uint32_t width, struct error *err) {
    scratch->crossing_count = 0;
    if (grow(&scratch->columns, &scratch->column_capacity, (size_t)width + 1, err) != 0)
        return -1;
    memset(scratch->columns, 0, ((size_t)width + 1) * sizeof(*scratch->columns));
    int from_x = polygon_fine(points[2 * count - 2]), from_y = polygon_fine(points[2 * count - 1]);
    for (size_t i = 0; i < count; i++) {
        int x = polygon_fine(points[2 * i]), y = polygon_fine(points[2 * i + 1]);
        struct polygon_edge edge = polygon_edge_between(from_x, from_y, x, y, (int)width);
        if (add_edge(scratch, &edge, height, err) != 0)
            return -1;
        from_x = x;
        from_y = y;
    }
    return 0;
}

/* For qsort; numbers up to 2^32 do not fit into the difference of two ints. */
static int compare(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Insertion sort, for the few crossings of a column: no calls, and hardly a move if they are in
 * order already. */
static void sort_few(uint32_t *numbers, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint32_t number = numbers[i];
        size_t at = i;
        for (; at > 0 && numbers[at - 1] > number; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

/* Sorts the crossings into scratch->sorted, followed by the end of the picture: into columns by
 * counting sort, then within each column. `columns` changes its meaning on the way: counts, then
 * starts, then ends. */
static int sort_crossings(struct rle_scratch *scratch, uint32_t height, uint32_t width,
                          struct error *err) {
    if (grow(&scratch->sorted, &scratch->sorted_capacity, scratch->crossing_count + 1, err) != 0)
        return -1;
    uint32_t start = 0;
    for (uint32_t column = 0; column <= width; column++) {
        uint32_t here = scratch->columns[column];
        scratch->columns[column] = start;
        start += here;
    }
    for (size_t i = 0; i < scratch->crossing_count; i++) {
        uint32_t index = scratch->crossings[i];
        scratch->sorted[scratch->columns[index / height]++] = index;
    }
    start = 0;
    for (uint32_t column = 0; column <= width; column++) {
        size_t count = scratch->columns[column] - start;
        if (count > INSERTION_MAX)
            qsort(scratch->sorted + start, count, sizeof(*scratch->sorted), compare);
        else
            sort_few(scratch->sorted + start, count);
        start = scratch->columns[column];
    }
    scratch->sorted[scratch->crossing_count] = height * width;
    return 0;
}

/* Makes the runs: they are the distances between sorted crossings, except that two crossings at the
 * same pixel cancel out. Then the distance to the one after them continues the run before. The last
 * crossing is the end of the picture. */
static int runs_from_crossings(struct rle *ret, const struct rle_scratch *scratch,
                               struct error *err) {
    size_t count = scratch->crossing_count + 1;
    if (rle_reserve(ret, count, err) != 0)
        return -1;
    const uint32_t *at = scratch->sorted;
    size_t runs = 0;
    ret->runs[runs++] = at[0];
    for (size_t i = 1; i < count; i++) {
        if (at[i] > at[i - 1])
            ret->runs[runs++] = at[i] - at[i - 1];
        else if (++i < count)
            ret->runs[runs - 1] += at[i] - at[i - 1];
    }
    ret->count = runs;
    return 0;
}

int rle_check_points(const double *points, size_t count, struct error *err) {
    for (size_t i = 0; i < 2 * count; i++)
        if (!(fabs(points[i]) <= POLYGON_LIMIT))
            return error_set(err, EXIT_CODE_DATA,
                             "coordinate %g of a polygon; expected -%d to %d pixels", points[i],
                             POLYGON_LIMIT, POLYGON_LIMIT);
    return 0;
}

/* A polygon of one or two points is valid, and covers no pixel: the way back cancels the way there.
 * RET may be damaged on failure, but can be reused. */
int rle_from_polygon(struct rle *ret, struct rle_scratch *scratch, const double *points,
                     size_t count, uint32_t height, uint32_t width, struct error *err) {
    if (!rle_size_fits(height, width))
        return error_set(err, EXIT_CODE_DATA,
                         "a polygon on a picture of %u x %u (height, width); "
                         "expected sides of 1 or more, and at most %d pixels",
                         height, width, RLE_PIXELS_MAX);
    ret->height = height;
    ret->width = width;
    ret->count = 0;
    if (count == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "a polygon without points; expected a list x,y,x,y,...");
    if (rle_check_points(points, count, err) != 0 ||
        collect_crossings(scratch, points, count, height, width, err) != 0 ||
        sort_crossings(scratch, height, width, err) != 0)
        return -1;
    return runs_from_crossings(ret, scratch, err);
}

int rle_from_box(struct rle *ret, struct rle_scratch *scratch, const double box[4], uint32_t height,
                 uint32_t width, struct error *err) {
    double right = box[0] + box[2], bottom = box[1] + box[3];
    const double corners[] = {box[0], box[1], box[0], bottom, right, bottom, right, box[1]};
    return rle_from_polygon(ret, scratch, corners, 4, height, width, err);
}

/* Draws one part of SIZE numbers into RET. As in the reference, the size of the first decides
 * whether four numbers are a box: a polygon of two points cannot be distinguished from it. */
static int part(struct rle *ret, struct rle_scratch *scratch, const double *numbers, uint32_t size,
                const struct rle_parts *parts, struct error *err) {
    if (parts->sizes[0] == 4 && size == 4)
        return rle_from_box(ret, scratch, numbers, parts->height, parts->width, err);
    if (parts->sizes[0] == 4 || size < 4 || size % 2 != 0)
        return error_set(err, EXIT_CODE_DATA, "a polygon of %u numbers; expected %s", size,
                         parts->sizes[0] == 4 ? "4, as the first one has"
                                              : "an even number from 4 on");
    return rle_from_polygon(ret, scratch, numbers, size / 2, parts->height, parts->width, err);
}

/* Unions one part after the other, in the order of the file. The two masks change places after each
 * union, so no memory is copied. The first part is drawn into RET itself. */
int rle_from_parts(struct rle *ret, struct rle_scratch *scratch, const struct rle_parts *parts,
                   struct error *err) {
    if (parts->count == 0)
        return error_set(err, EXIT_CODE_DATA, "a mask without a polygon; expected one or more");
    const double *numbers = parts->numbers;
    if (part(ret, scratch, numbers, parts->sizes[0], parts, err) != 0)
        return -1;
    for (size_t i = 1; i < parts->count; i++) {
        numbers += parts->sizes[i - 1];
        if (part(&scratch->part, scratch, numbers, parts->sizes[i], parts, err) != 0 ||
            rle_merge(&scratch->merged, ret, &scratch->part, RLE_UNION, err) != 0)
            return -1;
        struct rle taken = *ret;
        *ret = scratch->merged;
        scratch->merged = taken;
    }
    return 0;
}

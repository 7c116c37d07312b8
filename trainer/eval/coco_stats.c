#include "trainer/eval/coco_stats.h"

#include "common/cleanup.h"

#include <stdlib.h>

enum { LANES = 8, BLOCK = 128 };

const struct coco_stat COCO_STAT_ROWS[COCO_STATS] = {
    {true, -1, 0, 2},  {true, 0, 0, 2},   {true, 5, 0, 2},   {true, -1, 1, 2},
    {true, -1, 2, 2},  {true, -1, 3, 2},  {false, -1, 0, 0}, {false, -1, 0, 1},
    {false, -1, 0, 2}, {false, -1, 1, 2}, {false, -1, 2, 2}, {false, -1, 3, 2},
};

static double sum_block(const double *numbers, size_t count) {
    double lanes[LANES];
    for (size_t l = 0; l < LANES; l++)
        lanes[l] = numbers[l];
    size_t i = LANES;
    for (; i + LANES <= count; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            lanes[l] += numbers[i + l];
    double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                 ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < count; i++)
        sum += numbers[i];
    return sum;
}

double coco_sum(const double *numbers, size_t count) {
    if (count < LANES) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += numbers[i];
        return sum;
    }
    if (count <= BLOCK)
        return sum_block(numbers, count);
    size_t half = count / 2;
    half -= half % LANES;
    return coco_sum(numbers, half) + coco_sum(numbers + half, count - half);
}

/* Categories FIRST to END. */
struct span {
    size_t first;
    size_t end;
};

static double mean_of(const struct coco_curves *curves, const struct coco_stat *stat,
                      struct span span, double *room) {
    size_t count = 0;
    size_t recalls = stat->precision ? COCO_RECALLS : 1;
    for (size_t t = 0; t < COCO_THRESHOLDS; t++) {
        if (stat->threshold >= 0 && t != (size_t)stat->threshold)
            continue;
        for (size_t r = 0; r < recalls; r++)
            for (size_t c = span.first; c < span.end; c++) {
                double value =
                    stat->precision
                        ? curves->precision[coco_precision_index(curves, t, r, c, stat->area,
                                                                 stat->limit)]
                        : curves->recall[coco_recall_index(curves, t, c, stat->area, stat->limit)];
                if (value > -1)
                    room[count++] = value;
            }
    }
    return count > 0 ? coco_sum(room, count) / (double)count : -1;
}

static int stats_of(const struct coco_curves *curves, struct span span, double ret[COCO_STATS],
                    struct error *err) {
    size_t most = (span.end - span.first) * COCO_THRESHOLDS * COCO_RECALLS;
    cleanup_free double *room = malloc((most + 1) * sizeof(*room));
    if (room == NULL)
        return error_no_memory(err, "means of precision");
    for (size_t i = 0; i < COCO_STATS; i++)
        ret[i] = mean_of(curves, &COCO_STAT_ROWS[i], span, room);
    return 0;
}

int coco_stats(const struct coco_curves *curves, double ret[COCO_STATS], struct error *err) {
    return stats_of(curves, (struct span){0, curves->category_count}, ret, err);
}

int coco_stats_category(const struct coco_curves *curves, size_t category, double ret[COCO_STATS],
                        struct error *err) {
    return stats_of(curves, (struct span){category, category + 1}, ret, err);
}

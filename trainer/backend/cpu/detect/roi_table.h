/* Pixel weights of a region's bins along one axis. They are lists: from bins to pixels, and from
 * pixels to bins. */
#ifndef TRAINER_BACKEND_CPU_DETECT_ROI_TABLE_H
#define TRAINER_BACKEND_CPU_DETECT_ROI_TABLE_H

#include "trainer/backend/cpu/kernels/loops.h"
#include "trainer/math/roi_axis.h"

/* Memory for the lists of an axis; `axis` is the last one filled. */
struct roi_table {
    struct blend_axis axis;
    int32_t *place, *first;
    struct blend_tap *taps;
    struct roi_entry *entries;
};

struct roi_entry {
    int32_t pixel, bin;
    float weight;
};

/* Returns the bytes of a table for regions with this rule on maps of at most SIZE pixels, a
 * multiple of 64. */
size_t roi_table_bytes(const struct roi_rule *rule, size_t size);
/* Makes a table in MEMORY. */
struct roi_table roi_table_in(char *memory, const struct roi_rule *rule, size_t size);

/* Makes a list for each bin 0 .. bins - 1: its pixels, ascending. */
void roi_table_bins(struct roi_table *table, const struct roi_axis *axis, int32_t bins);
/* Makes a list for each pixel in [begin, end) with a nonzero weight, ascending: its bins. Places
 * count from BEGIN. */
void roi_table_pixels(struct roi_table *table, const struct roi_axis *axis, int32_t bins,
                      int32_t begin, int32_t end);

#endif

#include "trainer/backend/cpu/detect/roi_table.h"

#include "trainer/backend/cpu/base/context.h"

/* Two pixels per sample; and a bin has at most three pixels more than its length. */
static size_t entries_max(const struct roi_rule *rule, size_t size) {
    size_t bins = (size_t)rule->bins;
    return rule->sampling > 0 ? 2 * bins * (size_t)rule->sampling : size + 3 * bins;
}

static size_t items_max(const struct roi_rule *rule, size_t size) {
    size_t entries = entries_max(rule, size);
    return entries > (size_t)rule->bins ? entries : (size_t)rule->bins;
}

/* The parts of a table, one after the other: places and first taps, the taps, the entries. */
size_t roi_table_bytes(const struct roi_rule *rule, size_t size) {
    size_t items = items_max(rule, size);
    return backend_aligned((2 * items + 1) * sizeof(int32_t)) +
           backend_aligned(items * sizeof(struct blend_tap)) +
           backend_aligned(items * sizeof(struct roi_entry));
}

struct roi_table roi_table_in(char *memory, const struct roi_rule *rule, size_t size) {
    struct roi_table t = {0};
    size_t items = items_max(rule, size);
    t.place = (int32_t *)(void *)memory;
    t.first = t.place + items;
    memory += backend_aligned((2 * items + 1) * sizeof(int32_t));
    t.taps = (struct blend_tap *)(void *)memory;
    memory += backend_aligned(items * sizeof(struct blend_tap));
    t.entries = (struct roi_entry *)(void *)memory;
    t.axis = (struct blend_axis){.place = t.place, .first = t.first, .taps = t.taps};
    return t;
}

/* Adds WEIGHT to pixel PIXEL of BIN, with entries from BEGIN to *END. */
static void add(struct roi_entry *entries, size_t begin, size_t *end, int32_t pixel, int32_t bin,
                float weight) {
    size_t at = *end;
    while (at > begin && entries[at - 1].pixel > pixel)
        at--;
    if (at > begin && entries[at - 1].pixel == pixel) {
        entries[at - 1].weight += weight;
        return;
    }
    for (size_t i = *end; i > at; i--)
        entries[i] = entries[i - 1];
    entries[at] = (struct roi_entry){pixel, bin, weight};
    (*end)++;
}

/* Adds the entries of BIN from END on, by ascending pixels; returns their end. */
static size_t add_bin(struct roi_entry *entries, size_t end, const struct roi_axis *axis,
                      int32_t bin) {
    size_t begin = end;
    float share = 1.0f / (float)axis->grid;
    for (int32_t i = 0; i < axis->grid; i++) {
        struct bilinear_tap tap;
        if (!roi_axis_sample(axis, bin, i, &tap))
            continue;
        add(entries, begin, &end, tap.low, bin, share * (1.0f - tap.fraction));
        if (tap.fraction > 0)
            add(entries, begin, &end, tap.high, bin, share * tap.fraction);
    }
    return end;
}

void roi_table_bins(struct roi_table *t, const struct roi_axis *axis, int32_t bins) {
    size_t end = 0;
    t->axis.count = (size_t)bins;
    for (int32_t bin = 0; bin < bins; bin++) {
        t->place[bin] = bin;
        t->first[bin] = (int32_t)end;
        end = add_bin(t->entries, end, axis, bin);
    }
    t->first[bins] = (int32_t)end;
    for (size_t i = 0; i < end; i++)
        t->taps[i] = (struct blend_tap){t->entries[i].pixel, t->entries[i].weight};
}

/* Sorts by ascending pixels, within a pixel in the order of bins: they are almost sorted
 * already. */
static void sort_by_pixel(struct roi_entry *entries, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct roi_entry entry = entries[i];
        size_t at = i;
        for (; at > 0 && entries[at - 1].pixel > entry.pixel; at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

void roi_table_pixels(struct roi_table *t, const struct roi_axis *axis, int32_t bins, int32_t begin,
                      int32_t end) {
    size_t entries = 0, taps = 0, items = 0;
    for (int32_t bin = 0; bin < bins; bin++)
        entries = add_bin(t->entries, entries, axis, bin);
    sort_by_pixel(t->entries, entries);
    for (size_t i = 0; i < entries; i++) {
        const struct roi_entry *e = &t->entries[i];
        if (e->pixel < begin || e->pixel >= end)
            continue;
        if (items == 0 || t->place[items - 1] != e->pixel - begin) {
            t->place[items] = e->pixel - begin;
            t->first[items++] = (int32_t)taps;
        }
        t->taps[taps++] = (struct blend_tap){e->bin, e->weight};
    }
    t->first[items] = (int32_t)taps;
    t->axis.count = items;
}

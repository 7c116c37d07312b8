#include "trainer/backend/cpu/detect/rank_select.h"

#include <stdlib.h>

/* Fewer than this are sorted directly. */
enum { SELECT_FEW = 64 };

static int by_falling_rank(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left < right) - (left > right);
}

static int by_rising_number(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Quickselect (Hoare 1961, "Algorithm 65: Find"): partitions [begin, end), which contains the
 * border after the first K, around a pivot until few are left. A pivot that is neither the
 * greatest nor the least leaves two shorter parts. */
static void part(uint64_t *ranks, size_t count, size_t k) {
    size_t begin = 0, end = count;
    while (end - begin > SELECT_FEW) {
        size_t length = end - begin, left = begin, right = end - 1;
        uint64_t pivot = median(median(ranks[begin], ranks[begin + length / 8], ranks[end - 1]),
                                median(ranks[begin + length / 4], ranks[begin + length / 2],
                                       ranks[begin + length / 4 * 3]),
                                ranks[begin + length / 3]);
        for (;;) {
            while (ranks[left] > pivot)
                left++;
            while (ranks[right] < pivot)
                right--;
            if (left >= right)
                break;
            uint64_t swap = ranks[left];
            ranks[left++] = ranks[right];
            ranks[right--] = swap;
        }
        /* All before LEFT are at least the pivot, those from LEFT on at most. */
        if (k <= left)
            end = left;
        else
            begin = left;
    }
    qsort(ranks + begin, end - begin, sizeof(*ranks), by_falling_rank);
}

size_t rank_select(uint64_t *ranks, size_t count, size_t k) {
    size_t taken = k < count ? k : count;
    if (taken < count)
        part(ranks, count, taken);
    qsort(ranks, taken, sizeof(*ranks), by_falling_rank);
    return taken;
}

void rank_sort_rising(uint32_t *numbers, size_t count) {
    qsort(numbers, count, sizeof(*numbers), by_rising_number);
}

#include "trainer/eval/coco_eval.h"

#include "common/cleanup.h"
#include "trainer/eval/coco_curve.h"
#include "trainer/eval/coco_match.h"
#include "trainer/eval/coco_pairs.h"
#include "trainer/eval/coco_rules.h"
#include "trainer/eval/coco_sort.h"

#include <omp.h>
#include <stdlib.h>

/* The work has three parallel parts: all pairs are matched, the outcomes of each category are
 * sorted by score, and each category and area gets its curves. A part ends before the next begins,
 * as a curve needs the outcomes of all images.
 *
 * Threads write to places of their own and share no sum, so the order in which they run changes no
 * bit. Errors are the exception: only one can be returned, and first_error makes it the one that a
 * single thread would have met first, so that two runs report the same.
 *
 * A category without an object that counts has no curve: its values stay -1, as in pycocotools, and
 * are left out of means (coco_stats.c). */

/* Pairs that a thread takes at a time: most have few objects, so one at a time would be mostly
 * scheduling; a few have hundreds, so larger blocks would be uneven. */
enum { PAIRS_AT_ONCE = 64 };

/* The error with the lowest pair number over all threads: the one that a single thread would meet
 * first. */
struct first_error {
    ptrdiff_t number; /* number of the pair; -1: none */
    struct error err;
};

/* Keeps ERR if pair NUMBER comes before that of the error so far. */
static void keep_first(struct first_error *first, ptrdiff_t number, const struct error *err) {
#pragma omp critical(coco_first_error)
    if (first->number < 0 || number < first->number) {
        first->number = number;
        first->err = *err;
    }
}

/* Returns true while an error of pair NUMBER would be the first one. Pairs beyond an error need no
 * work; those before it may still fail. */
static bool fails_later(const struct first_error *first, ptrdiff_t number) {
    bool later;
#pragma omp critical(coco_first_error)
    later = first->number < 0 || number < first->number;
    return later;
}

/* Matches all pairs; outcomes go to HITS, at the place of each pair. A matcher, with its buffers,
 * belongs to one thread. */
static int match_all(const struct coco_input *input, const struct coco_pairs *pairs,
                     struct coco_hit *hits, int threads, struct error *err) {
    struct first_error first = {.number = -1};
    ptrdiff_t count = (ptrdiff_t)pairs->count;
#pragma omp parallel num_threads(threads)
    {
        struct coco_matcher matcher = {0};
#pragma omp for schedule(dynamic, 1)
        for (ptrdiff_t block = 0; block < count; block += PAIRS_AT_ONCE) {
            struct error here = {0};
            ptrdiff_t end = block + PAIRS_AT_ONCE < count ? block + PAIRS_AT_ONCE : count;
            for (ptrdiff_t i = block; i < end && fails_later(&first, i); i++)
                if (coco_match(&matcher, input, pairs, &pairs->list[i], hits, &here) != 0)
                    keep_first(&first, i, &here);
        }
        coco_matcher_done(&matcher);
    }
    if (first.number < 0)
        return 0;
    *err = first.err;
    return -1;
}

/* Input of the curves. */
struct lines {
    const struct coco_pairs *pairs;
    const struct coco_hit *hits;
    struct coco_scored *sorted; /* all detections, within each category by falling score */
    struct coco_scored *scratch;
    size_t (*truth_count)[COCO_AREAS]; /* of each category */
    size_t category_count;
};

/* Returns where the detections of CATEGORY begin. Outcomes lie in the order of pairs, and pairs are
 * ordered by category, so those of a category are adjacent. A CATEGORY after the last one gives the
 * end. */
static size_t line_start(const struct lines *lines, size_t category) {
    size_t pair = lines->pairs->category_start[category];
    return pair < lines->pairs->count ? lines->pairs->list[pair].hits : lines->pairs->hit_count;
}

/* Sorts the outcomes of each category by falling score. The sort is stable, so equal scores stay in
 * the order of images, then of the list, as in the reference. Scratch memory is divided like the
 * outcomes. */
static void sort_lines(const struct lines *lines, int threads) {
    ptrdiff_t categories = (ptrdiff_t)lines->category_count;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (ptrdiff_t c = 0; c < categories; c++) {
        size_t start = line_start(lines, (size_t)c), end = line_start(lines, (size_t)c + 1);
        for (size_t i = start; i < end; i++)
            lines->sorted[i] = (struct coco_scored){lines->hits[i].score, (uint32_t)i};
        coco_sort(lines->sorted + start, end - start, lines->scratch + start);
    }
}

/* Makes the curves of each category and area, one after the other in a thread's own scratch
 * memory. */
static int draw_curves(const struct lines *lines, struct coco_curves *ret, int threads,
                       struct error *err) {
    struct first_error first = {.number = -1};
    ptrdiff_t count = (ptrdiff_t)(lines->category_count * COCO_AREAS);
#pragma omp parallel num_threads(threads)
    {
        struct coco_curve_scratch room = {0};
#pragma omp for schedule(dynamic, 1)
        for (ptrdiff_t i = 0; i < count; i++) {
            size_t category = (size_t)i / COCO_AREAS, area = (size_t)i % COCO_AREAS;
            size_t start = line_start(lines, category), end = line_start(lines, category + 1);
            struct coco_curve_input input = {.hits = lines->hits,
                                             .sorted = lines->sorted + start,
                                             .count = end - start,
                                             .category = category,
                                             .area = area,
                                             .truth_count = lines->truth_count[category][area]};
            struct error here = {0};
            if (input.truth_count > 0 && coco_curve(&room, &input, ret, &here) != 0)
                keep_first(&first, i, &here);
        }
        coco_curve_scratch_done(&room);
    }
    if (first.number < 0)
        return 0;
    *err = first.err;
    return -1;
}

/* One value more than needed is allocated, as malloc(0) may return NULL. -1 marks what has no
 * value. */
static int curves_init(struct coco_curves *curves, size_t category_count, struct error *err) {
    size_t recalls = category_count * COCO_THRESHOLDS * COCO_AREAS * COCO_LIMITS;
    size_t precisions = recalls * COCO_RECALLS;
    *curves = (struct coco_curves){.category_count = category_count};
    curves->precision = malloc((precisions + 1) * sizeof(double));
    curves->score = malloc((precisions + 1) * sizeof(double));
    curves->recall = malloc((recalls + 1) * sizeof(double));
    if (curves->precision == NULL || curves->score == NULL || curves->recall == NULL)
        return error_no_memory(err, "precision and recall");
    for (size_t i = 0; i < precisions; i++)
        curves->precision[i] = curves->score[i] = -1;
    for (size_t i = 0; i < recalls; i++)
        curves->recall[i] = -1;
    return 0;
}

/* Counts the objects that a recall of 1 would find: neither crowds nor outside the area's range. */
static void count_truth(const struct coco_objects *truth, size_t (*counts)[COCO_AREAS]) {
    for (size_t i = 0; i < truth->count; i++) {
        const struct coco_object *object = &truth->list[i];
        for (size_t area = 0; area < COCO_AREAS; area++)
            if (!object->crowd && !coco_area_outside(area, object->area))
                counts[object->category][area]++;
    }
}

/* Outcomes are allocated for all pairs together: the sort by score needs them at once. */
static int eval_pairs(const struct coco_input *input, const struct coco_pairs *pairs,
                      struct coco_curves *ret, struct error *err) {
    int threads = input->threads > 0 ? input->threads : omp_get_max_threads();
    cleanup_free struct coco_hit *hits = calloc(pairs->hit_count + 1, sizeof(*hits));
    cleanup_free struct coco_scored *sorted = calloc(pairs->hit_count + 1, sizeof(*sorted));
    cleanup_free struct coco_scored *scratch = calloc(pairs->hit_count + 1, sizeof(*scratch));
    cleanup_free size_t(*counts)[COCO_AREAS] = calloc(input->category_count + 1, sizeof(*counts));
    if (hits == NULL || sorted == NULL || scratch == NULL || counts == NULL)
        return error_no_memory(err, "scoring detections");
    if (match_all(input, pairs, hits, threads, err) != 0)
        return -1;
    struct lines lines = {.pairs = pairs,
                          .hits = hits,
                          .sorted = sorted,
                          .scratch = scratch,
                          .truth_count = counts,
                          .category_count = input->category_count};
    count_truth(&input->truth, counts);
    sort_lines(&lines, threads);
    return draw_curves(&lines, ret, threads, err);
}

/* RET is set on success alone; on failure it stays as it was. */
int coco_eval(const struct coco_input *input, struct coco_curves *ret, struct error *err) {
    struct coco_pairs pairs = {0};
    cleanup_coco_curves struct coco_curves curves = {0};
    int failed = coco_pairs_make(&pairs, input, err) != 0 ||
                 curves_init(&curves, input->category_count, err) != 0 ||
                 eval_pairs(input, &pairs, &curves, err) != 0;
    coco_pairs_done(&pairs);
    if (failed)
        return -1;
    *ret = curves;
    curves = (struct coco_curves){0};
    return 0;
}

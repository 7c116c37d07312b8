/* Greedy non-maximum suppression. A unit of work is one level of one picture: its candidates are
 * sorted, coordinate by coordinate, and each remaining one removes the later ones that it
 * overlaps, several at a time. Compiled without contraction (room.cmake), so that an overlap is
 * the same number everywhere. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/detect/rank_select.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/rank.h"

#include <math.h>

/* A thread's memory for the sorted candidates of one level. */
struct line {
    float *x1, *y1, *x2, *y2, *area;
    int32_t *struck;
    uint64_t *rank;
};

struct nms_op {
    struct cpu_step step;
    struct detect_candidates places;
    size_t pictures, room; /* room: candidates of the longest level */
    float threshold, plus;
    const float *box, *score;
    int32_t *keep;
    char *scratch;
};

enum { LINE_FLOATS = 6, LINE_BYTES = LINE_FLOATS * (int)sizeof(float) + (int)sizeof(uint64_t) };

/* Ranks come first as they need the larger alignment. */
static struct line line_of(const struct nms_op *op, int thread) {
    char *memory = op->scratch + (size_t)thread * op->room * LINE_BYTES;
    float *floats = (float *)(memory + op->room * sizeof(uint64_t));
    return (struct line){.rank = (uint64_t *)memory,
                         .x1 = floats,
                         .y1 = floats + op->room,
                         .x2 = floats + op->room * 2,
                         .y2 = floats + op->room * 3,
                         .area = floats + op->room * 4,
                         .struck = (int32_t *)(floats + op->room * 5)};
}

/* Removes those of [begin, end) that overlap candidate I too much: box_iou_of_areas, written so
 * that it vectorizes. */
static void strike(const struct line *line, size_t i, size_t begin, size_t end, float threshold,
                   float plus) {
    const float ax1 = line->x1[i], ay1 = line->y1[i], ax2 = line->x2[i], ay2 = line->y2[i];
    const float area = line->area[i];
    const float *restrict x1 = line->x1, *restrict y1 = line->y1;
    const float *restrict x2 = line->x2, *restrict y2 = line->y2;
    const float *restrict areas = line->area;
    int32_t *restrict struck = line->struck;
    for (size_t k = begin; k < end; k++) {
        float left = ax1 > x1[k] ? ax1 : x1[k], top = ay1 > y1[k] ? ay1 : y1[k];
        float right = ax2 < x2[k] ? ax2 : x2[k], bottom = ay2 < y2[k] ? ay2 : y2[k];
        float width = right - left + plus, height = bottom - top + plus;
        float inter = (width > 0 ? width : 0) * (height > 0 ? height : 0);
        struck[k] |= inter / (area + areas[k] - inter) > threshold;
    }
}

/* Fills LINE by descending score. Candidates of score -INFINITY were discarded before. */
static size_t put_in_order(const struct nms_op *op, const struct line *line, size_t first,
                           size_t end) {
    size_t count = 0;
    for (size_t i = first; i < end; i++)
        if (op->score[i] > -INFINITY)
            line->rank[count++] = rank_of(op->score[i], (int)(i - first));
    (void)rank_select(line->rank, count, count);
    for (size_t i = 0; i < count; i++) {
        const float *box = op->box + (first + (size_t)rank_place(line->rank[i])) * 4;
        line->x1[i] = box[0];
        line->y1[i] = box[1];
        line->x2[i] = box[2];
        line->y2[i] = box[3];
        line->area[i] = box_area(box, op->plus);
        line->struck[i] = 0;
    }
    return count;
}

/* Levels do not compete with each other, so each is a unit of its own. */
static void level_of_picture(void *context, int thread, size_t unit) {
    const struct nms_op *op = context;
    size_t levels = (size_t)op->places.levels, level = unit % levels;
    size_t picture = unit / levels * (size_t)op->places.first[levels];
    size_t first = picture + (size_t)op->places.first[level];
    size_t end = picture + (size_t)op->places.first[level + 1];
    struct line line = line_of(op, thread);
    memset(op->keep + first, 0, (end - first) * sizeof(int32_t));
    size_t count = put_in_order(op, &line, first, end);
    for (size_t i = 0; i < count; i++)
        if (!line.struck[i]) {
            op->keep[first + (size_t)rank_place(line.rank[i])] = 1;
            strike(&line, i, i + 1, count, op->threshold, op->plus);
        }
}

static int run(void *context, struct error *err) {
    (void)err;
    struct nms_op *op = context;
    parallel_units(op->step.cpu->threads, op->pictures * (size_t)op->places.levels,
                   level_of_picture, op);
    return 0;
}

/* A multiple of 16, so that arrays begin at a full vector. */
static size_t room_of(const struct detect_candidates *places) {
    int most = 0;
    for (int i = 0; i < places->levels; i++)
        if (places->first[i + 1] - places->first[i] > most)
            most = places->first[i + 1] - places->first[i];
    return (size_t)(most + 15) / 16 * 16;
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)graph;
    (void)err;
    const struct detect_candidates places = detect_candidates(&op->attr.detect);
    ret_needs->scratch = room_of(&places) * (size_t)cpu->threads * LINE_BYTES;
    return 0;
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct nms_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->places = detect_candidates(&op->attr.detect);
    bound->pictures = (size_t)cpu_output(graph, op, NMS_KEEP)->shape.dim[0];
    bound->room = room_of(&bound->places);
    bound->threshold = op->attr.detect.nms_threshold;
    bound->plus = detect_plus(&op->attr.detect);
    bound->box = addresses->inputs[NMS_BOX];
    bound->score = addresses->inputs[NMS_SCORE];
    bound->keep = addresses->outputs[NMS_KEEP];
    bound->scratch = addresses->scratch;
    return 0;
}

const struct cpu_operator cpu_nms = {NULL, query, bind};

#include "trainer/app/task/detect_score.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "trainer/app/task/class_rows.h"
#include "trainer/app/task/detect_pictures.h"
#include "trainer/app/task/detect_predictions.h"
#include "trainer/app/task/score.h"
#include "trainer/comm/gather.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/data/coco/coco_results_pack.h"
#include "trainer/data/coco/coco_results_write.h"
#include "trainer/data/detect/detection_scores.h"
#include "trainer/data/detect/detections.h"
#include "trainer/eval/coco_eval.h"
#include "trainer/eval/coco_report.h"
#include "trainer/math/image_size.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scores of a detector. Each rank turns the outputs of its batches into detections in the units of
 * the original pictures. At the end rank 0 gathers them, sorts them, and computes COCO's metrics
 * once, because average precision ranks detections over the whole set and is no sum over ranks.
 *
 * The order of the results does not depend on the ranks, so neither do the metrics. Rank 0
 * broadcasts the figures together with its error, and all ranks end alike.
 *
 * The functions are the rows score_* and predictions_* of the detector's table (detect.c). A score
 * lives from detect_score_open to detect_score_close; results of all ranks stay in `all` for the
 * artifacts that follow. */

/* Boxes and masks. */
enum { KINDS = 2 };

/* Limit of the bytes of detections over all ranks. */
#define GATHERED_MAX ((size_t)16 << 30)

/* Limit of the table by category, in bytes. */
enum { TABLE_MAX = 16 * 1024 * 1024 };

/* In the order of eval/coco_stats.h: boxes, masks. */
static const char *const FIGURES[KINDS][COCO_STATS] = {
    {"bbox_mAP", "bbox_AP50", "bbox_AP75", "bbox_APs", "bbox_APm", "bbox_APl", "bbox_AR1",
     "bbox_AR10", "bbox_AR100", "bbox_ARs", "bbox_ARm", "bbox_ARl"},
    {"segm_mAP", "segm_AP50", "segm_AP75", "segm_APs", "segm_APm", "segm_APl", "segm_AR1",
     "segm_AR10", "segm_AR100", "segm_ARs", "segm_ARm", "segm_ARl"},
};

/* Returns the name of figure I, first of the boxes, then of the masks; NULL after the last. */
const char *detect_figure(const struct model *model, int i) {
    (void)model;
    return i < (int)KINDS * COCO_STATS ? FIGURES[i / COCO_STATS][i % COCO_STATS] : NULL;
}

static const char *const KIND_NAMES[KINDS] = {"bbox", "segm"};

_Static_assert((int)KINDS *(int)COCO_STATS <= (int)EVALUATION_FIGURES_MAX, "room for all");

/* Outputs of a batch; owned. */
struct found {
    float *box, *score, *mask;
    int32_t *label, *count, *nan;
    int room; /* detections per picture that the arrays hold */
    int side; /* side of a mask; 0: there are none */
};

struct detect_score {
    struct task_data *data;
    struct detect_data *detect;
    struct coco_results results; /* of this rank */
    struct coco_results all;     /* of all ranks, on rank 0 */
    struct buf table;            /* of all, by category, on rank 0 */
    struct buf by_category;      /* the same as doubles */
    struct detections_scratch room;
    struct found found;
    size_t left_out;
    size_t unanswered; /* pictures with NaN outputs */
    bool begun;
    bool masks;
};

/* Outputs are not known before the first batch: their memory is taken by detect_score_batch. */
int detect_score_open(struct task_data *data, void **ret_score, struct error *err) {
    struct detect_score *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return error_no_memory(err, "scores");
    s->data = data;
    s->detect = data->own;
    buf_init(&s->table, TABLE_MAX);
    buf_init(&s->by_category, TABLE_MAX);
    *ret_score = s;
    return 0;
}

void detect_score_close(void *score) {
    struct detect_score *s = score;
    buf_done(&s->table);
    buf_done(&s->by_category);
    coco_results_done(&s->all);
    coco_results_done(&s->results);
    detections_scratch_done(&s->room);
    free(s->found.box);
    free(s->found.score);
    free(s->found.mask);
    free(s->found.label);
    free(s->found.count);
    free(s->found.nan);
    free(s);
}

/* Reads the output NAME into memory that is kept from batch to batch. BYTES must be the same in
 * each call for one output. */
static int read_all(const struct task_outputs *o, const char *name, void **values, size_t bytes,
                    struct error *err) {
    if (*values == NULL)
        *values = malloc(bytes > 0 ? bytes : 1);
    if (*values == NULL)
        return error_no_memory(err, name);
    return o->read(o->user, name, *values, bytes, err);
}

/* Determines the sizes of the outputs; the same in every batch. Also checks that a network has the
 * outputs of a detector with sizes that fit each other, so that later indices stay within them. */
static int measure(struct detect_score *s, const struct task_outputs *o, struct error *err) {
    size_t pictures = o->bytes(o->user, "found_count") / sizeof(int32_t);
    size_t scores = o->bytes(o->user, "found_score") / sizeof(float);
    size_t mask = o->bytes(o->user, "found_mask") / sizeof(float);
    if (pictures == 0 || scores == 0 ||
        o->bytes(o->user, "found_nan") != pictures * sizeof(int32_t) ||
        o->bytes(o->user, "found_box") != scores * 4 * sizeof(float) ||
        o->bytes(o->user, "found_label") != scores * sizeof(int32_t))
        return error_set(err, EXIT_CODE_INTERNAL, "%s has no detections among its outputs",
                         s->data->model->name);
    s->found.room = (int)(scores / pictures);
    /* A mask is a square of logits; without masks the side is 0. */
    s->found.side = (int)lround(sqrt((double)mask / (double)scores));
    s->masks = mask > 0;
    coco_results_begin(&s->results, "detections", s->masks);
    s->begun = true;
    return 0;
}

/* Pointers are kept even after a failure, so that detect_score_close frees them. */
static int read_found(struct detect_score *s, const struct task_outputs *o, struct error *err) {
    struct found *f = &s->found;
    void *box = f->box, *score = f->score, *label = f->label, *count = f->count, *mask = f->mask;
    void *nan = f->nan;
    int result =
        read_all(o, "found_count", &count, o->bytes(o->user, "found_count"), err) != 0 ||
        read_all(o, "found_nan", &nan, o->bytes(o->user, "found_nan"), err) != 0 ||
        read_all(o, "found_box", &box, o->bytes(o->user, "found_box"), err) != 0 ||
        read_all(o, "found_score", &score, o->bytes(o->user, "found_score"), err) != 0 ||
        read_all(o, "found_label", &label, o->bytes(o->user, "found_label"), err) != 0 ||
        (s->masks && read_all(o, "found_mask", &mask, o->bytes(o->user, "found_mask"), err) != 0);
    f->box = box;
    f->score = score;
    f->label = label;
    f->count = count;
    f->nan = nan;
    f->mask = mask;
    return result != 0 ? -1 : 0;
}

/* Adds the detections of one batch to this rank's results. Padding places of a batch have no valid
 * size and are passed over. */
int detect_score_batch(void *score, const struct batch *batch, const struct task_outputs *outputs,
                       int64_t *ret_images, struct error *err) {
    struct detect_score *s = score;
    const int32_t *sizes = batch->fields[batch_layout_find(batch->layout, "image_size")];
    if ((!s->begun && measure(s, outputs, err) != 0) || read_found(s, outputs, err) != 0)
        return -1;
    const struct found *f = &s->found;
    for (int i = 0; i < batch->count; i++) {
        const int32_t *size = sizes + (size_t)i * IMAGE_SIZE_FIELDS;
        size_t at = (size_t)i * (size_t)f->room;
        size_t plane = (size_t)f->side * (size_t)f->side;
        /* The count comes from a device and is limited to the room before it is an index. */
        int32_t count = f->count[i] < f->room ? f->count[i] : f->room;
        struct detections found = {
            .box = f->box + at * 4,
            .score = f->score + at,
            .label = f->label + at,
            .logits = s->masks ? f->mask + at * plane : NULL,
            .side = f->side,
            .last_pixel = detect_last_pixel(s->detect),
            .count = count > 0 ? (int)count : 0,
            .scaled = {size[IMAGE_SIZE_H], size[IMAGE_SIZE_W]},
        };
        if (size[IMAGE_SIZE_VALID] == 0)
            continue;
        ++*ret_images;
        s->unanswered += f->nan[i] != 0;
        if (detections_add(&s->results, &s->room, &s->detect->validation.set,
                           (size_t)batch->samples[i], &found, detect_paste(s->detect), &s->left_out,
                           err) != 0)
            return -1;
    }
    return 0;
}

/* Collects the results of all ranks on rank 0, as if one had found them all; the others get none. A
 * rank that had no batch sends an empty list of the same kind. */
static int gather(struct detect_score *s, struct comm *comm, struct coco_results *ret,
                  struct error *err) {
    cleanup_buf struct buf own = {0};
    cleanup_gathered struct gathered all = {0};
    buf_init(&own, GATHERED_MAX);
    coco_results_begin(ret, "detections", s->masks);
    if (!s->begun)
        coco_results_begin(&s->results, "detections", s->masks);
    if (coco_results_pack(&s->results, &own, err) != 0 ||
        comm_gather_blocks(comm, own.data, own.size, 0, GATHERED_MAX, &all, err) != 0)
        return -1;
    for (int r = 0; comm_rank(comm) == 0 && r < comm_size(comm); r++)
        if (coco_results_unpack(ret, all.bytes.data + all.offsets[r],
                                (size_t)(all.offsets[r + 1] - all.offsets[r]), err) != 0)
            return -1;
    return coco_results_sort(ret, err);
}

/* Rank 0 scores; it broadcasts the result, or its failure. The struct is on the heap because an
 * error is large. Tables of an earlier evaluation are emptied first. */
static int score_all(struct detect_score *s, struct comm *comm, const struct coco_results *all,
                     struct detection_scores *ret, struct error *err) {
    struct told {
        struct detection_scores scores;
        struct error error;
    } *told = calloc(1, sizeof(*told));
    if (told == NULL)
        return error_no_memory(err, "scores");
    buf_consume(&s->table, s->table.size);
    buf_consume(&s->by_category, s->by_category.size);
    if (comm_rank(comm) == 0)
        (void)detection_scores(&s->detect->validation.index, all, 0, &told->scores, &s->table,
                               &s->by_category, &told->error);
    int result = comm_broadcast(comm, told, sizeof(*told), 0, err);
    if (result == 0 && told->error.code != EXIT_CODE_OK)
        result = error_set(err, told->error.code, "%s", told->error.text);
    /* Other ranks got the same bytes, so every rank has the same figures. */
    *ret = told->scores;
    free(told);
    return result;
}

/* Tells of results that the metrics hide. */
static void warn_of_doubts(size_t left_out, size_t unanswered) {
    if (left_out > 0)
        log_warning("%zu detections with an unknown category or invalid numbers are ignored",
                    left_out);
    if (unanswered > 0)
        log_warning("the network's output is NaN for %zu pictures: it has diverged, and finds "
                    "little or nothing there",
                    unanswered);
}

/* Collects what all ranks have found on rank 0, and their counts on all. */
int detect_score_gather(void *score, struct comm *comm, struct error *err) {
    struct detect_score *s = score;
    /* A rank without pictures does not know whether there are masks. */
    double told[] = {s->masks, (double)s->left_out, (double)s->unanswered};
    coco_results_done(&s->all);
    if (comm_sum(comm, told, 3, COMM_F64, err) != 0)
        return -1;
    s->masks = told[0] > 0;
    /* From here on the counts are those of all ranks, as rank 0 reports them. */
    s->left_out = (size_t)told[1];
    s->unanswered = (size_t)told[2];
    return gather(s, comm, &s->all, err);
}

/* A detector without masks has the figures of boxes only. */
int detect_score_end(void *score, struct comm *comm, struct evaluation *ret, struct error *err) {
    struct detect_score *s = score;
    struct detection_scores scores;
    if (detect_score_gather(s, comm, err) != 0 || score_all(s, comm, &s->all, &scores, err) != 0)
        return -1;
    if (comm_rank(comm) == 0)
        warn_of_doubts(s->left_out, s->unanswered);
    for (int i = 0; i < COCO_STATS; i++)
        evaluation_add(ret, FIGURES[0][i], scores.box[i]);
    /* Figures of masks follow those of boxes, and are left out where there are none. */
    for (int i = 0; s->masks && i < COCO_STATS; i++)
        evaluation_add(ret, FIGURES[1][i], scores.mask[i]);
    return 0;
}

/* On rank 0 after detect_score_end; elsewhere the table is empty. */
int detect_score_table(void *score, struct buf *out, struct error *err) {
    const struct detect_score *s = score;
    return buf_add(out, s->table.data, s->table.size, err);
}

/* Returns -1 as well if the table by category does not fit the index, which the caller takes for no
 * results. A value below 0 is COCO's mark for a category without objects. */
int detect_score_classes(void *score, struct buf *out, struct error *err) {
    const struct detect_score *s = score;
    cleanup_free struct coco_report_category *categories = NULL;
    const struct coco_index *index = &s->detect->validation.index;
    /* One double for each category of the index, in its order. */
    const size_t count = s->by_category.size / sizeof(double);
    if (count != index->category_count ||
        detection_scores_categories(index, &categories, err) != 0 ||
        class_rows_begin(out, s->masks ? "segm_mAP" : "bbox_mAP", err) != 0)
        return -1;
    for (size_t c = 0; c < count; c++) {
        double value = 0;
        memcpy(&value, s->by_category.data + c * sizeof(value), sizeof(value));
        if (class_rows_add(out, categories[c].name, (double)categories[c].objects,
                           value < 0 ? (double)NAN : value, err) != 0)
            return -1;
    }
    return class_rows_end(out, err);
}

/* Writes all detections in COCO's format for results, on rank 0; masks only if the network has any.
 */
int detect_score_write(void *score, const char *path, struct error *err) {
    const struct detect_score *s = score;
    return coco_results_write(&s->all, s->masks ? COCO_PARTS_BOTH : COCO_PARTS_BOXES, path, err);
}

/* Paints detections beside the truth on some pictures of the validation set. */
int detect_score_show(void *score, const struct task_show *show, struct error *err) {
    struct detect_score *s = score;
    return detect_pictures(s->detect, &s->all, show, err);
}

/* Pictures without labels have no scores, so the doubts about the results are reported here. */
int detect_score_predictions(void *score, const struct task_predictions *how, struct error *err) {
    struct detect_score *s = score;
    warn_of_doubts(s->left_out, s->unanswered);
    return detect_predictions(s->data, &s->all, how, err);
}

/* The figures come in blocks of COCO_STATS, as detect_score_end has added them. Line ends at the
 * end are removed, because the caller ends the last line itself. */
int detect_print(struct buf *out, double epoch, const struct evaluation *e, struct error *err) {
    if (buf_printf(out, err, "evaluation: epoch %.4g, %" PRId64 " images", epoch, e->images) != 0)
        return -1;
    for (int kind = 0; kind < e->count / COCO_STATS; kind++) {
        struct coco_report report = {.kind = KIND_NAMES[kind]};
        for (int i = 0; i < COCO_STATS; i++)
            report.stats[i] = e->figures[kind * COCO_STATS + i].value;
        if (buf_printf(out, err, "\n%s\n", report.kind) != 0 ||
            coco_report_lines(&report, out, err) != 0)
            return -1;
        while (out->size > 0 && out->data[out->size - 1] == '\n')
            out->data[--out->size] = '\0';
    }
    return 0;
}

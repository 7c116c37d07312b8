/* ringtrain eval --coco: scores any detections against any annotations, both in COCO's JSON.
 *
 * command_eval passes here when the line has --coco; no network, device or rank takes part. The
 * steps: check the targets, read annotations and results, score boxes, masks or both, write the
 * files, print. The screen comes last, so that a reader that closes the pipe early, such as `head`,
 * costs no file.
 *
 * A report exists twice while it is made: as text for the screen, in the lines that pycocotools
 * prints, and as JSON. Both are kept in memory until all kinds are scored, so a failure of the
 * second kind prints nothing of the first. Arrays are written kind by kind, to files of their
 * own. */
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/file/output_path.h"
#include "common/log/log.h"
#include "common/text/wrap.h"
#include "trainer/app/command/coco/command_coco.h"
#include "trainer/app/command/output/output.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/data/coco/coco_file.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/data/coco/coco_task.h"
#include "trainer/data/detect/detection_scores.h"
#include "trainer/eval/coco_arrays.h"
#include "trainer/eval/coco_eval.h"
#include "trainer/eval/coco_report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The bit of this command in its own table, and the ceiling of each report: the table has a line
 * for each category. */
enum { EVAL_COCO = 1, TEXT_MAX = 64 * 1024 * 1024 };

/* In the order of KIND_NAMES. KINDS_AUTO is settled by the results, after they are read. */
enum kinds { KINDS_AUTO, KINDS_BOX, KINDS_MASK, KINDS_BOTH };
static const char *const KIND_NAMES[] = {"auto", "bbox", "segm", "bbox,segm", NULL};
/* In the order of enum coco_area_of: 1 is the mask's (score). */
static const char *const AREA_NAMES[] = {"bbox", "mask", NULL};

/* Values of the flags below; text is borrowed from the command line, and NULL if it was not
 * given. */
struct flags {
    const char *annotations;
    const char *results;
    const char *json;
    const char *arrays;
    const char *index;
    int kinds;
    int segm_area;
    int64_t threads;
};

static const struct flag FLAGS[] = {
    {.name = "coco",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, annotations),
     .commands = EVAL_COCO,
     .value = "FILE",
     .help = "annotations in COCO's JSON"},
    {.name = "results",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, results),
     .commands = EVAL_COCO,
     .value = "FILE",
     .help = "list of detections in COCO's JSON"},
    {.name = "iou-type",
     .type = FLAG_CHOICE,
     .offset = offsetof(struct flags, kinds),
     .standard = "auto",
     .choices = KIND_NAMES,
     .commands = EVAL_COCO,
     .value = "TYPE",
     .help = "what to score; auto: boxes, and masks if every result has one"},
    {.name = "json",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, json),
     .commands = EVAL_COCO,
     .value = "FILE",
     .help = "file for all numbers, as JSON"},
    {.name = "arrays",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, arrays),
     .commands = EVAL_COCO,
     .value = "DIR",
     .help = "file for precision, recall and scores, as NumPy arrays"},
    {.name = "index",
     .type = FLAG_TEXT,
     .offset = offsetof(struct flags, index),
     .commands = EVAL_COCO,
     .value = "FILE",
     .help = "file that caches the index of the annotations for the next time"},
    {.name = "segm-area",
     .type = FLAG_CHOICE,
     .offset = offsetof(struct flags, segm_area),
     .standard = "bbox",
     .choices = AREA_NAMES,
     .commands = EVAL_COCO,
     .value = "OF",
     .help = "the area of a detection with box and mask: the box's as in pycocotools, or the "
             "mask's as in detectron2"},
    {.name = "threads",
     .type = FLAG_INT,
     .offset = offsetof(struct flags, threads),
     .standard = "0",
     .min = 0,
     .max = 1024,
     .commands = EVAL_COCO,
     .value = "N",
     .help = "threads; 0: as many as processors"},
};

enum { FLAG_COUNT = sizeof(FLAGS) / sizeof(FLAGS[0]) };

/* State of one run. */
struct scoring {
    const struct flags *flags;
    struct coco_index index;
    struct coco_results results;
    struct coco_report_category *categories;
    struct buf text; /* for the screen */
    struct buf json;
};

/* Also closes what was opened in part. */
static void scoring_done(struct scoring *s) {
    coco_index_done(&s->index);
    coco_results_done(&s->results);
    free(s->categories);
    buf_done(&s->text);
    buf_done(&s->json);
}

/* Appends the report of one kind to both forms. The first kind opens the JSON object, which
 * write_json closes. */
static int add_report(struct scoring *s, const struct coco_report *report, struct error *err) {
    if (buf_printf(&s->text, err, "%s\n", report->kind) != 0 ||
        coco_report_lines(report, &s->text, err) != 0 ||
        coco_report_table(report, &s->text, err) != 0)
        return -1;
    if (buf_printf(&s->json, err, "%s\"%s\": ", s->json.size > 0 ? ",\n " : "{", report->kind) != 0)
        return -1;
    return coco_report_json(report, &s->json, err);
}

/* Scores one kind. Each kind has a task of its own, as the area of a detection depends on it.
 * Results of categories that the annotations lack are left out as pycocotools leaves them out, but
 * with a warning. */
static int score(struct scoring *s, bool masks, struct error *err) {
    const char *kind = masks ? "segm" : "bbox";
    /* Curves are kept only until the report of their kind is made: they have 101 values for each
     * category, threshold, area and limit. */
    cleanup_coco_task struct coco_task task = {0};
    cleanup_coco_curves struct coco_curves curves = {0};
    cleanup_coco_report struct coco_report report = {0};
    enum coco_area_of area = s->flags->segm_area == 1 ? COCO_AREA_OF_MASK : COCO_AREA_OF_BOX;
    if (coco_task_make(&task, &s->index, &s->results, masks, area, err) != 0)
        return -1;
    task.input.threads = (int)s->flags->threads;
    if (coco_eval(&task.input, &curves, err) != 0 ||
        coco_report_make(&report, kind, &curves, s->categories, err) != 0)
        return -1;
    if (task.left_out > 0)
        log_warning("%zu results are ignored: the annotations do not have their categories",
                    task.left_out);
    if (s->flags->arrays != NULL && coco_arrays_write(&curves, s->flags->arrays, kind, err) != 0)
        return -1;
    return add_report(s, &report, err);
}

/* Closes the object that add_report has opened, and publishes it: readers see the old file or the
 * complete new one. */
static int write_json(struct scoring *s, struct error *err) {
    if (s->flags->json == NULL)
        return 0;
    if (buf_add_text(&s->json, "}\n", err) != 0)
        return -1;
    return file_publish(s->flags->json, s->json.data, s->json.size, 0644, err);
}

static const char *const JSON_STARTS[] = {"{\"bbox\": ", "{\"segm\": ", NULL};
static const struct output_path_kind JSON_KIND = {"a file of an earlier scoring", JSON_STARTS};

/* Checks before the work that all outputs can be written, without damaging existing files. A file
 * that is no earlier output of the same kind is not replaced: JSON_KIND tells by its first bytes.
 * --json and --index must differ, as the second to be written would replace the first. */
static int check_targets(const struct flags *f, struct error *err) {
    if (f->json != NULL && f->index != NULL && output_path_is_same(f->json, f->index))
        return error_set(err, EXIT_CODE_USAGE, "--json and --index name one file: %s", f->json);
    if (f->json != NULL && output_path_check(f->json, &JSON_KIND, "--json", err) != 0)
        return -1;
    if (f->index != NULL && output_path_check(f->index, &COCO_FILE_KIND, "--index", err) != 0)
        return -1;
    return f->arrays != NULL ? coco_arrays_check(f->arrays, err) : 0;
}

/* Reads annotations and results. An index is of the complete annotations, so boxes alone are read
 * only where none is written. */
static int read_files(struct scoring *s, struct error *err) {
    const struct flags *f = s->flags;
    /* pycocotools does not look at outlines either if only boxes are scored. */
    bool boxes = f->kinds == KINDS_BOX && f->index == NULL;
    if (check_targets(f, err) != 0 ||
        (boxes ? coco_load_boxes(&s->index, f->annotations, err)
               : coco_load(&s->index, f->annotations, f->index, err)) != 0)
        return -1;
    /* A file of pictures alone is valid COCO, and can be read, but there is nothing to score
     * against. */
    const char *missing = coco_index_missing(&s->index);
    if (missing != NULL)
        return error_set(err, EXIT_CODE_DATA, "%s: no list \"%s\" to score against", f->annotations,
                         missing);
    if (coco_results_read(&s->results, f->results, err) != 0)
        return -1;
    return detection_scores_categories(&s->index, &s->categories, err);
}

/* Warns of ids in the annotations that mislead pycocotools: repeated ones, and 0. The scores here
 * are the same as its, so the annotations must be mended by their owner. */
static int warn_of_ids(const struct scoring *s, struct error *err) {
    struct coco_task_ids ids;
    char text[512];
    if (coco_task_ids(&s->index, &ids, err) != 0)
        return -1;
    coco_task_ids_text(&ids, text, sizeof(text));
    if (text[0] != '\0')
        log_warning("%s: %s", s->flags->annotations, text);
    return 0;
}

static int run(struct scoring *s, struct error *err) {
    const struct flags *f = s->flags;
    buf_init(&s->text, TEXT_MAX);
    buf_init(&s->json, TEXT_MAX);
    if (read_files(s, err) != 0 || warn_of_ids(s, err) != 0)
        return -1;
    /* `auto` scores masks if every result has one. */
    bool boxes = f->kinds != KINDS_MASK;
    bool masks = f->kinds == KINDS_AUTO ? s->results.masks : f->kinds != KINDS_BOX;
    if ((boxes && score(s, false, err) != 0) || (masks && score(s, true, err) != 0))
        return -1;
    return write_json(s, err);
}

/* Returns 0, or -1 with an error: the scores themselves are never a reason to fail. */
int command_eval_coco(int argc, char *const *argv, struct error *err) {
    struct flags flags = {0};
    if (flags_parse(FLAGS, FLAG_COUNT, EVAL_COCO, argc, argv, &flags, err) != 0)
        return -1;
    if (flags.annotations == NULL || flags.results == NULL)
        return error_set(err, EXIT_CODE_USAGE, "eval --coco FILE needs --results FILE too");
    struct scoring s = {.flags = &flags};
    int result = run(&s, err);
    /* Printed after the files are written: a closed pipe must not prevent that. */
    if (result == 0)
        result = output_text(buf_text(&s.text), err);
    scoring_done(&s);
    return result;
}

void command_eval_coco_help(FILE *out) {
    wrap_printf(out, "\nusage: ringtrain eval --coco ANNOTATIONS.json --results RESULTS.json "
                     "[--FLAG VALUE]...\n\nScores detections as pycocotools does, to the last bit: "
                     "twelve numbers and a table by category.\n\n");
    flags_print(out, FLAGS, FLAG_COUNT, EVAL_COCO, 0, NULL);
}

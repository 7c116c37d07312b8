#include "trainer/app/task/detect_predictions.h"

#include "common/file/output_path.h"
#include "common/log/log.h"
#include "trainer/app/task/detect_data.h"
#include "trainer/data/coco/coco_results_pack.h"
#include "trainer/data/coco/coco_results_write.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/dataset/bad_samples.h"
#include "trainer/data/draw/draw_targets.h"
#include "trainer/data/draw/painter.h"

#include <limits.h>
#include <stdio.h>

/* What `ringtrain predict` leaves of a detector: predictions.json in COCO's results format,
 * pictures.json with the ids that it refers to, and each picture with its objects painted. Rank 0
 * does all of it, with the results that detect_score.c has gathered.
 *
 * The lists are written first and the pictures after them, because painting takes far longer and
 * may fail at single files. */

#define PREDICTIONS "predictions.json"
#define PICTURES "pictures.json"

enum { SHOWN = 5 }; /* objects of a picture that are printed */

/* Files that begin otherwise belong to other programs, and are not overwritten. */
static const char *const LIST_STARTS[] = {"[\n{\"image_id\":", "[]", NULL};
static const struct output_path_kind LIST_KIND = {"a list of detections", LIST_STARTS};
static const char *const PICTURES_STARTS[] = {"{\n  \"images\": [", NULL};
static const struct output_path_kind PICTURES_KIND = {"a list of pictures", PICTURES_STARTS};

/* Writes FOLDER/NAME to PATH. */
static int path_in(const struct task_predictions *how, const char *name, char path[PATH_MAX],
                   struct error *err) {
    if (snprintf(path, PATH_MAX, "%s/%s", how->folder, name) < PATH_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG, "--out: %.64s...: path too long", how->folder);
}

/* Chooses a file in the folder for each picture: its path without the part that all of them share.
 * Creates the folders below it. */
static int make_targets(struct draw_targets *ret, const struct detect_data *d,
                        const struct task_predictions *how, struct error *err) {
    const struct coco_index *index = &d->given.index;
    return draw_targets_make(ret, index, 0, index->image_count,
                             draw_targets_shared(index, 0, index->image_count), how->folder,
                             how->png ? "png" : "jpg", err);
}

/* Targets are made for their errors only: a file that is in the way is named before the work. */
int detect_predictions_check(const struct task_data *data, const struct task_predictions *how,
                             struct error *err) {
    cleanup_draw_targets struct draw_targets targets = {0};
    char path[PATH_MAX];
    if (path_in(how, PREDICTIONS, path, err) != 0 ||
        output_path_check(path, &LIST_KIND, "--out", err) != 0 ||
        path_in(how, PICTURES, path, err) != 0 ||
        output_path_check(path, &PICTURES_KIND, "--out", err) != 0)
        return -1;
    return make_targets(&targets, data->own, how, err);
}

/* Says so if nothing is left although there was something. Removes detections below LEAST_SCORE in
 * place and keeps their order. */
static void drop_weak(struct coco_results *found, double least_score) {
    size_t kept = 0;
    double best = 0;
    for (size_t i = 0; i < found->count; i++) {
        best = found->list[i].score > best ? found->list[i].score : best;
        if (found->list[i].score >= least_score)
            found->list[kept++] = found->list[i];
    }
    if (kept == 0 && found->count > 0)
        log_warning("no object has a score of %g or more, the highest is %.3g: --score-threshold "
                    "sets the least score",
                    least_score, best);
    found->count = kept;
}

/* Masks are written only if the network gives some. */
static int write_lists(const struct detect_data *d, const struct coco_results *found,
                       const struct task_predictions *how, struct error *err) {
    char path[PATH_MAX];
    /* The second list names the pictures, as the first one has only their ids. */
    enum coco_parts parts = found->masks ? COCO_PARTS_BOTH : COCO_PARTS_BOXES;
    if (path_in(how, PREDICTIONS, path, err) != 0 ||
        coco_results_write(found, parts, path, err) != 0)
        return -1;
    return path_in(how, PICTURES, path, err) != 0 ? -1 : picture_index_write(&d->given, path, err);
}

/* State shared by all pictures. */
struct painting_all {
    struct painter_request request;
    struct painter painter;
    struct picture_reader reader;
    struct image picture;
    bool png;
};

/* Returns the first of RESULTS, which are sorted by image, that belongs to IMAGE. A binary search
 * for the lower bound. */
static size_t find_first(const struct coco_results *results, int64_t image) {
    size_t low = 0, high = results->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (results->list[middle].image_id < image)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Prints "PATH 2 objects: dog 98 %, cat 91 %", the highest score first, in the detector's order. A
 * category that the index lacks is printed as "?". At most SHOWN objects are named, but all are
 * counted. */
static void print_found(const struct painter_request *request, const struct draw_target *target) {
    const struct coco_results *results = request->results;
    /* Results of one picture lie beside each other, as the list is sorted. */
    size_t first = find_first(results, target->image->id), count = 0;
    while (first + count < results->count &&
           results->list[first + count].image_id == target->image->id)
        count++;
    printf("%s  %zu object%s", target->path, count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const struct coco_result *found = &results->list[first + i];
        uint32_t category = coco_index_category(request->index, found->category_id);
        printf("%s %s %.0f %%", i == 0 ? ":" : ",",
               category < request->index->category_count
                   ? coco_index_name(request->index, request->index->categories[category].name)
                   : "?",
               100 * found->score);
    }
    printf("%s\n", count > SHOWN ? ", ..." : "");
}

/* The file's name is the path of the picture, as pictures without labels come by path. */
static int paint_one(struct painting_all *p, const struct draw_target *target, struct error *err) {
    const struct coco_index *index = p->request.index;
    const struct image *painted = NULL;
    size_t objects = 0;
    const char *path = coco_index_name(index, target->image->name);
    if (picture_reader_read(&p->reader, path, &p->picture, err) != 0)
        return -1;
    if (painter_paint(&p->painter, &p->request, (uint32_t)(target->image - index->images),
                      &p->picture, &painted, &objects, err) != 0)
        return error_wrap(err, "%s", path);
    if (picture_write(painted, p->png, target->path, err) != 0)
        return -1;
    print_found(&p->request, target);
    return 0;
}

/* A picture that fails to be painted counts as a bad sample and does not end the others. */
static int paint_all(struct task_data *data, const struct coco_results *found,
                     const struct task_predictions *how, struct error *err) {
    struct detect_data *d = data->own;
    struct bad_samples *faults = &data->validation.faults;
    cleanup_draw_targets struct draw_targets targets = {0};
    struct painting_all p = {.request = {.index = &d->given.index,
                                         .results = found,
                                         .least_score = how->least_score,
                                         .names = &d->names},
                             .png = how->png};
    /* The same files as in detect_predictions_check: both come from the given paths alone. */
    int result = make_targets(&targets, d, how, err);
    if (result == 0)
        result = draw_names_of_index(&d->names, &d->given.index, how->font, err);
    /* Samples are the index' images, in its order. */
    for (size_t i = 0; i < targets.count && result == 0; i++)
        if (bad_samples_next(faults, BAD_SAMPLE_BAD, (int64_t)i) != (int64_t)i)
            result = paint_one(&p, &targets.list[i], err);
    painter_done(&p.painter);
    picture_reader_done(&p.reader);
    image_done(&p.picture);
    return result;
}

/* Lists are written before any picture is painted, so that a picture that cannot be painted does
 * not cost them. */
int detect_predictions(struct task_data *data, struct coco_results *found,
                       const struct task_predictions *how, struct error *err) {
    drop_weak(found, how->least_score);
    if (coco_results_sort(found, err) != 0 || write_lists(data->own, found, how, err) != 0)
        return -1;
    return paint_all(data, found, how, err);
}

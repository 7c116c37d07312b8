#include "trainer/app/task/detect_batches.h"

#include "common/buf.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/app/task/detect_sets.h"

#include <stdint.h>
#include <string.h>

/* From sets that are open to batches, in three steps. Canvases are chosen, and the pictures grouped
 * by the canvas that they fit (plan_canvases). Then both sets get the same limits for bytes of
 * pictures and masks (share_room). At last each set becomes a source for the loader (make_source).
 *
 * Batches have pictures of one canvas only, since a network is compiled for each canvas. Pictures
 * that do not fill a step on their canvas are left out of an epoch, which is logged.
 *
 * Every rank computes all of this from the same set, so no messages are needed. */

/* Bytes of the list of canvases in a warning; a longer list is cut. */
enum { WHERE_MAX = 512 };

/* Objects beyond --gt-slots are dropped, the smallest first. The warning counts them over the set,
 * and names the most that any picture has, which is the value that would keep all. */
void detect_batches_note_slots(const struct detect_part *part, const struct task_request *request) {
    const int64_t slots = request->options->gt_slots;
    size_t objects = 0, pictures = 0;
    for (size_t i = 0; i < part->set.count; i++) {
        int64_t count = part->set.pictures[i].count;
        objects += count > slots ? (size_t)(count - slots) : 0;
        pictures += count > slots;
    }
    if (pictures > 0 && comm_rank(request->comm) == 0)
        log_warning("%s: %zu picture%s with more than %lld objects (at most %u): the smallest %zu "
                    "are left out (--gt-slots)",
                    part->json, pictures, STR_PLURAL(pictures), (long long)slots,
                    (unsigned)part->set.most, objects);
}

/* A very large picture is scaled on the host, since the network's input has room for pixels_max
 * pixels only. */
void detect_batches_note_scaled(const struct detect_part *part,
                                const struct task_request *request) {
    const struct detection_recipe *recipe = &part->samples.recipe;
    const size_t pictures = detection_host_scaled(&part->set, recipe);
    if (pictures > 0 && comm_rank(request->comm) == 0)
        log_info("%s: %zu of %zu pictures with more than %lld pixels: scaled before they "
                 "reach the network, with antialias",
                 part->set.folder, pictures, part->set.count, (long long)recipe->pixels_max);
}

/* Fails if a picture fits none of the canvases. Groups that were made before are replaced. */
static int group(struct detect_part *part, const struct bucket_plan *plan, struct error *err) {
    detection_groups_done(&part->groups);
    return part->set.count == 0 ? 0
                                : detection_groups_make(&part->groups, &part->set,
                                                        &part->samples.recipe.sizes, plan, err);
}

/* Returns true if pictures get another size in each epoch. */
static bool draws(const struct detect_part *part) {
    return part->set.count > 0 && part->samples.recipe.short_step > 0;
}

/* Warns of training pictures that never fill a batch: the same ones in each epoch. */
static void warn_of_never(const struct detect_data *d, const struct task_request *request,
                          size_t global) {
    cleanup_buf struct buf where = {.max = WHERE_MAX};
    size_t pictures = 0;
    for (int c = 0; c < d->training.groups.count; c++) {
        const size_t size = d->training.groups.sizes[c];
        if (size == 0 || size >= global)
            continue;
        pictures += size;
        (void)buf_printf(&where, NULL, "%s%zu on %dx%d", where.size > 0 ? ", " : "", size,
                         d->plan.canvases[c].height, d->plan.canvases[c].width);
    }
    if (pictures > 0 && comm_rank(request->comm) == 0)
        log_warning("%s: %zu pictures are never used for training: a step takes %zu of one canvas, "
                    "and there are %s (--canvases)",
                    d->training.json, pictures, global, buf_text(&where));
}

/* Reports pictures beyond whole steps of a canvas: different ones in each epoch. */
static void log_rest(const struct detect_data *d, const struct task_request *request,
                     size_t global) {
    const struct detection_groups *groups = &d->training.groups;
    size_t pictures = 0;
    for (int c = 0; c < groups->count; c++)
        pictures += groups->sizes[c] >= global ? groups->sizes[c] % global : 0;
    if (pictures > 0 && comm_rank(request->comm) == 0)
        log_info("%s: each epoch leaves out %zu of %zu pictures, not always the same: a step takes "
                 "%zu of one canvas",
                 d->training.json, pictures, d->training.set.count, global);
}

/* Chooses canvases that suit the training set. Validation uses the same, unless one of its pictures
 * fits none. Where short sides are drawn at random, a picture moves between canvases, so these are
 * planned for the sizes that may be drawn. */
static int choose_canvases(struct detect_data *d, const struct task_request *request, size_t global,
                           struct error *err) {
    const struct options *o = request->options;
    const bool trains = d->training.set.count > 0, scores = d->validation.set.count > 0;
    const struct detection_set *learnt = trains ? &d->training.set : NULL;
    const struct detection_set *scored = scores ? &d->validation.set : NULL;
    struct error none;
    if (strcmp(o->canvases, "auto") != 0)
        return bucket_plan_parse(&d->plan, o->canvases, err) != 0 ? error_wrap(err, "--canvases")
                                                                  : 0;
    if (detection_set_plan(learnt, trains ? NULL : scored, &d->sizes, global, &d->plan, err) != 0)
        return -1;
    if (trains && group(&d->validation, &d->plan, &none) != 0 &&
        detection_set_plan(learnt, scored, &d->sizes, global, &d->plan, err) != 0)
        return -1;
    return draws(&d->training) ? detection_set_plan_drawn(learnt, &d->training.samples.recipe,
                                                          global, &d->plan, err)
                               : 0;
}

/* A global batch, the pictures of one step over all ranks and micro-batches, has a single canvas.
 * Its size thus decides which pictures a canvas leaves over. */
static int plan_canvases(struct detect_data *d, const struct task_request *request,
                         struct error *err) {
    const struct options *o = request->options;
    size_t global =
        (size_t)comm_size(request->comm) * (size_t)o->batch_size * (size_t)o->accumulate;
    if (choose_canvases(d, request, global, err) != 0 || group(&d->training, &d->plan, err) != 0 ||
        group(&d->validation, &d->plan, err) != 0)
        return -1;
    /* Both tell of pictures of the training set alone: an evaluation leaves none out. */
    warn_of_never(d, request, global);
    log_rest(d, request, global);
    return 0;
}

/* Returns the pictures of a batch on one rank. An evaluation's batch is no larger than the number
 * of pictures of a canvas, because all places are computed. It does not depend on the number of
 * ranks: libraries choose kernels, and thus the last bits of results, by the size of the batch. */
static int batch_of(const struct detect_part *part, const struct task_request *request) {
    const size_t batch = (size_t)request->options->batch_size;
    size_t most = 1;
    if (request->trained == NULL)
        return (int)batch;
    for (int c = 0; c < part->groups.count; c++)
        most = part->groups.sizes[c] > most ? part->groups.sizes[c] : most;
    return (int)(most < batch ? most : batch);
}

/* Measures the bytes of masks that a picture of PART may have in a batch, up to the limits. Three
 * limits apply: the default is the least room, DETECTION_BITS_PICTURE_MAX the most for a picture,
 * and INT32_MAX the most for a whole batch. */
static int measure_masks(const struct detect_part *part, const struct task_request *request,
                         int64_t *ret, struct error *err) {
    const struct detection_samples *samples = &part->samples;
    const int64_t most = INT32_MAX / batch_of(part, request);
    if (detection_mask_bytes(samples->set, &samples->recipe, samples->slots, samples->polygons > 0,
                             ret, err) != 0)
        return -1;
    *ret = *ret < DETECTION_BITS_DEFAULT ? DETECTION_BITS_DEFAULT : *ret;
    *ret = *ret > DETECTION_BITS_PICTURE_MAX ? DETECTION_BITS_PICTURE_MAX : *ret;
    *ret = *ret > most ? most : *ret;
    return 0;
}

/* Gives both sets the limits of the larger one: the networks for training and evaluation have the
 * same input. A set that is not open has no pictures and does not count. */
static int share_room(struct detect_data *d, const struct task_request *request,
                      struct error *err) {
    size_t bytes = 0;
    int64_t masks = 0;
    struct detect_part *const parts[] = {&d->training, &d->validation};
    for (int i = 0; i < 2; i++) {
        int64_t own_masks;
        if (parts[i]->set.count == 0)
            continue;
        if (measure_masks(parts[i], request, &own_masks, err) != 0)
            return -1;
        size_t own = detection_image_bytes(&parts[i]->set, &parts[i]->samples.recipe);
        bytes = own > bytes ? own : bytes;
        masks = own_masks > masks ? own_masks : masks;
    }
    for (int i = 0; i < 2; i++) {
        parts[i]->samples.image_bytes = bytes;
        parts[i]->samples.bits_of_picture = masks;
    }
    return 0;
}

/* Makes the source of batches. The groups are borrowed from PART, which lives as long as the task's
 * data. */
static int make_source(struct task_data *data, struct detect_part *part,
                       struct sample_health *samples, const struct task_request *request,
                       struct error *err) {
    const struct bucket_plan *plan = &((struct detect_data *)data->own)->plan;
    if (part->set.count == 0)
        return 0;
    if (detection_source(&samples->source, &part->samples, batch_of(part, request), err) != 0)
        return -1;
    samples->groups =
        (struct sampler_groups){.samples = part->groups.samples, .count = part->groups.count};
    if (draws(part)) {
        part->choice = (struct detection_choice){&part->set, &part->samples.recipe, plan};
        samples->groups.choose = detection_choose_canvas;
        samples->groups.user = &part->choice;
    }
    samples->canvas_count = part->groups.count;
    for (int c = 0; c < part->groups.count; c++) {
        samples->groups.sizes[c] = part->groups.sizes[c];
        samples->canvases[c] = (struct canvas){plan->canvases[c].height, plan->canvases[c].width};
    }
    return 0;
}

/* Limits are shared before sources are made, because a source takes its sizes from them. */
int detect_batches_make(struct task_data *data, const struct task_request *request,
                        struct error *err) {
    struct detect_data *d = data->own;
    if (plan_canvases(d, request, err) != 0)
        return -1;
    if (share_room(d, request, err) != 0 ||
        make_source(data, &d->training, &data->training, request, err) != 0)
        return -1;
    return make_source(data, &d->validation, &data->validation, request, err);
}

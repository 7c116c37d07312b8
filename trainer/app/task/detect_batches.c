#include "task/detect_batches.h"

#include "common/cleanup.h"
#include "task/detect_data.h"

#include <stdlib.h>
#include <string.h>

/* For the pictures of A and, where there is one, B. */
static int plan_for(struct canvas_plan *ret, const struct detect_part *a,
                    const struct detect_part *b, size_t global_batch, struct error *err) {
    size_t more = b != NULL ? b->set.count : 0;
    cleanup_free struct detect_size *pictures = calloc(a->set.count + more, sizeof(*pictures));
    if (pictures == NULL)
        return error_no_memory(err, "canvases");
    for (size_t i = 0; i < a->set.count; i++)
        pictures[i] = detection_picture_size(&a->set.pictures[i]);
    for (size_t i = 0; i < more; i++)
        pictures[a->set.count + i] = detection_picture_size(&b->set.pictures[i]);
    return canvas_plan_make(ret, &a->samples.recipe.sizes, pictures, a->set.count + more,
                            global_batch, err);
}

static int group(struct detect_part *part, const struct canvas_plan *plan, struct error *err) {
    detection_groups_done(&part->groups);
    return part->set.count == 0 ? 0
                                : detection_groups_make(&part->groups, &part->set,
                                                        &part->samples.recipe.sizes, plan, err);
}

/* Canvases suit what is trained on; what is scored lies on the same, unless one of its pictures
 * has no place there. */
static int plan_canvases(struct detect_data *d, const struct task_ask *ask, struct error *err) {
    const struct options *o = ask->options;
    bool trains = d->training.set.count > 0, scores = d->validation.set.count > 0;
    size_t global = (size_t)comm_size(ask->comm) * (size_t)o->batch_size * (size_t)o->accumulate;
    const struct detect_part *first = trains ? &d->training : &d->validation;
    if (strcmp(o->canvases, "auto") != 0) {
        if (canvas_plan_parse(&d->plan, o->canvases, err) != 0)
            return error_wrap(err, "--canvases");
        return group(&d->training, &d->plan, err) != 0 ? -1 : group(&d->validation, &d->plan, err);
    }
    if (plan_for(&d->plan, first, NULL, trains ? global : 1, err) != 0)
        return -1;
    struct error none;
    if (trains && scores && group(&d->validation, &d->plan, &none) != 0 &&
        plan_for(&d->plan, first, &d->validation, global, err) != 0)
        return -1;
    return group(&d->training, &d->plan, err) != 0 ? -1 : group(&d->validation, &d->plan, err);
}

/* Both parts' pictures get the room of the larger ones: networks that train and that evaluate have
 * one input. */
static void share_room(struct detect_data *d) {
    size_t bytes = 0;
    struct detect_part *const parts[] = {&d->training, &d->validation};
    for (int i = 0; i < 2; i++) {
        if (parts[i]->set.count == 0)
            continue;
        size_t own = detection_image_bytes(&parts[i]->set, &parts[i]->samples.recipe);
        bytes = own > bytes ? own : bytes;
    }
    for (int i = 0; i < 2; i++)
        parts[i]->samples.image_bytes = bytes;
}

/* Pictures that a rank takes at once. What is scored by a model takes no more places than a canvas
 * has pictures for: every place is computed, and their number changes nothing of a picture. */
static int batch_of(const struct detect_part *part, const struct task_ask *ask) {
    const size_t ranks = (size_t)comm_size(ask->comm), batch = (size_t)ask->options->batch_size;
    size_t most = 1;
    if (ask->trained == NULL)
        return (int)batch;
    for (int c = 0; c < part->groups.count; c++) {
        size_t share = (part->groups.sizes[c] + ranks - 1) / ranks;
        most = share > most ? share : most;
    }
    return (int)(most < batch ? most : batch);
}

/* How they become batches. */
static int make_source(struct task_data *data, struct detect_part *part, struct samples *samples,
                       const struct task_ask *ask, struct error *err) {
    const struct canvas_plan *plan = &((struct detect_data *)data->own)->plan;
    if (part->set.count == 0)
        return 0;
    if (detection_source(&samples->source, &part->samples, batch_of(part, ask), err) != 0)
        return -1;
    samples->groups =
        (struct sampler_groups){.samples = part->groups.samples, .count = part->groups.count};
    samples->canvas_count = part->groups.count;
    for (int c = 0; c < part->groups.count; c++) {
        samples->groups.sizes[c] = part->groups.sizes[c];
        samples->canvases[c] = (struct canvas){plan->canvases[c].height, plan->canvases[c].width};
    }
    return 0;
}

int detect_batches_make(struct task_data *data, const struct task_ask *ask, struct error *err) {
    struct detect_data *d = data->own;
    if (plan_canvases(d, ask, err) != 0)
        return -1;
    share_room(d);
    if (make_source(data, &d->training, &data->training, ask, err) != 0)
        return -1;
    return make_source(data, &d->validation, &data->validation, ask, err);
}

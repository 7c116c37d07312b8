#include "trainer/data/draw/painter.h"

#include <string.h>

void painter_done(struct painter *p) {
    painting_done(&p->truth);
    painting_done(&p->found);
    image_done(&p->second);
    image_done(&p->both);
}

static int paint_truth(struct painter *p, const struct painter_request *request, uint32_t image,
                       struct image *picture, struct error *err) {
    painting_clear(&p->truth);
    if (painting_add_annotations(&p->truth, request->index, image, request->names, err) != 0)
        return error_wrap(err, "%s", request->index->path);
    return painting_paint(&p->truth, picture, request->names->fonts, err);
}

static int paint_found(struct painter *p, const struct painter_request *request, uint32_t image,
                       struct image *picture, struct error *err) {
    const struct coco_results *results = request->results;
    const int64_t id = request->index->images[image].id;
    painting_clear(&p->found);
    for (size_t i = 0; i < results->count; i++) {
        const struct coco_result *r = &results->list[i];
        if (r->image_id != id || !(r->score >= request->least_score))
            continue;
        uint32_t category = coco_index_category(request->index, r->category_id);
        if (painting_add_result(&p->found, results, i, picture, request->names, category, err) != 0)
            return error_wrap(err, "%s", results->path);
    }
    return painting_paint(&p->found, picture, request->names->fonts, err);
}

static int copy(struct image *to, const struct image *from, struct error *err) {
    if (image_resize(to, from->width, from->height, err) != 0)
        return -1;
    memcpy(to->pixels, from->pixels, (size_t)from->width * (size_t)from->height * IMAGE_CHANNELS);
    return 0;
}

int painter_paint(struct painter *p, const struct painter_request *request, uint32_t image,
                  struct image *picture, const struct image **ret, size_t *ret_objects,
                  struct error *err) {
    const struct painting *told = request->results != NULL ? &p->found : &p->truth;
    int result;
    *ret = picture;
    if (request->results == NULL) {
        result = paint_truth(p, request, image, picture, err);
    } else if (!request->truth) {
        result = paint_found(p, request, image, picture, err);
    } else {
        *ret = &p->both;
        result = copy(&p->second, picture, err) != 0 ||
                         paint_truth(p, request, image, picture, err) != 0 ||
                         paint_found(p, request, image, &p->second, err) != 0
                     ? -1
                     : painting_beside(&p->both, picture, &p->second, err);
    }
    *ret_objects = told->count;
    return result;
}

#include "trainer/data/shapes/coco_scene.h"

#include "common/json/json_text.h"
#include "trainer/eval/rle_polygon.h"
#include "trainer/eval/rle_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* A scene is drawn into the picture and described in JSON at the same time, from one stream of
 * random numbers for (seed, picture). The annotation of an object comes from the corners that are
 * written, rounded to hundredths, and not from the pixels. Boxes and areas thus agree with what a
 * reader computes.
 *
 * Objects are drawn over one another, and none knows of the others: the polygon of a hidden one
 * covers what hides it, as in real sets. coco_shapes.c makes files of the pictures. */

enum {
    OBJECTS_MAX = 4,   /* in a picture, besides a crowd */
    CORNERS_MAX = 64,  /* numbers of an outline */
    CROWD_SHAPES = 9,  /* circles of a crowd */
    EMPTY_PERCENT = 3, /* pictures without annotations */
    CROWD_PERCENT = 5, /* pictures with a crowd, of those that are not empty */
    RUNS_PERCENT = 10, /* objects with runs in place of a polygon */
    CONTRAST = 120,    /* least difference to the background, summed over the channels */
    COLOR_TRIES = 100, /* then a colour is taken as it is */
};

/* Distance from a shape's centre to its furthest corner, in radii, rounded up. */
static const double REACH = 1.2;

const struct coco_scene_category COCO_SCENE_CATEGORY_ROWS[COCO_SCENE_CATEGORIES] = {
    {3, SHAPE_CIRCLE}, {17, SHAPE_SQUARE}, {90, SHAPE_TRIANGLE}};

/* State for drawing one picture. */
struct scene_painter {
    const struct coco_scene *scene;
    struct random random;
    struct image *image;
    struct buf *json;
    int64_t *next_id;
    uint8_t ground[2][IMAGE_CHANNELS];
    struct rle_scratch scratch;
    struct rle mask;
    struct rle sum;
};

/* True in SHARE of a hundred cases. Takes one number of the stream. */
static bool percent(struct scene_painter *p, uint32_t share) {
    return random_below(&p->random, 100) < share;
}

/* Draws each channel from BASE to BASE + 189. */
static void random_color(struct random *random, int base, uint8_t color[IMAGE_CHANNELS]) {
    for (int c = 0; c < IMAGE_CHANNELS; c++)
        color[c] = (uint8_t)(base + (int)random_below(random, 190));
}

/* Returns true if COLOR differs enough from both ends of the background's gradient. */
static bool stands_out(const struct scene_painter *p, const uint8_t color[IMAGE_CHANNELS]) {
    for (int g = 0; g < 2; g++) {
        int sum = 0;
        for (int c = 0; c < IMAGE_CHANNELS; c++)
            sum += abs(color[c] - p->ground[g][c]);
        if (sum < CONTRAST)
            return false;
    }
    return true;
}

/* Draws place, size, turn and colour. LEAST and MOST bound the radius, as shares of the short side.
 * The form is the caller's. */
static void random_shape(struct scene_painter *p, double least, double most,
                         struct drawn_shape *ret) {
    const double width = p->image->width, height = p->image->height;
    const double side = width < height ? width : height;
    ret->radius = random_between(&p->random, least * side, most * side);
    /* A turned square's corner lies further out than the radius. */
    double reach = ret->radius * REACH;
    ret->x = random_between(&p->random, reach, width - reach);
    ret->y = random_between(&p->random, reach, height - reach);
    ret->turn = random_between(&p->random, -3.14159265358979323846, 3.14159265358979323846);
    int tries = 0;
    do
        random_color(&p->random, 66, ret->color);
    while (!stands_out(p, ret->color) && ++tries < COLOR_TRIES);
}

/* Returns the outline in hundredths of a pixel, as it will be written to the JSON. */
static size_t outline_of(const struct drawn_shape *shape, double points[CORNERS_MAX]) {
    size_t count = shape_outline(shape, points, CORNERS_MAX / 2);
    for (size_t i = 0; i < 2 * count; i++)
        points[i] = nearbyint(points[i] * 100) / 100;
    return count;
}

/* Area by the shoelace formula, whichever way the corners go. */
static double polygon_area(const double *points, size_t count) {
    double twice = 0;
    for (size_t i = 0, last = count - 1; i < count; last = i++)
        twice += points[2 * last] * points[2 * i + 1] - points[2 * i] * points[2 * last + 1];
    return fabs(twice) / 2;
}

/* Box around the corners: x, y, width, height, as COCO has it. */
static void polygon_box(const double *points, size_t count, double box[4]) {
    double low[2] = {points[0], points[1]}, high[2] = {points[0], points[1]};
    for (size_t i = 2; i < 2 * count; i++) {
        low[i % 2] = fmin(low[i % 2], points[i]);
        high[i % 2] = fmax(high[i % 2], points[i]);
    }
    for (int i = 0; i < 2; i++) {
        box[i] = low[i];
        box[2 + i] = high[i] - low[i];
    }
}

/* Appends the outline as a list with one polygon, and ends the annotation. */
static int add_polygon(struct scene_painter *p, const double *points, size_t count,
                       struct error *err) {
    for (size_t i = 0; i < 2 * count; i++)
        if (buf_printf(p->json, err, "%s%.2f", i == 0 ? "[[" : ",", points[i]) != 0)
            return -1;
    return buf_add_text(p->json, "]]}", err);
}

/* Appends the mask as runs, and ends the annotation. AS_LIST is COCO's form for crowds,
 * uncompressed counts; otherwise they are the compressed string. */
static int add_runs(struct scene_painter *p, const struct rle *mask, bool as_list,
                    struct error *err) {
    if (buf_printf(p->json, err, "{\"size\":[%" PRIu32 ",%" PRIu32 "],\"counts\":", mask->height,
                   mask->width) != 0)
        return -1;
    if (!as_list) {
        cleanup_buf struct buf text = {.max = 1 << 20};
        if (rle_format(mask, &text, err) != 0 ||
            json_text_quote(p->json, text.data, text.size, err) != 0)
            return -1;
    }
    for (size_t i = 0; as_list && i < mask->count; i++)
        if (buf_printf(p->json, err, "%s%" PRIu32, i == 0 ? "[" : ",", mask->runs[i]) != 0)
            return -1;
    return buf_add_text(p->json, as_list ? "]}}" : "}}", err);
}

struct annotation {
    int64_t category_id;
    bool crowd;
    double box[4];
    double area;
};

/* Appends an annotation up to the value of "segmentation". The first of all has no comma before
 * it. */
static int begin_annotation(struct scene_painter *p, const struct annotation *a,
                            struct error *err) {
    int64_t id = (*p->next_id)++;
    double area = id <= p->scene->wrong_areas ? 2 * a->area : a->area;
    return buf_printf(p->json, err,
                      "%s{\"id\":%" PRId64 ",\"image_id\":%" PRId64 ",\"category_id\":%" PRId64
                      ",\"iscrowd\":%d,\"area\":%.4f,\"bbox\":[%.2f,%.2f,%.2f,%.2f],"
                      "\"segmentation\":",
                      id > 1 ? ",\n" : "", id, p->scene->image_id, a->category_id, a->crowd, area,
                      a->box[0], a->box[1], a->box[2], a->box[3]);
}

/* Rasterizes the outline into p->mask, with the hidden parts. */
static int fill(struct scene_painter *p, const double *points, size_t count, struct error *err) {
    return rle_from_polygon(&p->mask, &p->scratch, points, count, (uint32_t)p->image->height,
                            (uint32_t)p->image->width, err);
}

/* Draws an object. One with runs has the area and the box of its mask, as a set of masks would
 * have. */
static int draw_object(struct scene_painter *p, struct error *err) {
    const struct coco_scene_category *category =
        &COCO_SCENE_CATEGORY_ROWS[random_below(&p->random, COCO_SCENE_CATEGORIES)];
    struct drawn_shape shape = {.form = category->form};
    double points[CORNERS_MAX];
    random_shape(p, 1.0 / 16, 1.0 / 4, &shape);
    shape_draw(&shape, p->image);
    size_t count = outline_of(&shape, points);
    struct annotation a = {.category_id = category->id, .area = polygon_area(points, count)};
    polygon_box(points, count, a.box);
    if (!percent(p, RUNS_PERCENT))
        return begin_annotation(p, &a, err) == 0 ? add_polygon(p, points, count, err) : -1;
    if (fill(p, points, count, err) != 0)
        return -1;
    a.area = rle_area(&p->mask);
    rle_box(&p->mask, a.box);
    return begin_annotation(p, &a, err) == 0 ? add_runs(p, &p->mask, false, err) : -1;
}

/* Draws little circles around one place, annotated as one region. */
static int draw_crowd(struct scene_painter *p, struct error *err) {
    struct drawn_shape middle = {0};
    random_shape(p, 1.0 / 5, 1.0 / 4, &middle);
    p->sum.count = 0;
    for (int i = 0; i < CROWD_SHAPES; i++) {
        struct drawn_shape shape = middle;
        double points[CORNERS_MAX];
        shape.form = SHAPE_CIRCLE;
        shape.radius = middle.radius / 5;
        shape.x += random_between(&p->random, -0.7, 0.7) * middle.radius;
        shape.y += random_between(&p->random, -0.7, 0.7) * middle.radius;
        shape_draw(&shape, p->image);
        size_t count = outline_of(&shape, points);
        if (fill(p, points, count, err) != 0)
            return -1;
        struct rle merged = {0};
        if (i > 0 && rle_merge(&merged, &p->sum, &p->mask, RLE_UNION, err) != 0) {
            rle_done(&merged);
            return -1;
        }
        /* The new sum takes the place of the old one. The memory of the old one is freed with
         * `merged`, or, after the first circle, becomes that of p->mask. */
        struct rle *taken = i > 0 ? &merged : &p->mask;
        struct rle old = p->sum;
        p->sum = *taken;
        *taken = old;
        rle_done(&merged);
    }
    struct annotation a = {
        .category_id = COCO_SCENE_CATEGORY_ROWS[0].id, .crowd = true, .area = rle_area(&p->sum)};
    rle_box(&p->sum, a.box);
    return begin_annotation(p, &a, err) == 0 ? add_runs(p, &p->sum, true, err) : -1;
}

/* The order of the draws is part of the set: another order would give other pictures for the same
 * seed. */
static int draw(struct scene_painter *p, struct error *err) {
    const struct coco_scene *scene = p->scene;
    random_color(&p->random, 0, p->ground[0]);
    random_color(&p->random, 0, p->ground[1]);
    shape_ground(p->image, p->ground[0], p->ground[1], (int)random_below(&p->random, 24),
                 scene->seed, scene->number);
    /* An empty picture still has its background and its entry among the images. */
    if (percent(p, EMPTY_PERCENT))
        return 0;
    if (percent(p, CROWD_PERCENT) && draw_crowd(p, err) != 0)
        return -1;
    /* At least one: a picture that is not empty has an object beside its crowd. */
    uint32_t objects = 1 + random_below(&p->random, OBJECTS_MAX);
    for (uint32_t i = 0; i < objects; i++)
        if (draw_object(p, err) != 0)
            return -1;
    return 0;
}

int coco_scene_draw(const struct coco_scene *scene, struct image *image, struct buf *json,
                    int64_t *next_id, struct error *err) {
    if (image_resize(image, scene->width, scene->height, err) != 0)
        return -1;
    struct scene_painter painter = {.scene = scene,
                                    .random = random_stream(scene->seed, 0, scene->number),
                                    .image = image,
                                    .json = json,
                                    .next_id = next_id};
    int failed = draw(&painter, err);
    rle_scratch_done(&painter.scratch);
    rle_done(&painter.mask);
    rle_done(&painter.sum);
    return failed;
}

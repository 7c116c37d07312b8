#include "trainer/data/shapes/shapes.h"

#include "trainer/math/random.h"

#include <math.h>
#include <stddef.h>

/* A form is a distance function: how far a point is from the outline, negative inside. From it
 * follow a pixel's coverage, with a soft edge of one pixel, and unions and differences of forms, by
 * least and greatest distance. Polygons are tables of corners; circles are computed.
 *
 * prepare.c draws pictures of classes with it, and coco_scene.c those of the detection set. */

enum { CIRCLE_CORNERS = 24 };            /* corners of a circle's outline */
static const double CIRCLE_RADIUS = .92; /* in the form's square */

/* A point in a form's own square, from -1 to 1 in both directions. */
struct vertex {
    double x;
    double y;
};

struct polygon {
    const char *name;
    const struct vertex *corners; /* NULL for forms made of circles */
    int count;
};

#define CORNERS(array) array, (int)(sizeof(array) / sizeof((array)[0]))

/* Corners in the form's square; y points down, as in pictures. */
static const struct vertex square[] = {{-.8, -.8}, {.8, -.8}, {.8, .8}, {-.8, .8}};
static const struct vertex triangle[] = {{0, -.95}, {.87, .62}, {-.87, .62}};
static const struct vertex hexagon[] = {{.95, 0},  {.475, .823},   {-.475, .823},
                                        {-.95, 0}, {-.475, -.823}, {.475, -.823}};
static const struct vertex star[] = {{0, -1},        {.235, -.324}, {.951, -.309}, {.380, .124},
                                     {.588, .809},   {0, .4},       {-.588, .809}, {-.380, .124},
                                     {-.951, -.309}, {-.235, -.324}};
static const struct vertex cross[] = {{-.3, -.95}, {.3, -.95}, {.3, -.3},   {.95, -.3},
                                      {.95, .3},   {.3, .3},   {.3, .95},   {-.3, .95},
                                      {-.3, .3},   {-.95, .3}, {-.95, -.3}, {-.3, -.3}};
static const struct vertex arrow[] = {{0, -1},    {.8, -.1},  {.3, -.1}, {.3, .95},
                                      {-.3, .95}, {-.3, -.1}, {-.8, -.1}};
static const struct vertex heart_tip[] = {{-.86, -.12}, {.86, -.12}, {0, .95}};

static const struct polygon forms[SHAPE_FORMS] = {
    [SHAPE_CIRCLE] = {"circle", NULL, 0},
    [SHAPE_SQUARE] = {"square", CORNERS(square)},
    [SHAPE_TRIANGLE] = {"triangle", CORNERS(triangle)},
    [SHAPE_STAR] = {"star", CORNERS(star)},
    [SHAPE_RING] = {"ring", NULL, 0},
    [SHAPE_CROSS] = {"cross", CORNERS(cross)},
    [SHAPE_HEART] = {"heart", CORNERS(heart_tip)},
    [SHAPE_MOON] = {"moon", NULL, 0},
    [SHAPE_HEXAGON] = {"hexagon", CORNERS(hexagon)},
    [SHAPE_ARROW] = {"arrow", CORNERS(arrow)},
};

const char *shape_name(enum shape_form form) {
    return forms[form].name;
}

/* Returns the distance of P to the segment AB. */
static double segment_distance(struct vertex p, struct vertex a, struct vertex b) {
    double dx = b.x - a.x, dy = b.y - a.y;
    double along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy);
    along = along < 0 ? 0 : along > 1 ? 1 : along;
    return hypot(p.x - a.x - along * dx, p.y - a.y - along * dy);
}

/* Returns the distance to the outline, negative inside (a ray crosses an odd number of edges). */
static double polygon_distance(const struct polygon *form, struct vertex p) {
    double nearest = INFINITY;
    int inside = 0;
    for (int i = 0, j = form->count - 1; i < form->count; j = i++) {
        struct vertex a = form->corners[i], b = form->corners[j];
        nearest = fmin(nearest, segment_distance(p, a, b));
        if ((a.y > p.y) != (b.y > p.y) && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x))
            inside = !inside;
    }
    return inside ? -nearest : nearest;
}

/* Distance of P to the circle around (X, Y), negative inside. */
static double circle_distance(struct vertex p, double x, double y, double radius) {
    return hypot(p.x - x, p.y - y) - radius;
}

/* Distance of P to the outline of FORM, in the units of its square. It need not be exact far from
 * the outline, where coverage does not depend on it. */
static double form_distance(enum shape_form form, struct vertex p) {
    switch (form) {
    case SHAPE_CIRCLE:
        return circle_distance(p, 0, 0, CIRCLE_RADIUS);
    case SHAPE_RING:
        return fabs(circle_distance(p, 0, 0, .7)) - .25;
    case SHAPE_MOON: /* a disc minus another */
        return fmax(circle_distance(p, 0, 0, .95), -circle_distance(p, .45, 0, .75));
    case SHAPE_HEART: /* two discs over a triangle */
        return fmin(polygon_distance(&forms[form], p),
                    fmin(circle_distance(p, -.43, -.35, .49), circle_distance(p, .43, -.35, .49)));
    default:
        return polygon_distance(&forms[form], p);
    }
}

/* The centre of the pixel is moved, turned back and scaled into the form's square. A distance of
 * half a pixel to either side of the outline goes from full to no coverage. */
double shape_cover(const struct drawn_shape *shape, int px, int py) {
    double dx = (px + 0.5 - shape->x) / shape->radius;
    double dy = (py + 0.5 - shape->y) / shape->radius;
    double c = cos(shape->turn), s = sin(shape->turn);
    struct vertex p = {c * dx + s * dy, c * dy - s * dx};
    double cover = 0.5 - form_distance(shape->form, p) * shape->radius;
    return cover < 0 ? 0 : cover > 1 ? 1 : cover;
}

/* Returns corner I of the form in its square. A circle has corners on its outline, so that its
 * polygon is a little smaller. */
static struct vertex outline_corner(enum shape_form form, size_t i) {
    if (form != SHAPE_CIRCLE)
        return forms[form].corners[i];
    double angle = (double)i * (2 * 3.14159265358979323846 / CIRCLE_CORNERS);
    return (struct vertex){CIRCLE_RADIUS * cos(angle), CIRCLE_RADIUS * sin(angle)};
}

size_t shape_outline(const struct drawn_shape *shape, double *ret_points, size_t max) {
    size_t count = shape->form == SHAPE_CIRCLE  ? CIRCLE_CORNERS
                   : shape->form == SHAPE_HEART ? 0 /* the polygon is only a part of it */
                                                : (size_t)forms[shape->form].count;
    if (count > max)
        return 0;
    double c = cos(shape->turn), s = sin(shape->turn);
    for (size_t i = 0; i < count; i++) {
        struct vertex p = outline_corner(shape->form, i);
        ret_points[2 * i] = shape->x + shape->radius * (c * p.x - s * p.y);
        ret_points[2 * i + 1] = shape->y + shape->radius * (s * p.x + c * p.y);
    }
    return count;
}

/* A place on an axis, cut to 0 .. SIZE. The comparison comes before the cast, which large values
 * would overflow. */
static int clip(double place, int size) {
    return place < 0 ? 0 : place > size ? size : (int)place;
}

struct rect shape_bounds(const struct drawn_shape *shape, int width, int height) {
    double reach = shape->radius * 1.25 + 1; /* a corner of the turned square, with half a pixel of
                                              * soft edge */
    int left = clip(floor(shape->x - reach), width);
    int top = clip(floor(shape->y - reach), height);
    int right = clip(ceil(shape->x + reach), width);
    int bottom = clip(ceil(shape->y + reach), height);
    if (right <= left || bottom <= top)
        return (struct rect){0};
    return (struct rect){left, top, right - left, bottom - top};
}

/* FROM and TO are values of a channel; a SHARE of 1 gives TO. */
static uint8_t mixed(double from, double to, double share) {
    return (uint8_t)lrint(from + (to - from) * share);
}

/* Only pixels within the shape's bounds are touched; where nothing is covered they keep their
 * value. */
void shape_draw(const struct drawn_shape *shape, struct image *image) {
    struct rect box = shape_bounds(shape, image->width, image->height);
    for (int y = box.top; y < box.top + box.height; y++)
        for (int x = box.left; x < box.left + box.width; x++) {
            uint8_t *pixel = image_pixel(image, x, y);
            double cover = shape_cover(shape, x, y);
            for (int c = 0; c < IMAGE_CHANNELS; c++)
                pixel[c] = mixed(pixel[c], shape->color[c], cover);
        }
}

/* The gradient has a random direction, and its two colours meet in the middle of the picture. Noise
 * takes one number for each channel, row by row. */
void shape_ground(struct image *image, const uint8_t from[IMAGE_CHANNELS],
                  const uint8_t to[IMAGE_CHANNELS], int noise, uint64_t seed, uint64_t picture) {
    struct random random = random_stream(seed, 1, picture);
    double turn = random_between(&random, 0, 2 * 3.14159265358979323846);
    double across = cos(turn) / image->width, down = sin(turn) / image->height;
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width; x++) {
            uint8_t *pixel = image_pixel(image, x, y);
            double share =
                0.5 + across * (x - image->width / 2.0) + down * (y - image->height / 2.0);
            share = share < 0 ? 0 : share > 1 ? 1 : share;
            for (int c = 0; c < IMAGE_CHANNELS; c++) {
                int value = mixed(from[c], to[c], share);
                if (noise > 0)
                    value += (int)random_below(&random, (uint32_t)(2 * noise + 1)) - noise;
                pixel[c] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
            }
        }
}

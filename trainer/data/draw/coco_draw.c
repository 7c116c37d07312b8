#include "trainer/data/draw/coco_draw.h"

#include "common/cleanup.h"
#include "trainer/data/draw/canvas/canvas.h"
#include "trainer/data/draw/coco_colors.h"
#include "trainer/data/draw/labels/label.h"

#include <math.h>
#include <stdlib.h>

/* Dots of letters are one pixel on small pictures and grow with the shorter side. */
enum { SIDE_A_DOT = 400 };

/* Covering a label is worse than covering a small object. */
enum { LABEL_COST = 4, SMALL_BOX = 4 };

static int dot_size(const struct image *image) {
    int side = image->width < image->height ? image->width : image->height;
    int size = (side + SIDE_A_DOT / 2) / SIDE_A_DOT;
    return size < 1 ? 1 : size > LABEL_DOT_MAX ? LABEL_DOT_MAX : size;
}

static double size_of(const struct coco_drawing *drawing) {
    return drawing->has_box ? drawing->box[2] * drawing->box[3] : 0;
}

static int larger_first(const void *a, const void *b) {
    double left = size_of(a), right = size_of(b);
    return (left < right) - (left > right);
}

static bool overlap(const struct rect *a, const struct rect *b) {
    return a->left < b->left + b->width && b->left < a->left + a->width &&
           a->top < b->top + b->height && b->top < a->top + a->height;
}

/* Returns the number of pixels of all rects that lie under RECT. */
static int64_t covered(const struct rect *rect, const struct rect *taken, size_t count) {
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!overlap(rect, &taken[i]))
            continue;
        int left = rect->left > taken[i].left ? rect->left : taken[i].left;
        int top = rect->top > taken[i].top ? rect->top : taken[i].top;
        int right = rect->left + rect->width < taken[i].left + taken[i].width
                        ? rect->left + rect->width
                        : taken[i].left + taken[i].width;
        int bottom = rect->top + rect->height < taken[i].top + taken[i].height
                         ? rect->top + rect->height
                         : taken[i].top + taken[i].height;
        sum += (int64_t)(right - left) * (bottom - top);
    }
    return sum;
}

static int within(int place, int size, int whole) {
    if (place + size > whole)
        place = whole - size;
    return place < 0 ? 0 : place;
}

/* What labels must not cover. */
struct layout {
    const struct image *image;
    struct fonts *fonts;
    int dot;
    struct rect *taken; /* labels that are placed */
    size_t taken_count;
    struct rect *small; /* boxes that a label would hide */
    size_t small_count;
};

static struct rect rect_of(const double box[4]) {
    int left = (int)lrint(box[0]), top = (int)lrint(box[1]);
    return (struct rect){left, top, (int)lrint(box[0] + box[2]) - left,
                         (int)lrint(box[1] + box[3]) - top};
}

/* Chooses the label's position: on top of its box, below, inside, further away; the first that
 * covers nothing, else the one that covers least. */
static struct rect place_label(const struct layout *layout, const struct coco_drawing *drawing) {
    struct label_size size = label_measure(layout->fonts, drawing->label, layout->dot);
    int width = size.width, height = size.height;
    struct rect box = rect_of(drawing->box);
    int right = box.left + box.width, bottom = box.top + box.height;
    const int rows[] = {box.top - height - 1, box.top,        bottom + 1, bottom - height,
                        box.top - 2 * height, bottom + height};
    const int columns[] = {box.left, right - width, box.left - width, right + 1};
    struct rect best = {0};
    int64_t least = INT64_MAX;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
            struct rect at = {within(columns[c], width, layout->image->width),
                              within(rows[r], height, layout->image->height), width, height};
            int64_t cost = LABEL_COST * covered(&at, layout->taken, layout->taken_count) +
                           covered(&at, layout->small, layout->small_count);
            if (cost < least) {
                least = cost;
                best = at;
            }
        }
    return best;
}

/* Lists boxes not much larger than their label. */
static void list_small(struct layout *layout, const struct coco_drawing *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct label_size size = label_measure(layout->fonts, list[i].label, layout->dot);
        if (list[i].has_box && size_of(&list[i]) < SMALL_BOX * (double)size.width * size.height)
            layout->small[layout->small_count++] = rect_of(list[i].box);
    }
}

static int draw_labels(struct image *image, const struct coco_drawing *list, size_t count,
                       struct fonts *fonts, struct error *err) {
    cleanup_free struct rect *taken = calloc(count + 1, sizeof(*taken));
    cleanup_free struct rect *small = calloc(count + 1, sizeof(*small));
    if (taken == NULL || small == NULL)
        return error_no_memory(err, "labels");
    struct layout layout = {
        .image = image, .fonts = fonts, .dot = dot_size(image), .taken = taken, .small = small};
    list_small(&layout, list, count);
    for (size_t i = 0; i < count; i++) {
        if (!list[i].has_box || list[i].label[0] == '\0')
            continue;
        struct rect at = place_label(&layout, &list[i]);
        label_paint(image, at.left, at.top, fonts, list[i].label, color_of(list[i].color),
                    layout.dot);
        taken[layout.taken_count++] = at;
    }
    return 0;
}

int coco_draw(struct image *image, struct coco_drawing *list, size_t count, struct fonts *fonts,
              struct error *err) {
    if (count > 0)
        qsort(list, count, sizeof(*list), larger_first);
    coco_colors_choose(list, count);
    for (size_t i = 0; i < count; i++)
        if (list[i].mask != NULL &&
            canvas_mask(image, list[i].mask, color_of(list[i].color), list[i].crowd, err) != 0)
            return -1;
    int thick = dot_size(image) + (image->width >= SIDE_A_DOT && image->height >= SIDE_A_DOT);
    for (size_t i = 0; i < count; i++)
        if (list[i].has_box)
            canvas_box(image, list[i].box, color_of(list[i].color), thick);
    return draw_labels(image, list, count, fonts, err);
}

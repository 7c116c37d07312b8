#include "trainer/app/command/contact_sheet.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/codec/resize.h"
#include "trainer/data/dataset/fetch.h"
#include "trainer/data/draw/labels/label.h"
#include "trainer/data/order/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 96, GAP = 4, DOT = 1, GROUND = 32, NAME_MAX_SHOWN = 60 };

static const struct color PLATE = {{200, 200, 200}};

int contact_sheet_check(const char *path, struct error *err) {
    return str_ends_with(path, ".png") || str_ends_with(path, ".jpg") ||
                   str_ends_with(path, ".jpeg")
               ? 0
               : error_set(err, EXIT_CODE_USAGE,
                           "--contact-sheet: '%.200s'; expected a file that ends in .png or .jpg",
                           path);
}

struct sheet {
    const struct dataset *set;
    size_t rows;
    int row_height;
    int label_height;
    struct image image;
    struct image small;
    struct fetcher fetcher;
    int used[CONTACT_SHEET_CLASSES]; /* pictures in each row */
};

/* Scales the decoded picture into the tile with its upper left corner at LEFT, TOP. */
static int paste(struct sheet *s, int left, int top, struct error *err) {
    const struct image *in = &s->fetcher.picture;
    const int most = in->width > in->height ? in->width : in->height;
    const int width = (int)((int64_t)in->width * TILE / most);
    const int height = (int)((int64_t)in->height * TILE / most);
    if (resize_whole(&s->fetcher.resizer, in, width > 0 ? width : 1, height > 0 ? height : 1,
                     &s->small, err) != 0)
        return -1;
    left += (TILE - s->small.width) / 2;
    top += (TILE - s->small.height) / 2;
    for (int y = 0; y < s->small.height; y++)
        memcpy(image_pixel(&s->image, left, top + y), image_row(&s->small, y),
               (size_t)s->small.width * IMAGE_CHANNELS);
    return 0;
}

static int add(struct sheet *s, size_t sample, struct error *err) {
    const int row = s->set->labels[sample];
    struct buf *bytes = &s->fetcher.encoded;
    const int left = GAP + s->used[row]++ * (TILE + GAP);
    if (dataset_read(s->set, sample, bytes, NULL) != 0 ||
        fetch_whole(&s->fetcher, (const uint8_t *)bytes->data, bytes->size, NULL) != 0)
        return 0; /* the inspection says so */
    return paste(s, left, row * s->row_height + s->label_height, err);
}

static int fill(struct sheet *s, struct error *err) {
    size_t full = 0;
    for (size_t place = 0; place < s->set->count && full < s->rows; place++) {
        const size_t sample = sampler_permute(0, 0, s->set->count, place);
        const size_t row = (size_t)s->set->labels[sample];
        if (row >= s->rows || s->used[row] == CONTACT_SHEET_PICTURES)
            continue;
        if (add(s, sample, err) != 0)
            return -1;
        full += s->used[row] == CONTACT_SHEET_PICTURES;
    }
    return 0;
}

/* Writes the name of each class, and the number of its pictures, above its row. */
static int put_labels(struct sheet *s, struct error *err) {
    cleanup_free size_t *counts = calloc(s->set->classes + 1, sizeof(*counts));
    if (counts == NULL)
        return error_no_memory(err, "counts of classes");
    for (size_t i = 0; i < s->set->count; i++)
        counts[s->set->labels[i]]++;
    for (size_t row = 0; row < s->rows; row++) {
        char text[128];
        const char *name = s->set->class_names[row];
        (void)snprintf(text, sizeof(text), "%.*s: %zu",
                       (int)str_utf8_prefix(name, strlen(name), NAME_MAX_SHOWN), name, counts[row]);
        label_paint(&s->image, GAP, (int)row * s->row_height, NULL, text, PLATE, DOT);
    }
    return 0;
}

static int make(struct sheet *s, struct error *err) {
    s->rows = s->set->classes < CONTACT_SHEET_CLASSES ? s->set->classes : CONTACT_SHEET_CLASSES;
    s->label_height = label_measure(NULL, "0", DOT).height + GAP;
    s->row_height = s->label_height + TILE + GAP;
    if (image_resize(&s->image, GAP + CONTACT_SHEET_PICTURES * (TILE + GAP),
                     (int)s->rows * s->row_height, err) != 0)
        return -1;
    memset(s->image.pixels, GROUND,
           (size_t)s->image.width * (size_t)s->image.height * IMAGE_CHANNELS);
    return put_labels(s, err) != 0 ? -1 : fill(s, err);
}

int contact_sheet_write(const struct dataset *set, const char *path, struct error *err) {
    struct sheet s = {.set = set};
    int result = fetcher_init(&s.fetcher, err);
    if (result == 0 && (result = make(&s, err)) == 0)
        result = picture_write(&s.image, str_ends_with(path, ".png"), path, err);
    fetcher_done(&s.fetcher);
    image_done(&s.image);
    image_done(&s.small);
    return result;
}

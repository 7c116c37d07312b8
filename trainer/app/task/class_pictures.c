#include "trainer/app/task/class_pictures.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/codec/resize.h"
#include "trainer/data/dataset/fetch.h"
#include "trainer/data/dataset/labelled.h"
#include "trainer/data/draw/draw_names.h"
#include "trainer/data/draw/labels/label.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two kinds of pictures with a class written above them. class_pictures shows the worst mistakes of
 * an evaluation: it reads and decodes the files again, since an evaluation keeps only the numbers
 * of its samples. class_pictures_batch shows a batch as the network gets it, from the batch's own
 * memory.
 *
 * Both hand each picture to task_show.take as a JPEG and keep none. Showing is an extra: a file
 * that has become unreadable is a warning, and only a failure of `take` itself is an error. */

/* The long side of a picture as it is shown, and pixels a dot of the letters. QUALITY is that of
 * the JPEG. */
enum { SIDE = 320, DOT = 2, QUALITY = 90 };

/* Pictures of a batch below this side are enlarged, each pixel to a square. */
enum { BATCH_SIDE = 128 };

/* Colours of the plates with the true class and with the network's answer. */
static const struct color RIGHT = {{70, 200, 90}};
static const struct color WRONG = {{240, 80, 70}};

/* State shared by the pictures of one call. The images grow to the largest picture and are used
 * again. */
struct mistakes {
    const struct dataset *set;
    const struct task_show *show;
    struct draw_names names;
    struct fetcher fetcher;
    struct image scaled;
    struct image shown;
    struct buf encoded;
};

/* Makes the names drawable. Class numbers serve as the ids that draw_names asks for. */
static int names_make(struct mistakes *m, char *const *names, size_t count, struct error *err) {
    cleanup_free struct coco_report_category *rows = calloc(count + 1, sizeof(*rows));
    if (rows == NULL)
        return error_no_memory(err, "names of classes");
    for (size_t c = 0; c < count; c++)
        rows[c] = (struct coco_report_category){.name = names[c], .id = (int64_t)c};
    return draw_names_make(&m->names, rows, count, NULL, err);
}

/* Scales the decoded picture to SIDE. The ratio of the sides is kept. A very narrow picture keeps
 * at least one pixel across. */
static int scale(struct mistakes *m, struct error *err) {
    const struct image *in = &m->fetcher.picture;
    const int most = in->width > in->height ? in->width : in->height;
    const int width = (int)((int64_t)in->width * SIDE / most);
    const int height = (int)((int64_t)in->height * SIDE / most);
    return resize_whole(&m->fetcher.resizer, in, width > 0 ? width : 1, height > 0 ? height : 1,
                        &m->scaled, err);
}

/* Puts the two plates above the scaled picture. All pictures are SIDE wide, whatever their
 * shape, so that long names have room; what the picture leaves free is black. The result is in
 * `encoded`. */
static int paint(struct mistakes *m, const struct class_mistake *mistake, struct error *err) {
    char right[COCO_LABEL_MAX], wrong[COCO_LABEL_MAX], percent[16];
    (void)snprintf(percent, sizeof(percent), " %.0f %%", 100 * mistake->probability);
    draw_names_label(&m->names, (uint32_t)mistake->label, "", right);
    draw_names_label(&m->names, (uint32_t)mistake->answer, percent, wrong);
    const struct label_size first = label_measure(m->names.fonts, right, DOT);
    const struct label_size second = label_measure(m->names.fonts, wrong, DOT);
    const int top = first.height + second.height;
    const size_t row = (size_t)m->scaled.width * IMAGE_CHANNELS;
    if (image_resize(&m->shown, SIDE, m->scaled.height + top, err) != 0)
        return -1;
    memset(m->shown.pixels, 0, (size_t)m->shown.height * SIDE * IMAGE_CHANNELS);
    for (int y = 0; y < m->scaled.height; y++)
        memcpy(image_row(&m->shown, top + y), image_row(&m->scaled, y), row);
    label_paint(&m->shown, 0, 0, m->names.fonts, right, RIGHT, DOT);
    label_paint(&m->shown, 0, first.height, m->names.fonts, wrong, WRONG, DOT);
    m->encoded.size = 0;
    return jpeg_encode(&m->shown, QUALITY, &m->encoded, err);
}

/* Reads one sample and paints it. An error of the decoder gets the name of the file here. */
static int make(struct mistakes *m, const struct class_mistake *mistake, struct error *err) {
    const size_t sample = (size_t)mistake->sample;
    struct buf *bytes = &m->fetcher.encoded;
    char name[PATH_MAX];
    if (dataset_read(m->set, sample, bytes, err) != 0)
        return -1;
    if (fetch_whole(&m->fetcher, (const uint8_t *)bytes->data, bytes->size, err) == 0)
        return scale(m, err) != 0 ? -1 : paint(m, mistake, err);
    dataset_sample_name(m->set, sample, name, sizeof(name));
    return error_wrap(err, "%s", name);
}

/* Mistakes are in order of confidence, and the first place without one ends the list. Ids count
 * from 1 in that order. */
static int show_all(struct mistakes *m, const struct class_tally *tally, struct error *err) {
    for (size_t i = 0; i < CLASS_TALLY_MISTAKES && i < m->show->count; i++) {
        const struct class_mistake *mistake = &tally->mistakes[i];
        struct error why = {0};
        if (!(mistake->probability > 0))
            break;
        if (make(m, mistake, &why) != 0) {
            log_warning("not shown: %s", why.text);
            continue;
        }
        const struct task_picture picture = {
            .id = (int64_t)i + 1,
            .height = m->shown.height,
            .width = m->shown.width,
            .bytes = m->encoded.data,
            .size = m->encoded.size,
        };
        if (m->show->take(m->show->user, &picture, err) != 0)
            return -1;
    }
    return 0;
}

/* A synthetic set has no files to show. Parts that were not made are zeroed, so the same calls free
 * them on every way out. */
int class_pictures(const struct dataset *set, char *const *names, const struct class_tally *tally,
                   const struct task_show *show, struct error *err) {
    struct mistakes m = {.set = set, .show = show, .encoded = {.max = JPEG_BYTES_MAX}};
    if (set->kind == DATASET_SYNTHETIC || !(tally->mistakes[0].probability > 0))
        return 0;
    int result = fetcher_init(&m.fetcher, err);
    if (result == 0 && (result = names_make(&m, names, tally->classes, err)) == 0)
        result = show_all(&m, tally, err);
    draw_names_done(&m.names);
    fetcher_done(&m.fetcher);
    image_done(&m.scaled);
    image_done(&m.shown);
    buf_done(&m.encoded);
    return result;
}

/* Copies the picture at PIXELS below TOP rows, each pixel ZOOM times. No filter is used: a pixel of
 * the network's input is to be seen as it is. */
static void enlarge(struct image *to, int top, const uint8_t *pixels, int side, int zoom) {
    for (int y = 0; y < side * zoom; y++)
        for (int x = 0; x < side * zoom; x++)
            memcpy(image_pixel(to, x, top + y),
                   pixels +
                       ((size_t)(y / zoom) * (size_t)side + (size_t)(x / zoom)) * IMAGE_CHANNELS,
                   IMAGE_CHANNELS);
}

/* Pictures of a batch are SIDE by SIDE pixels with 3 bytes each, not yet normalized. Small ones are
 * enlarged by a whole factor, so that their pixels stay visible as squares. */
static int show_place(const struct batch *batch, int place, int side, const char *name,
                      const struct task_show *show, struct error *err) {
    cleanup_image struct image shown = {0};
    cleanup_buf struct buf encoded = {.max = JPEG_BYTES_MAX};
    const int zoom = side < BATCH_SIDE ? BATCH_SIDE / side : 1;
    const struct label_size plate = label_measure(NULL, name, 1);
    const size_t bytes = (size_t)side * (size_t)side * IMAGE_CHANNELS;
    if (image_resize(&shown, side * zoom, side * zoom + plate.height, err) != 0)
        return -1;
    memset(shown.pixels, 0, (size_t)shown.width * (size_t)plate.height * IMAGE_CHANNELS);
    enlarge(&shown, plate.height,
            (const uint8_t *)batch->fields[LABELLED_IMAGE] + (size_t)place * bytes, side, zoom);
    label_paint(&shown, 0, 0, NULL, name, RIGHT, 1);
    if (jpeg_encode(&shown, QUALITY, &encoded, err) != 0)
        return -1;
    const struct task_picture picture = {.id = place + 1,
                                         .height = shown.height,
                                         .width = shown.width,
                                         .bytes = encoded.data,
                                         .size = encoded.size};
    return show->take(show->user, &picture, err);
}

/* The places shown are the first ones of the batch. */
int class_pictures_batch(const struct batch *batch, int side, char *const *names,
                         const struct task_show *show, struct error *err) {
    const int32_t *labels = batch->fields[LABELLED_LABEL];
    for (int i = 0; i < batch->count && (size_t)i < show->count; i++)
        if (show_place(batch, i, side, names[labels[i]], show, err) != 0)
            return -1;
    return 0;
}

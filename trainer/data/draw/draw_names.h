/* How the categories of a data set are written on pictures, and with what fonts. */
#ifndef TRAINER_DATA_DRAW_DRAW_NAMES_H
#define TRAINER_DATA_DRAW_DRAW_NAMES_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/draw/coco_draw.h"
#include "trainer/data/draw/fonts.h"
#include "trainer/eval/coco_report.h"

struct draw_names {
    struct fonts *fonts; /* owned */
    struct buf spelled;  /* each name with its NUL */
    size_t *starts;      /* owned: where each begins */
    size_t count;
};

void draw_names_done(struct draw_names *names);

/* The names of COUNT categories, in the letters of FONT (a file, or NULL) and of the system's
 * fonts; one of those that is damaged is warned of and done without. A name that has other letters,
 * too, is spelled, and a warning says how. An error of FONT's names it. RET is draw_names_done's in
 * any case. */
int draw_names_make(struct draw_names *ret, const struct coco_report_category *categories,
                    size_t count, const char *font, struct error *err);

/* The same for the categories of INDEX. */
int draw_names_of_index(struct draw_names *ret, const struct coco_index *index, const char *font,
                        struct error *err);

/* Writes the beginning of the name of CATEGORY, whole characters, and SUFFIX behind it (15 bytes at
 * most); "?" for a category that is not there. */
void draw_names_label(const struct draw_names *names, uint32_t category, const char *suffix,
                      char label[COCO_LABEL_MAX]);

#define cleanup_draw_names __attribute__((cleanup(draw_names_done)))

#endif

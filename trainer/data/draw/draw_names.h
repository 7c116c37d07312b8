/* Category names of a data set as drawn on pictures.
 *
 * It has the fonts for them, too. */
#ifndef TRAINER_DATA_DRAW_DRAW_NAMES_H
#define TRAINER_DATA_DRAW_DRAW_NAMES_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/draw/coco_draw.h"
#include "trainer/data/draw/labels/fonts.h"
#include "trainer/eval/coco_report.h"

struct draw_names {
    struct fonts *fonts; /* owned */
    struct buf spelled;  /* each name, with its NUL */
    size_t *starts;      /* owned: start of each name */
    size_t count;
};

void draw_names_done(struct draw_names *names);

/* Prepares the names of COUNT categories, for the letters of FONT (a file, or NULL) and of the
 * system's fonts; a damaged system font is skipped with a warning. Names with other letters are
 * transliterated, with a warning that shows how. An error of FONT names it. Call draw_names_done
 * on RET in any case. */
int draw_names_make(struct draw_names *ret, const struct coco_report_category *categories,
                    size_t count, const char *font, struct error *err);

/* The same for the categories of INDEX. */
int draw_names_of_index(struct draw_names *ret, const struct coco_index *index, const char *font,
                        struct error *err);

/* Writes the beginning of the name of CATEGORY, in whole characters, and SUFFIX (at most 15
 * bytes); "?" for a category that does not exist. */
void draw_names_label(const struct draw_names *names, uint32_t category, const char *suffix,
                      char label[COCO_LABEL_MAX]);

#define cleanup_draw_names __attribute__((cleanup(draw_names_done)))

#endif

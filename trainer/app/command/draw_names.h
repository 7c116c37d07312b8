/* How the categories of a data set are written on pictures, and with what fonts. */
#ifndef COMMAND_DRAW_NAMES_H
#define COMMAND_DRAW_NAMES_H

#include "coco/coco_index.h"
#include "common/buf.h"
#include "common/error.h"
#include "draw/coco_draw.h"
#include "draw/fonts.h"

struct draw_names {
    struct fonts *fonts; /* owned */
    struct buf spelled;  /* each name with its NUL */
    size_t *starts;      /* owned: where each begins */
    size_t count;
};

void draw_names_done(struct draw_names *names);

/* The names of INDEX, in the letters of FONT (a file, or NULL) and of the system's fonts; one of
 * those that is damaged is warned of and done without. A name that has other letters, too, is
 * spelled, and a warning says how. An error of FONT's names it. */
int draw_names_make(struct draw_names *ret, const struct coco_index *index, const char *font,
                    struct error *err);

/* Writes the beginning of the name of CATEGORY, whole characters, and SUFFIX behind it (15 bytes at
 * most); "?" for a category that is not there. */
void draw_names_label(const struct draw_names *names, uint32_t category, const char *suffix,
                      char label[COCO_LABEL_MAX]);

#endif

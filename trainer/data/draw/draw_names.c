#include "trainer/data/draw/draw_names.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "trainer/data/draw/labels/ascii_fallback.h"
#include "trainer/data/draw/labels/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPELLED_MAX = 64 * 1024 * 1024 };

void draw_names_done(struct draw_names *names) {
    fonts_free(names->fonts);
    buf_done(&names->spelled);
    free(names->starts);
    *names = (struct draw_names){0};
}

static bool all_plain(struct fonts *fonts, const struct coco_report_category *categories,
                      size_t count) {
    for (size_t c = 0; c < count; c++)
        if (!ascii_fallback_is_plain(fonts, categories[c].name))
            return false;
    return true;
}

/* Adds FONT, then the system's first one, which has ASCII, and others while letters are missing. */
static int add_fonts(struct fonts *fonts, const struct coco_report_category *categories,
                     size_t count, const char *font, struct error *err) {
    if (font != NULL && fonts_add(fonts, font, err) != 0)
        return error_wrap(err, "--font");
    for (size_t i = 0; FONTS_KNOWN[i] != NULL; i++) {
        struct error why = {0};
        if ((i > 0 && all_plain(fonts, categories, count)) || access(FONTS_KNOWN[i], F_OK) != 0)
            continue;
        if (fonts_add(fonts, FONTS_KNOWN[i], &why) != 0)
            log_warning("%s: not used for labels", why.text);
    }
    return 0;
}

int draw_names_make(struct draw_names *ret, const struct coco_report_category *categories,
                    size_t count, const char *font, struct error *err) {
    buf_init(&ret->spelled, SPELLED_MAX);
    ret->fonts = fonts_new(err);
    if (ret->fonts == NULL || add_fonts(ret->fonts, categories, count, font, err) != 0)
        return -1;
    ret->starts = calloc(count + 1, sizeof(*ret->starts));
    if (ret->starts == NULL)
        return error_no_memory(err, "names of categories");
    for (size_t c = 0; c < count; c++) {
        const char *name = categories[c].name;
        ret->starts[c] = ret->spelled.size;
        if (ascii_fallback(ret->fonts, name, &ret->spelled, err) != 0)
            return -1;
        if (!ascii_fallback_is_plain(ret->fonts, name))
            log_warning("category %" PRId64 " is written as '%s' on the pictures", categories[c].id,
                        ret->spelled.data + ret->starts[c]);
        if (buf_add(&ret->spelled, "", 1, err) != 0)
            return -1;
        ret->count++;
    }
    return 0;
}

int draw_names_of_index(struct draw_names *ret, const struct coco_index *index, const char *font,
                        struct error *err) {
    const size_t count = index->category_count;
    cleanup_free struct coco_report_category *categories = calloc(count + 1, sizeof(*categories));
    if (categories == NULL)
        return error_no_memory(err, "names of categories");
    for (size_t c = 0; c < count; c++)
        categories[c] =
            (struct coco_report_category){.name = coco_index_name(index, index->categories[c].name),
                                          .id = index->categories[c].id};
    return draw_names_make(ret, categories, count, font, err);
}

void draw_names_label(const struct draw_names *names, uint32_t category, const char *suffix,
                      char label[COCO_LABEL_MAX]) {
    const char *name =
        category < names->count ? names->spelled.data + names->starts[category] : "?";
    snprintf(label, COCO_LABEL_MAX, "%.*s%.15s", (int)utf8_length(name, COCO_NAME_MAX), name,
             suffix);
}

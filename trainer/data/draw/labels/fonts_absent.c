/* Fonts in a build without FreeType: none. */
#include "trainer/data/draw/labels/fonts.h"

const char *const FONTS_KNOWN[] = {NULL};

struct fonts {
    size_t count;
};

static struct fonts none;

const char *fonts_library(void) {
    return NULL;
}

struct fonts *fonts_new(struct error *err) {
    (void)err;
    return &none;
}

void fonts_free(struct fonts *fonts) {
    (void)fonts;
}

int fonts_add(struct fonts *fonts, const char *path, struct error *err) {
    (void)fonts;
    return error_set(err, EXIT_CODE_USAGE, "%s: this build reads no fonts: it has no FreeType",
                     path);
}

size_t fonts_count(const struct fonts *fonts) {
    return fonts == NULL ? 0 : fonts->count;
}

const struct glyph *fonts_glyph(struct fonts *fonts, uint32_t character, int em) {
    (void)fonts;
    (void)character;
    (void)em;
    return NULL;
}

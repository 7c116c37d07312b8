/* Fonts for tests: those of DejaVu, which the tests' packages have. */
#ifndef TESTS_SUPPORT_FONTS_H
#define TESTS_SUPPORT_FONTS_H

#include "tests/support/unit.h"
#include "trainer/data/draw/labels/fonts.h"

#include <unistd.h>

#define FONTS_SANS "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
#define FONTS_MONO "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"

/* False, with the case skipped, where this build reads no fonts or PATH is not installed. */
static inline bool fonts_can(const char *path) {
    if (fonts_library() != NULL && access(path, R_OK) == 0)
        return true;
    unit_skip(fonts_library() == NULL ? "this build has no FreeType" : path);
    return false;
}

/* A list with PATH alone; fonts_free it. */
static inline struct fonts *fonts_of(const char *path) {
    struct error err = {0};
    struct fonts *fonts = fonts_new(&err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fonts);
    if (path != NULL)
        CU_ASSERT_EQUAL_FATAL(fonts_add(fonts, path, &err), 0);
    return fonts;
}

#endif

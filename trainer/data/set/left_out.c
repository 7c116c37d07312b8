#include "trainer/data/set/left_out.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Pictures to others, torchvision among them, that are not read here. */
static const char *const suffixes[] = {".ppm",  ".pgm",  ".pbm", ".pnm",  ".bmp",
                                       ".tif",  ".tiff", ".gif", ".webp", ".avif",
                                       ".heic", ".heif", ".jp2", ".jxl",  ".tga"};

void left_out_done(struct left_out *out) {
    buf_done(&out->names);
    *out = (struct left_out){0};
}

static struct left_out_kind *kind_of(struct left_out *out, const char *what, const char *path) {
    for (size_t i = 0; i < out->kinds; i++)
        if (strcmp(out->kind[i].what, what) == 0)
            return &out->kind[i];
    bool last = out->kinds + 1 >= LEFT_OUT_KINDS;
    if (out->kinds == LEFT_OUT_KINDS)
        return &out->kind[LEFT_OUT_KINDS - 1];
    struct left_out_kind *kind = &out->kind[out->kinds++];
    snprintf(kind->what, sizeof(kind->what), "%s", last ? "of other kinds" : what);
    snprintf(kind->example, sizeof(kind->example), "%s", path);
    return kind;
}

int left_out_add(struct left_out *out, const char *what, bool picture, const char *path,
                 struct error *err) {
    kind_of(out, what, path)->count++;
    out->count++;
    out->pictures += picture;
    if (out->names.max == 0)
        buf_init(&out->names, LEFT_OUT_NAMES_MAX);
    if (out->names.size + strlen(path) + 2 > LEFT_OUT_NAMES_MAX)
        return 0;
    return buf_printf(&out->names, err, "%s\n", path);
}

int left_out_add_file(struct left_out *out, const char *path, struct error *err) {
    char what[LEFT_OUT_WHAT_MAX] = "without a suffix";
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    const char *dot = strrchr(name, '.');
    bool picture = false;
    if (dot != NULL) {
        size_t i = 0;
        for (; i + 1 < sizeof(what) && dot[i] != '\0'; i++)
            what[i] = (char)tolower((unsigned char)dot[i]);
        what[i] = '\0';
        for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
            picture |= strcasecmp(dot, suffixes[i]) == 0;
    }
    return left_out_add(out, what, picture, path, err);
}

void left_out_text(const struct left_out *out, char *text, size_t size) {
    size_t at = 0;
    text[0] = '\0';
    if (out->count == 0)
        return;
    at = (size_t)snprintf(text, size, "%zu left out:", out->count);
    for (size_t i = 0; i < out->kinds && at < size; i++) {
        const struct left_out_kind *kind = &out->kind[i];
        at += (size_t)snprintf(text + at, size - at, "%s %zu %s (%s)", i == 0 ? "" : ",",
                               kind->count, kind->what, kind->example);
    }
}

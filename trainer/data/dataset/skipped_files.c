#include "trainer/data/dataset/skipped_files.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Formats that other programs, such as torchvision, read, but not this one. */
static const char *const suffixes[] = {".ppm",  ".pgm",  ".pbm", ".pnm",  ".bmp",
                                       ".tif",  ".tiff", ".gif", ".webp", ".avif",
                                       ".heic", ".heif", ".jp2", ".jxl",  ".tga"};

void skipped_files_done(struct skipped_files *out) {
    buf_done(&out->names);
    *out = (struct skipped_files){0};
}

static struct skipped_files_kind *kind_of(struct skipped_files *out, const char *what,
                                          const char *path) {
    for (size_t i = 0; i < out->kinds; i++)
        if (strcmp(out->kind[i].what, what) == 0)
            return &out->kind[i];
    bool last = out->kinds + 1 >= SKIPPED_FILES_KINDS;
    if (out->kinds == SKIPPED_FILES_KINDS)
        return &out->kind[SKIPPED_FILES_KINDS - 1];
    struct skipped_files_kind *kind = &out->kind[out->kinds++];
    snprintf(kind->what, sizeof(kind->what), "%s", last ? "of other kinds" : what);
    snprintf(kind->example, sizeof(kind->example), "%s", path);
    return kind;
}

int skipped_files_add(struct skipped_files *out, const char *what, bool picture, const char *path,
                      struct error *err) {
    kind_of(out, what, path)->count++;
    out->count++;
    out->pictures += picture;
    if (out->names.max == 0)
        buf_init(&out->names, SKIPPED_FILES_NAMES_MAX);
    if (out->names.size + strlen(path) + 2 > SKIPPED_FILES_NAMES_MAX)
        return 0;
    return buf_printf(&out->names, err, "%s\n", path);
}

int skipped_files_add_file(struct skipped_files *out, const char *path, struct error *err) {
    char what[SKIPPED_FILES_WHAT_MAX] = "without a suffix";
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
    return skipped_files_add(out, what, picture, path, err);
}

void skipped_files_text(const struct skipped_files *out, char *text, size_t size) {
    size_t at = 0;
    text[0] = '\0';
    if (out->count == 0)
        return;
    at = (size_t)snprintf(text, size, "%zu left out:", out->count);
    for (size_t i = 0; i < out->kinds && at < size; i++) {
        const struct skipped_files_kind *kind = &out->kind[i];
        at += (size_t)snprintf(text + at, size - at, "%s %zu %s (%s)", i == 0 ? "" : ",",
                               kind->count, kind->what, kind->example);
    }
}

#include "trainer/app/task/class_confusion.h"

#include "common/file/file.h"
#include "common/file/output_path.h"

#include <limits.h>
#include <stdio.h>

#define START "true class,\""

enum { TEXT_MAX = 64 * 1024 * 1024 };

static const char *const STARTS[] = {START, NULL};
static const struct output_path_kind KIND = {"a confusion matrix", STARTS};

static int path_in(const char *folder, char path[PATH_MAX], struct error *err) {
    if (snprintf(path, PATH_MAX, "%s/" CLASS_CONFUSION_FILE, folder) < PATH_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG, "--out: %.64s...: path too long", folder);
}

int class_confusion_check(const char *folder, size_t classes, struct error *err) {
    char path[PATH_MAX];
    if (classes > CLASS_TALLY_PAIRS_OF)
        return error_set(err, EXIT_CODE_USAGE,
                         "--out: " CLASS_CONFUSION_FILE
                         " is written for at most %d classes, the model has %zu",
                         CLASS_TALLY_PAIRS_OF, classes);
    if (file_make_dirs(folder, err) != 0)
        return error_wrap(err, "--out");
    return path_in(folder, path, err) != 0 ? -1 : output_path_check(path, &KIND, "--out", err);
}

/* Appends NAME in quotes; those within are doubled. */
static int put_name(struct buf *out, const char *name, struct error *err) {
    if (buf_add_text(out, "\"", err) != 0)
        return -1;
    for (const char *c = name; *c != '\0'; c++)
        if (buf_printf(out, err, *c == '"' ? "\"%c" : "%c", *c) != 0)
            return -1;
    return buf_add_text(out, "\"", err);
}

static int put_row(struct buf *out, const double *counts, size_t classes, struct error *err) {
    for (size_t c = 0; c < classes; c++)
        if (buf_printf(out, err, ",%.0f", counts[c]) != 0)
            return -1;
    return buf_add_text(out, "\n", err);
}

static int put_all(struct buf *out, const struct class_tally *t, char *const *names,
                   struct error *err) {
    if (buf_add_text(out, "true class", err) != 0)
        return -1;
    for (size_t c = 0; c < t->classes; c++)
        if (buf_add_text(out, ",", err) != 0 || put_name(out, names[c], err) != 0)
            return -1;
    if (buf_add_text(out, "\n", err) != 0)
        return -1;
    for (size_t c = 0; c < t->classes; c++)
        if (put_name(out, names[c], err) != 0 ||
            put_row(out, t->pairs + c * t->classes, t->classes, err) != 0)
            return -1;
    return 0;
}

int class_confusion_write(const struct class_tally *tally, char *const *names, const char *folder,
                          struct error *err) {
    cleanup_buf struct buf text = {.max = TEXT_MAX};
    char path[PATH_MAX];
    return path_in(folder, path, err) != 0 || put_all(&text, tally, names, err) != 0
               ? -1
               : file_publish(path, buf_text(&text), text.size, 0644, err);
}

#include "trainer/data/format/class_names.h"

#include "common/file/file.h"
#include "common/str.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 16 << 20 };

static const struct {
    const char *file;
    bool numbered;   /* lines may begin with "NUMBER:" */
    bool first_word; /* the rest of a line is an explanation */
} FILES[] = {
    {"classes.txt", false, false},      {"classnames.txt", false, false},
    {"labels.txt", true, false},        {"synset.txt", false, true},
    {"batches.meta.txt", false, false}, {"fine_label_names.txt", false, false},
};

void class_names_done(struct class_names *names) {
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct class_names){0};
}

/* Takes "NUMBER:" off a line. Returns false if it does not begin so. */
static bool take_number(char **line, int64_t *ret) {
    char *colon = strchr(*line, ':');
    if (colon == NULL)
        return false;
    *colon = '\0';
    const bool is = str_parse_int(*line, 0, CLASS_NAMES_MAX - 1, ret, NULL) == 0;
    *colon = ':';
    if (is)
        *line = colon + 1;
    return is;
}

static int add(struct class_names *names, char *line, size_t number, const char *path,
               struct error *err) {
    if (number != names->count)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: class %zu stands where class %zu is expected; expected one class a "
                         "line, in order",
                         path, number, names->count);
    if (line[0] == '\0' || names->count == CLASS_NAMES_MAX)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: line %zu %s; expected a class name in each of at most %d lines", path,
                         names->count + 1, line[0] == '\0' ? "is empty" : "is one too many",
                         CLASS_NAMES_MAX);
    if ((names->names[names->count] = strdup(line)) == NULL)
        return error_no_memory(err, "names of classes");
    names->count++;
    return 0;
}

static int parse(struct class_names *names, struct buf *text, size_t row, const char *path,
                 struct error *err) {
    char *rest = text->data;
    size_t lines = 1;
    /* CIFAR's file ends with an empty line. */
    while (text->size > 0 && strchr("\r\n", text->data[text->size - 1]) != NULL)
        text->data[--text->size] = '\0';
    if (text->size == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: empty; expected a class name in each line",
                         path);
    for (size_t i = 0; i < text->size; i++)
        lines += text->data[i] == '\n';
    names->names = calloc(lines, sizeof(*names->names));
    if (names->names == NULL)
        return error_no_memory(err, "names of classes");
    while (rest != NULL && *rest != '\0') {
        char *line = strsep(&rest, "\n");
        int64_t number = (int64_t)names->count;
        line[strcspn(line, "\r")] = '\0';
        if (FILES[row].numbered)
            (void)take_number(&line, &number);
        if (FILES[row].first_word)
            line[strcspn(line, " \t")] = '\0';
        if (add(names, line, (size_t)number, path, err) != 0)
            return -1;
    }
    return 0;
}

int class_names_read(struct class_names *ret, const char *folder, struct error *err) {
    *ret = (struct class_names){0};
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        cleanup_buf struct buf text = {.max = FILE_MAX};
        struct error why = {0};
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, FILES[i].file);
        if (file_read(path, &text, &why) == 0) {
            if (parse(ret, &text, i, path, err) == 0)
                return 0;
            class_names_done(ret);
            return -1;
        }
        if (why.os_errno != ENOENT) {
            *err = why;
            return -1;
        }
    }
    return 0;
}

#include "trainer/data/format/picture_labels.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 256 << 20 };

static const char separators[] = ", \t";

void picture_labels_done(struct picture_labels *labels) {
    free(labels->text);
    free(labels->items);
    *labels = (struct picture_labels){0};
}

static int compare(const void *a, const void *b) {
    const struct picture_label *x = a, *y = b;
    return strcmp(x->picture, y->picture);
}

static void drop_suffix(char *name) {
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = '\0';
}

static bool is_number(const char *text) {
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static int refuse(const char *source, size_t line, const char *what, struct error *err) {
    return error_set(err, EXIT_CODE_DATA,
                     "%s: line %zu: %s; expected a class, or a picture and its class, in each line",
                     source, line, what);
}

static int add(struct picture_labels *labels, char *line, size_t number, const char *source,
               struct error *err) {
    char *words[2] = {NULL, NULL};
    char *rest = NULL;
    words[0] = strtok_r(line, separators, &rest);
    words[1] = words[0] != NULL ? strtok_r(NULL, separators, &rest) : NULL;
    if (words[0] == NULL)
        return refuse(source, number, "empty", err);
    const struct picture_label label = {words[1] != NULL ? words[0] : NULL,
                                        words[1] != NULL ? words[1] : words[0]};
    if (is_number(label.class_name))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: line %zu: class '%.32s' is a number; expected the class's name, such "
                         "as n01751748: which class a number of the development kit means is not "
                         "in this file (TensorFlow's imagenet_2012_validation_synset_labels.txt "
                         "and Kaggle's LOC_val_solution.csv have names)",
                         source, number, label.class_name);
    if (labels->count > 0 && (labels->items[0].picture == NULL) != (label.picture == NULL))
        return refuse(source, number, "not as the lines before it", err);
    if (label.picture != NULL)
        drop_suffix(words[0]);
    labels->items[labels->count++] = label;
    return 0;
}

static int sort(struct picture_labels *labels, const char *source, struct error *err) {
    if (labels->count == 0 || labels->items[0].picture == NULL)
        return 0;
    qsort(labels->items, labels->count, sizeof(*labels->items), compare);
    for (size_t i = 1; i < labels->count; i++)
        if (compare(&labels->items[i - 1], &labels->items[i]) == 0)
            return error_set(err, EXIT_CODE_DATA, "%s: %.200s occurs twice", source,
                             labels->items[i].picture);
    return 0;
}

static int parse(struct picture_labels *labels, size_t size, const char *source,
                 struct error *err) {
    size_t lines = 1;
    if (memchr(labels->text, '\0', size) != NULL)
        return error_set(err, EXIT_CODE_DATA, "%s: holds a NUL; expected text", source);
    while (size > 0 && strchr(" \t\r\n", labels->text[size - 1]) != NULL)
        labels->text[--size] = '\0';
    for (size_t i = 0; i < size; i++)
        lines += labels->text[i] == '\n';
    labels->items = calloc(lines, sizeof(*labels->items));
    if (labels->items == NULL)
        return error_no_memory(err, "classes of pictures");
    char *rest = labels->text;
    for (size_t number = 1; rest != NULL && *rest != '\0'; number++) {
        char *line = strsep(&rest, "\n");
        line[strcspn(line, "\r")] = '\0';
        if (number == 1 && str_starts_with(line, "ImageId,"))
            continue;
        if (add(labels, line, number, source, err) != 0)
            return -1;
    }
    if (labels->count == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: no class of a picture in it", source);
    return sort(labels, source, err);
}

int picture_labels_parse(struct picture_labels *ret, char *text, size_t size, const char *source,
                         struct error *err) {
    *ret = (struct picture_labels){.text = text};
    if (parse(ret, size, source, err) == 0)
        return 0;
    picture_labels_done(ret);
    return -1;
}

int picture_labels_read(struct picture_labels *ret, const char *path, struct error *err) {
    cleanup_buf struct buf text = {.max = FILE_MAX};
    *ret = (struct picture_labels){0};
    if (file_read(path, &text, err) != 0)
        return error_recode(err, EXIT_CODE_DATA);
    if (text.size == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: empty", path);
    const size_t size = text.size;
    return picture_labels_parse(ret, TAKE_PTR(text.data), size, path, err);
}

const char *picture_labels_find(const struct picture_labels *labels, const char *path,
                                size_t place) {
    char name[NAME_MAX + 1] = "";
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    if (labels->count == 0 || labels->items[0].picture == NULL)
        return place < labels->count ? labels->items[place].class_name : NULL;
    if (strlen(file) >= sizeof(name))
        return NULL;
    memcpy(name, file, strlen(file) + 1);
    drop_suffix(name);
    const struct picture_label key = {name, NULL};
    const struct picture_label *found =
        bsearch(&key, labels->items, labels->count, sizeof(key), compare);
    return found != NULL ? found->class_name : NULL;
}

/* Files with the classes of pictures: whatever the text is, each label has a class, and a picture
 * that is named finds its own. */
#include "tests/fuzz/check.h"
#include "trainer/data/format/picture_labels.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_label(const struct picture_labels *labels, size_t i) {
    const struct picture_label *label = &labels->items[i];
    CHECK(label->class_name != NULL && label->class_name[0] != '\0');
    if (label->picture == NULL)
        CHECK(picture_labels_find(labels, "x.jpg", i) == label->class_name);
    else if (strchr(label->picture, '/') == NULL && strchr(label->picture, '.') == NULL &&
             strlen(label->picture) <= NAME_MAX)
        CHECK(picture_labels_find(labels, label->picture, 0) == label->class_name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct picture_labels labels = {0};
    struct error err = {0};
    char *text = malloc(size + 1);
    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (picture_labels_parse(&labels, text, size, "labels", &err) != 0)
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    for (size_t i = 0; i < labels.count; i++)
        check_label(&labels, i);
    picture_labels_done(&labels);
    return 0;
}

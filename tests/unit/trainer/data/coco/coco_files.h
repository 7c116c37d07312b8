/* Small COCO files for tests. */
#ifndef TESTS_UNIT_TRAINER_DATA_COCO_COCO_FILES_H
#define TESTS_UNIT_TRAINER_DATA_COCO_COCO_FILES_H

#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>

/* Writes TEXT to NAME in the test's folder; the path is valid until the next call but one. */
static inline const char *write_text(const char *name, const char *text) {
    static char paths[2][PATH_MAX];
    static int turn;
    char *path = paths[turn++ % 2];
    snprintf(path, PATH_MAX, "%s/%s", unit_temp_dir(), name);
    FILE *out = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fputs(text, out);
    CU_ASSERT_EQUAL_FATAL(fclose(out), 0);
    return path;
}

#define TWO_IMAGES                                                                                 \
    "\"images\":[{\"id\":9,\"file_name\":\"nine.jpg\",\"width\":20,\"height\":10},"                \
    "{\"id\":4,\"file_name\":\"fo\\u0075r.jpg\",\"width\":10,\"height\":10}]"
#define TWO_CATEGORIES "\"categories\":[{\"id\":90,\"name\":\"dog\"},{\"id\":3,\"name\":\"cat\"}]"

/* Four annotations: of two images, of one that is not listed, and of a category that is not. */
#define ONE_SET                                                                                    \
    "{\"info\":{},\"annotations\":["                                                               \
    "{\"id\":5,\"image_id\":9,\"category_id\":3,\"bbox\":[1,2,3,4],\"area\":7,\"iscrowd\":0,"      \
    "\"segmentation\":[[2,2,7,2,7,7,2,7]]},"                                                       \
    "{\"id\":6,\"image_id\":77,\"category_id\":3},"                                                \
    "{\"id\":7,\"image_id\":4,\"category_id\":8},"                                                 \
    "{\"id\":8,\"image_id\":9,\"category_id\":90,\"iscrowd\":1,"                                   \
    "\"segmentation\":{\"counts\":[0,200],\"size\":[10,20]}}]," TWO_IMAGES "," TWO_CATEGORIES "}"

#endif

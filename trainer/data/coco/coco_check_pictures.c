#include "trainer/data/coco/coco_check_pictures.h"

#include "common/cleanup.h"
#include "trainer/data/codec/picture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Result of a picture; the last value stands for "no finding". */
enum { IN_ORDER = COCO_FINDINGS };

static uint8_t check_picture(const struct coco_index *index, const struct coco_image *image,
                             const char *pictures) {
    cleanup_image struct image picture = {0};
    char path[PATH_MAX];
    struct stat st;
    if (coco_index_picture(index, image, pictures, path, sizeof(path), NULL) != 0 ||
        stat(path, &st) != 0)
        return COCO_NO_FILE;
    if (picture_read(path, &picture, NULL) != 0)
        return COCO_BAD_FILE;
    bool agrees = image->width == 0 || image->height == 0 ||
                  (picture.width == (int)image->width && picture.height == (int)image->height);
    return agrees ? IN_ORDER : COCO_OTHER_SIZE;
}

int coco_check_pictures(struct coco_finding findings[COCO_FINDINGS], const struct coco_index *index,
                        const char *pictures, struct error *err) {
    cleanup_free uint8_t *kinds = calloc(index->image_count + 1, 1);
    if (kinds == NULL)
        return error_no_memory(err, "pictures to check");
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = 0; i < index->image_count; i++)
        kinds[i] = check_picture(index, &index->images[i], pictures);
    for (size_t i = 0; i < index->image_count; i++)
        if (kinds[i] != IN_ORDER)
            coco_findings_add(findings, (enum coco_finding_kind)kinds[i], index->images[i].id);
    return 0;
}

/* Layouts of COCO data sets. The first one that a folder has decides:
 *
 *     annotations/instances_NAME.json   as COCO's own archives unpack (train2017, val2017)
 *     annotations/NAME.json             where no file there is called instances_
 *     NAME/_annotations.coco.json       among the pictures, as Roboflow exports
 *     instances_NAME.json, NAME.json    in the folder itself
 *
 * coco_pictures.h says where the pictures are looked for. */
#ifndef TRAINER_DATA_COCO_COCO_FOLDER_H
#define TRAINER_DATA_COCO_COCO_FOLDER_H

#include "common/error.h"

#include <limits.h>
#include <stddef.h>

enum { COCO_SETS_MAX = 64 };

struct coco_set {
    char name[NAME_MAX + 1];
    char json[PATH_MAX];
    char pictures[PATH_MAX]; /* "" if there is no such folder */
};

struct coco_folder {
    struct coco_set *sets; /* owned, sorted by name */
    size_t count;          /* at least one */
};

void coco_folder_done(struct coco_folder *folder);

/* PATH is a data set's folder, or a JSON file of annotations, with pictures beside it or beside the
 * folder that contains it. */
int coco_folder_open(struct coco_folder *ret, const char *path, struct error *err);

/* Returns the only set, or NULL if there are several. */
const struct coco_set *coco_folder_only(const struct coco_folder *folder);

/* Returns the set NAME; without a name the one with a name that begins with PREFIX, or the only one
 * if PATH, with which the folder was opened, is a JSON file. The error lists the sets and names
 * FLAG, which selects one. */
const struct coco_set *coco_folder_pick(const struct coco_folder *folder, const char *path,
                                        const char *name, const char *prefix, const char *flag,
                                        struct error *err);

#define cleanup_coco_folder __attribute__((cleanup(coco_folder_done)))

#endif

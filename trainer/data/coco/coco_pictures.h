/* Search for the folder that holds the pictures of an annotations file.
 *
 * Looked at, for the set NAME, in this order: ROOT/NAME (COCO's own archives), ROOT/images/NAME,
 * ROOT/images, and ROOT itself where it holds pictures. ROOT is the folder that contains
 * annotations/, or the JSON file. */
#ifndef TRAINER_DATA_COCO_COCO_PICTURES_H
#define TRAINER_DATA_COCO_COCO_PICTURES_H

#include "common/error.h"

#include <limits.h>
#include <stdbool.h>

/* Roboflow's name for annotations that lie among their pictures. */
#define COCO_BESIDE_PICTURES "_annotations.coco.json"

/* Writes the folder of NAME's pictures to RET, "" where there is none. With LOOSE pictures may lie
 * in ROOT itself. Fails if the system does not answer (EXIT_CODE_CONFIG) or a path is too long. */
int coco_pictures_find(char ret[PATH_MAX], const char *root, const char *name, bool loose,
                       struct error *err);

#endif

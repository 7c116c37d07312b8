/* Where an index of annotations comes from: the JSON, or an index file that was made of it. */
#ifndef TRAINER_DATA_COCO_COCO_LOAD_H
#define TRAINER_DATA_COCO_COCO_LOAD_H

#include "common/error.h"
#include "trainer/data/coco/coco_index.h"

/* Reads the index file PATH, which must outlive the index. A damaged or foreign file is refused. */
int coco_load_index(struct coco_index *ret, const char *path, struct error *err);

/* The annotations of JSON (the path must outlive the index): from CACHE where that was made from a
 * file of the same content, else made and written there; a damaged or older index is replaced, any
 * other file there refused. Made in memory when CACHE is NULL. */
int coco_load(struct coco_index *ret, const char *json, const char *cache, struct error *err);

/* Made in memory, without outlines: whatever "segmentation" is, nobody looks at it. */
int coco_load_boxes(struct coco_index *ret, const char *json, struct error *err);

/* Made in memory that nobody can change any more, which *RET_FD, the caller's, is a descriptor of:
 * other processes may map it, too. */
int coco_load_sealed(struct coco_index *ret, const char *json, int *ret_fd, struct error *err);
/* What another process has made so of JSON. Memory that can still be changed is refused. */
int coco_load_shared(struct coco_index *ret, int fd, const char *json, struct error *err);

#endif

/* Sources of an index of annotations: the JSON, or an index file made from it. */
#ifndef TRAINER_DATA_COCO_COCO_LOAD_H
#define TRAINER_DATA_COCO_COCO_LOAD_H

#include "common/error.h"
#include "trainer/data/coco/coco_index.h"

/* Reads the index file PATH, which must outlive the index. Refuses a damaged or foreign file. */
int coco_load_index(struct coco_index *ret, const char *path, struct error *err);

/* Loads the annotations of JSON (the path must outlive the index). Uses CACHE if that was made
 * from the same content; else converts the JSON and writes CACHE, replacing a damaged or older
 * index but no other file. With CACHE NULL the index is only in memory. */
int coco_load(struct coco_index *ret, const char *json, const char *cache, struct error *err);

/* Makes an index in memory without outlines: "segmentation" is skipped, whatever it contains. */
int coco_load_boxes(struct coco_index *ret, const char *json, struct error *err);

/* Makes an index in sealed memory that other processes may map. *RET_FD is its descriptor, owned
 * by the caller. */
int coco_load_sealed(struct coco_index *ret, const char *json, int *ret_fd, struct error *err);
/* Maps the index that another process made of JSON in this way. Memory that is not sealed is
 * refused. */
int coco_load_shared(struct coco_index *ret, int fd, const char *json, struct error *err);

#endif

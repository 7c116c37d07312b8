/* Lists FOLDER/CLASS/FILE for a dataset. Both levels are sorted bytewise, so the order does not
 * depend on the file system. Links to folders and files are followed. */
#ifndef DATA_FOLDER_H
#define DATA_FOLDER_H

#include "common/error.h"
#include "data/dataset.h"

/* Fills a zeroed SET; on failure it may be half filled, for dataset_done. */
int folder_scan(struct dataset *set, const char *folder, struct error *err);

#endif

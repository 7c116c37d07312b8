/* Rows of `ringmaster check` about the data of a job (host/preflight/data_look.h). Pure. */
#ifndef ENTRYPOINT_MASTER_PREFLIGHT_CHECK_DATA_H
#define ENTRYPOINT_MASTER_PREFLIGHT_CHECK_DATA_H

#include "entrypoint/master/preflight/check_item.h"

/* Functions of check_item.h: which channels are there, of how many files, and room for those that
 * are fetched from the first host; how fast they are read. */
void check_data_look(const json_t *host, const json_t *master, struct check_finding *f);
void check_data_look_reading(const json_t *host, const json_t *master, struct check_finding *f);

#endif

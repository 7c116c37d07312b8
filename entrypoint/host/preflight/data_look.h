/* Survey of a job's data on one host, for `ringmaster check`.
 *
 * It is made by a child, as a disk or a mounted folder may hang. Counting stops after a
 * while, and reading too: the whole takes a second or so. */
#ifndef ENTRYPOINT_HOST_PREFLIGHT_DATA_LOOK_H
#define ENTRYPOINT_HOST_PREFLIGHT_DATA_LOOK_H

#include <jansson.h>

/* The channels are the folders below BASE/input/data and the SOURCES, pairs of name and address
 * (job/download_sources.h). The caller owns the object:
 *
 *   channels   [{name, from, here, files, mib, more, prepared}], by name
 *     from     address that it is fetched from; "": it comes without us
 *     here     whether there is a folder; of one that is a folder of this host (file://, first://
 *              on the first host) that folder counts, until the channel is there
 *     files, mib   in it; more: there are more, as the time was over
 *     prepared     it has an index of `ringtrain prepare`
 *   read_mib   a second, from the disk; -1: there is nothing to read */
json_t *data_look(const char *base, const json_t *sources);

#endif

/* Resources of a host, for `ringmaster check`.
 *
 * These are the ones that its join (host_info.h) lacks. They are read from files and calls of the
 * kernel, by a child, as some may hang on a disk. */
#ifndef ENTRYPOINT_HOST_PREFLIGHT_RESOURCES_H
#define ENTRYPOINT_HOST_PREFLIGHT_RESOURCES_H

#include <jansson.h>

/* ROOT is a prefix of all kernel paths, "" except in tests; BASE is the job's folder and
 * INTERFACE the job's network interface, "" where none is known. The caller owns the object.
 *
 *   kernel kernel_name processor driver gpu read_memory   texts, "" where there is none
 *                                                         (gpu: each model once, "A, B")
 *   gpus shm_free_mib disk_free_mib mtu                   -1 where not known
 *   memlock_kib pids                                      -1 where nothing limits them
 *   rdma efa                                              whether such a device is there */
json_t *resources_gather(const char *root, const char *base, const char *interface);

#endif

/* Check of NCCL's network plugin: looked for as NCCL does, and really loaded.
 *
 * NCCL opens libnccl-net.so or, for each name in NCCL_NET_PLUGIN, that name and then
 * libnccl-net-NAME.so. One that cannot be loaded is passed over without a word, and NCCL uses TCP.
 * A static program cannot open libraries, so the image's own loader does it: `true` is run with the
 * plugin in LD_PRELOAD. A plugin may need a library that the program alone brings, so what is
 * found here is worth a warning and no more.
 *
 * Source: NCCL 2.30.7, src/plugin/plugin_open.cc and src/plugin/net. */
#ifndef ENTRYPOINT_HOST_PREFLIGHT_NET_PLUGIN_H
#define ENTRYPOINT_HOST_PREFLIGHT_NET_PLUGIN_H

#include "common/argv.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

/* Time to load it, in ms: two loads of each candidate stay below the limit of a check. */
enum { NET_PLUGIN_LOAD_MS = 1500, NET_PLUGIN_ALL_MS = 3500 };

/* Returns true if a job with ENVIRONMENT needs a plugin on this machine: it names one, or there is
 * an Elastic Fabric Adapter and no other provider of libfabric is chosen. NCCL_NET=Socket and
 * NCCL_NET_PLUGIN=none need none. ROOT is put before /sys and /dev: "" except in tests. */
bool net_plugin_is_needed(const char *root, char *const *environment);

/* Appends the names that NCCL tries, in order, for VALUE of NCCL_NET_PLUGIN (NULL: not set). None
 * for "none". */
int net_plugin_names(const char *value, struct argv *ret, struct error *err);

/* Tries them with ENVIRONMENT, that of ranks. Blocks, for NET_PLUGIN_ALL_MS and a moment. Returns
 * an object of texts:
 *
 *   name     the one that was loaded or, if none was, the first that is there
 *   path     where the loader found it; absent: none is there
 *   version  "aws-ofi-nccl 1.13.2", as the file has it; absent: not known
 *   offers   the newest table for NCCL in it, "ncclNetPlugin_v10"
 *   fault    why NCCL uses TCP, a clause for people; absent: nothing is wrong
 *
 * ROOT is put before the folders in which a plugin is looked for that NCCL does not find. */
json_t *net_plugin_try(const char *root, char *const *environment);

/* Appends for people what net_plugin_try() returned: "aws-ofi-nccl 1.13.2 (/opt/.../libnccl-net.so)
 * is loaded", or why not. */
void net_plugin_text(const json_t *found, char *ret, size_t size);

#endif

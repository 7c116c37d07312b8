/* Stand-ins for NCCL's network plugin, one for each PLUGIN_...: see tests/room.cmake. */
#include <signal.h>
#include <unistd.h>

extern const char net_plugin_text[];
extern int net_plugin_absent(void);

/* The text that aws-ofi-nccl contains. */
const char net_plugin_text[] = "NET/OFI Initializing aws-ofi-nccl 1.13.2-aws\n";

#ifndef PLUGIN_EMPTY
extern const int ncclNetPlugin_v8, ncclNetPlugin_v10;
const int ncclNetPlugin_v8 = 8;
const int ncclNetPlugin_v10 = 10;
#endif

__attribute__((constructor)) static void begin(void) {
#ifdef PLUGIN_LACKING
    (void)net_plugin_absent();
#endif
#ifdef PLUGIN_CRASHING
    (void)raise(SIGSEGV);
#endif
#ifdef PLUGIN_HANGING
    for (;;)
        (void)pause();
#endif
}

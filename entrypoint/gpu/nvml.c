#include "entrypoint/gpu/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- as nvml.h declares it ------------------------------------------------------------------- */

/* The types and numbers below are NVML's binary interface, repeated here because no header of
 * NVIDIA's is needed to build this program. Names with a version (_v2, _v3) have a fixed layout;
 * NVIDIA adds a new version instead of changing one.
 *
 * FUNCTIONS is one list from which three things are made: the members of struct nvml, their types,
 * and the table of symbols. So a function cannot be called with another type than the one it is
 * listed with. A function that is not needed may be missing in an older library and is then NULL:
 * every caller checks it and leaves the value unknown.
 *
 * Return codes other than success are treated alike, as not known, for single values. Only the
 * handle and the address of a GPU make it faulty. */

enum {
    NVML_SUCCESS = 0,
    NVML_TIMEOUT = 10,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_ENABLED = 1,
    NVML_CORRECTED = 0,
    NVML_UNCORRECTED = 1,
    NVML_VOLATILE = 0,
    NVML_LINKS_MAX = 18,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_SENSOR = 0,
};
/* nvmlEventTypeXidCriticalError, a bit of a mask. */
static const unsigned long long event_xid = 0x8;
static const unsigned long long mib = 1024ULL * 1024;

/* Handles: pointers to structures that only NVML knows. They stay valid until NVML is shut down. */
typedef struct nvml_device *nvml_device_ref;
typedef struct nvml_set *nvml_set_ref;

/* LEGACY is a short form of the address from before domains had more than four digits. */
struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
/* In bytes. The first version counts what the driver keeps for itself as used. */
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
/* The instances are those of MIG, and are not looked at. */
struct nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
/* Per cent of the last sample's time. */
struct nvml_utilization {
    unsigned gpu, memory;
};
/* DATA is the Xid's number for an event of that type. */
struct nvml_event {
    nvml_device_ref device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

/* FUNCTION(member, name, needed, parameters). All of NVML's functions return an int here, its enum
 * of results. The version in a name is part of the symbol: nvml.h maps the plain name to it by a
 * macro. */
#define FUNCTIONS                                                                                  \
    FUNCTION(init, "nvmlInit_v2", true, (void))                                                    \
    FUNCTION(shut_down, "nvmlShutdown", true, (void))                                              \
    FUNCTION(count, "nvmlDeviceGetCount_v2", true, (unsigned *))                                   \
    FUNCTION(by_index, "nvmlDeviceGetHandleByIndex_v2", true, (unsigned, nvml_device_ref *))       \
    FUNCTION(pci, "nvmlDeviceGetPciInfo_v3", true, (nvml_device_ref, struct nvml_pci *))           \
    FUNCTION(memory, "nvmlDeviceGetMemoryInfo", false, (nvml_device_ref, struct nvml_memory *))    \
    FUNCTION(memory_v2, "nvmlDeviceGetMemoryInfo_v2", false,                                       \
             (nvml_device_ref, struct nvml_memory_v2 *))                                           \
    FUNCTION(processes, "nvmlDeviceGetComputeRunningProcesses_v3", false,                          \
             (nvml_device_ref, unsigned *, struct nvml_process *))                                 \
    FUNCTION(ecc_mode, "nvmlDeviceGetEccMode", false, (nvml_device_ref, unsigned *, unsigned *))   \
    FUNCTION(ecc_errors, "nvmlDeviceGetTotalEccErrors", false,                                     \
             (nvml_device_ref, unsigned, unsigned, unsigned long long *))                          \
    FUNCTION(remapped, "nvmlDeviceGetRemappedRows", false,                                         \
             (nvml_device_ref, unsigned *, unsigned *, unsigned *, unsigned *))                    \
    FUNCTION(clocks, "nvmlDeviceGetCurrentClocksEventReasons", false,                              \
             (nvml_device_ref, unsigned long long *))                                              \
    FUNCTION(clocks_before, "nvmlDeviceGetCurrentClocksThrottleReasons", false,                    \
             (nvml_device_ref, unsigned long long *))                                              \
    FUNCTION(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", false,                        \
             (nvml_device_ref, unsigned *))                                                        \
    FUNCTION(pcie_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration", false,                     \
             (nvml_device_ref, unsigned *))                                                        \
    FUNCTION(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", false, (nvml_device_ref, unsigned *))   \
    FUNCTION(pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth", false,                               \
             (nvml_device_ref, unsigned *))                                                        \
    FUNCTION(link, "nvmlDeviceGetNvLinkState", false, (nvml_device_ref, unsigned, unsigned *))     \
    FUNCTION(name, "nvmlDeviceGetName", false, (nvml_device_ref, char *, unsigned))                \
    FUNCTION(uuid, "nvmlDeviceGetUUID", false, (nvml_device_ref, char *, unsigned))                \
    FUNCTION(utilization, "nvmlDeviceGetUtilizationRates", false,                                  \
             (nvml_device_ref, struct nvml_utilization *))                                         \
    FUNCTION(clock, "nvmlDeviceGetClockInfo", false, (nvml_device_ref, unsigned, unsigned *))      \
    FUNCTION(clock_max, "nvmlDeviceGetMaxClockInfo", false,                                        \
             (nvml_device_ref, unsigned, unsigned *))                                              \
    FUNCTION(temperature, "nvmlDeviceGetTemperature", false,                                       \
             (nvml_device_ref, unsigned, unsigned *))                                              \
    FUNCTION(power, "nvmlDeviceGetPowerUsage", false, (nvml_device_ref, unsigned *))               \
    FUNCTION(pcie_replays, "nvmlDeviceGetPcieReplayCounter", false, (nvml_device_ref, unsigned *)) \
    FUNCTION(set_create, "nvmlEventSetCreate", false, (nvml_set_ref *))                            \
    FUNCTION(set_add, "nvmlDeviceRegisterEvents", false,                                           \
             (nvml_device_ref, unsigned long long, nvml_set_ref))                                  \
    FUNCTION(set_wait, "nvmlEventSetWait_v2", false, (nvml_set_ref, struct nvml_event *, unsigned))

/* The library at work. SET is made by nvml_listen() and is NULL before. */
struct nvml {
    void *library;
    nvml_set_ref set;
#define FUNCTION(member, name, needed, parameters) int(*member) parameters;
    FUNCTIONS
#undef FUNCTION
};

/* OFFSET is the place of the pointer in struct nvml, and NEEDED tells whether nvml_open() may
 * continue without it. */
static const struct symbol {
    const char *name;
    bool needed;
    size_t offset;
} symbols[] = {
#define FUNCTION(member, name, needed, parameters) {name, needed, offsetof(struct nvml, member)},
    FUNCTIONS
#undef FUNCTION
};

/* --- opening --------------------------------------------------------------------------------- */

/* With the version of its interface: the name without ".1" is only in packages for development. */
static const char library_name[] = "libnvidia-ml.so.1";

/* POSIX gives functions as void *, which C does not convert. The bytes are copied into the member;
 * the list FUNCTIONS ensures its type. */
static int find_symbols(struct nvml *n, struct error *err) {
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *found = dlsym(n->library, symbols[i].name);
        if (found == NULL && symbols[i].needed)
            return error_set(err, EXIT_CODE_DEVICE, "%s has no %s", library_name, symbols[i].name);
        memcpy((char *)n + symbols[i].offset, &found, sizeof(found));
    }
    return 0;
}

/* Why the library was not loaded. A static program can load none, and its C library says less. */
static const char *load_error(void) {
#ifdef RINGMASTER_ONE_FILE
    return "the static launcher cannot load libnvidia-ml.so.1";
#else
    return dlerror();
#endif
}

/* RTLD_LOCAL keeps the library's symbols from the rest of the program, and RTLD_NOW lets a library
 * that lacks a dependency fail here and not in a later call. init() fails without a driver, even
 * where the library is in the image. */
struct nvml *nvml_open(struct error *err) {
    struct nvml *n = calloc(1, sizeof(*n));
    if (n == NULL) {
        (void)error_no_memory(err, library_name);
        return NULL;
    }
    n->library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    int code = 0;
    if (n->library == NULL)
        (void)error_set(err, EXIT_CODE_DEVICE, "%s", load_error());
    else if (find_symbols(n, err) == 0 && (code = n->init()) == NVML_SUCCESS)
        return n;
    else if (code != 0)
        (void)error_set(err, EXIT_CODE_DEVICE, "nvmlInit_v2 returned %d", code);
    if (n->library != NULL)
        (void)dlclose(n->library);
    free(n);
    return NULL;
}

/* The event set is not freed apart: NVML ends here as a whole. The library is closed last, as the
 * functions are in it. */
void nvml_close(struct nvml *n) {
    if (n == NULL)
        return;
    (void)n->shut_down();
    (void)dlclose(n->library);
    free(n);
}

/* --- one GPU --------------------------------------------------------------------------------- */

/* What programs use: the driver keeps a part for itself, which version 2 names. The version field
 * of NVML's structures is their size with the number in the top byte. A reserved amount that is
 * larger than what is in use is not subtracted. */
static void read_memory(const struct nvml *n, nvml_device_ref d, struct gpu_state *g) {
    struct nvml_memory_v2 two = {.version = (unsigned)sizeof(two) | (2U << 24)};
    struct nvml_memory one = {0};
    if (n->memory_v2 != NULL && n->memory_v2(d, &two) == NVML_SUCCESS) {
        g->memory_mib = (int64_t)(two.total / mib);
        g->used_mib = (int64_t)((two.total - two.free -
                                 (two.reserved <= two.total - two.free ? two.reserved : 0)) /
                                mib);
    } else if (n->memory != NULL && n->memory(d, &one) == NVML_SUCCESS) {
        g->memory_mib = (int64_t)(one.total / mib);
        g->used_mib = (int64_t)(one.used / mib);
    }
}

/* More processes than there is room for make the call fail, and none is known then. ~0 stands for
 * an amount that the driver does not tell. Only processes that compute are listed, not those that
 * draw. */
static void read_processes(const struct nvml *n, nvml_device_ref d, struct gpu_state *g) {
    struct nvml_process found[GPU_STATE_PROCESSES_MAX];
    unsigned count = GPU_STATE_PROCESSES_MAX;
    memset(found, 0, sizeof(found));
    if (n->processes == NULL || n->processes(d, &count, found) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < count && i < GPU_STATE_PROCESSES_MAX; i++)
        g->processes[g->process_count++] = (struct gpu_process){
            .pid = found[i].pid,
            .memory_mib = found[i].used == ~0ULL ? -1 : (int64_t)(found[i].used / mib)};
}

/* VOLATILE counters begin with 0 when the driver is loaded, and so are about this machine's present
 * run. The mask keeps a count from becoming negative. */
static void read_errors(const struct nvml *n, nvml_device_ref d, struct gpu_state *g) {
    unsigned current = 0, pending = 0, corrected = 0, uncorrected = 0, failed = 0;
    unsigned long long errors = 0;
    /* PENDING is the mode after the next reset, which nobody asks for. */
    if (n->ecc_mode != NULL && n->ecc_mode(d, &current, &pending) == NVML_SUCCESS)
        g->ecc = current == NVML_ENABLED;
    if (n->ecc_errors != NULL &&
        n->ecc_errors(d, NVML_UNCORRECTED, NVML_VOLATILE, &errors) == NVML_SUCCESS)
        g->uncorrected = (int64_t)(errors & INT64_MAX);
    if (n->ecc_errors != NULL &&
        n->ecc_errors(d, NVML_CORRECTED, NVML_VOLATILE, &errors) == NVML_SUCCESS)
        g->corrected = (int64_t)(errors & INT64_MAX);
    if (n->remapped != NULL &&
        n->remapped(d, &corrected, &uncorrected, &pending, &failed) == NVML_SUCCESS) {
        g->remap_pending = pending != 0;
        g->remap_failed = failed != 0;
        g->rows_corrected = corrected;
        g->rows_uncorrected = uncorrected;
    }
}

/* The function has two names: "throttle" is the one of older drivers. Both give the same bits,
 * which GPU_CLOCKS_... in gpu_state.h name. */
static void read_clocks(const struct nvml *n, nvml_device_ref d, struct gpu_state *g) {
    unsigned long long reasons = 0;
    int (*ask)(nvml_device_ref, unsigned long long *) =
        n->clocks != NULL ? n->clocks : n->clocks_before;
    if (ask != NULL && ask(d, &reasons) == NVML_SUCCESS)
        g->clocks = (int64_t)(reasons & INT64_MAX);
}

/* For functions with one more parameter, such as the kind of clock; -1: unknown. */
static int64_t ask_of(int (*ask)(nvml_device_ref, unsigned, unsigned *), nvml_device_ref d,
                      unsigned kind) {
    unsigned value = 0;
    return ask != NULL && ask(d, kind, &value) == NVML_SUCCESS ? (int64_t)value : -1;
}

/* For functions that give one number and take nothing else; -1: unknown. */
static int64_t ask_number(int (*ask)(nvml_device_ref, unsigned *), nvml_device_ref d) {
    unsigned value = 0;
    return ask != NULL && ask(d, &value) == NVML_SUCCESS ? (int64_t)value : -1;
}

/* A link that the GPU does not have is not supported, and so is not counted. The number of links
 * differs by model, and NVML has no call that tells it. */
static void read_links(const struct nvml *n, nvml_device_ref d, struct gpu_state *g) {
    g->links = n->link != NULL ? 0 : -1;
    g->links_up = g->links;
    for (unsigned i = 0; n->link != NULL && i < NVML_LINKS_MAX; i++) {
        unsigned up = 0;
        if (n->link(d, i, &up) != NVML_SUCCESS)
            continue;
        g->links++;
        g->links_up += up == NVML_ENABLED;
    }
}

/* What it is and what it does: `ringmaster check` has no row for these. NVML gives power in
 * milliwatts. */
static void read_details(const struct nvml *n, nvml_device_ref d, struct gpu_state *g) {
    struct nvml_utilization used = {.gpu = 0};
    if (n->name == NULL || n->name(d, g->name, sizeof(g->name)) != NVML_SUCCESS)
        g->name[0] = '\0';
    if (n->uuid == NULL || n->uuid(d, g->uuid, sizeof(g->uuid)) != NVML_SUCCESS)
        g->uuid[0] = '\0';
    if (n->utilization != NULL && n->utilization(d, &used) == NVML_SUCCESS) {
        g->utilization = used.gpu;
        g->memory_utilization = used.memory;
    }
    g->sm_mhz = ask_of(n->clock, d, NVML_CLOCK_SM);
    g->sm_mhz_max = ask_of(n->clock_max, d, NVML_CLOCK_SM);
    g->memory_mhz = ask_of(n->clock, d, NVML_CLOCK_MEMORY);
    g->celsius = ask_of(n->temperature, d, NVML_SENSOR);
    const int64_t milliwatts = ask_number(n->power, d);
    g->watts = milliwatts >= 0 ? milliwatts / 1000 : -1;
    g->pcie_replays = ask_number(n->pcie_replays, d);
}

/* The bus address is what other sources call the GPU; until it is known, its number has to do. A
 * GPU that fell off the bus has a code of its own, which makes it lost. */
void nvml_read_one(const struct nvml *n, size_t number, struct gpu_state *g) {
    const unsigned index = (unsigned)number;
    nvml_device_ref d = NULL;
    struct nvml_pci pci = {.domain = 0};
    gpu_state_init(g);
    (void)snprintf(g->bus, sizeof(g->bus), "number %u", index);
    int code = n->by_index(index, &d);
    if (code == NVML_SUCCESS)
        code = n->pci(d, &pci);
    if (code != NVML_SUCCESS) {
        g->lost = code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED;
        (void)snprintf(g->fault, sizeof(g->fault), "NVML returned %d for it", code);
        return;
    }
    (void)snprintf(g->bus, sizeof(g->bus), "%.31s", pci.bus_id);
    read_memory(n, d, g);
    read_processes(n, d, g);
    read_errors(n, d, g);
    read_clocks(n, d, g);
    g->pcie_generation = ask_number(n->pcie_generation, d);
    g->pcie_generation_max = ask_number(n->pcie_generation_max, d);
    g->pcie_width = ask_number(n->pcie_width, d);
    g->pcie_width_max = ask_number(n->pcie_width_max, d);
    read_links(n, d, g);
    read_details(n, d, g);
}

/* GPUs beyond GPU_STATE_MAX are left out, as the arrays of all readers end there. */
int nvml_count(const struct nvml *n, size_t *ret, struct error *err) {
    unsigned count = 0;
    int code = n->count(&count);
    if (code != NVML_SUCCESS)
        return error_set(err, EXIT_CODE_DEVICE, "nvmlDeviceGetCount_v2 returned %d", code);
    *ret = count < GPU_STATE_MAX ? count : GPU_STATE_MAX;
    return 0;
}

/* The source names NVML in the report, so that a reader knows what the values are worth. */
int nvml_read(const struct nvml *n, struct gpu_states *ret, struct error *err) {
    if (nvml_count(n, &ret->count, err) != 0)
        return -1;
    ret->source = "NVML";
    for (size_t i = 0; i < ret->count; i++)
        nvml_read_one(n, i, &ret->devices[i]);
    return 0;
}

/* --- Xids ------------------------------------------------------------------------------------ */

/* GPUs that cannot report Xids are passed over, as long as one can. The set stays registered until
 * NVML ends. */
int nvml_listen(struct nvml *n, struct error *err) {
    unsigned count = 0;
    unsigned heard = 0;
    if (n->set_create == NULL || n->set_add == NULL || n->set_wait == NULL)
        return error_set(err, EXIT_CODE_DEVICE, "%s has no events", library_name);
    if (n->set_create(&n->set) != NVML_SUCCESS || n->count(&count) != NVML_SUCCESS)
        return error_set(err, EXIT_CODE_DEVICE, "NVML gives no events");
    for (unsigned i = 0; i < count; i++) {
        nvml_device_ref d = NULL;
        heard +=
            n->by_index(i, &d) == NVML_SUCCESS && n->set_add(d, event_xid, n->set) == NVML_SUCCESS;
    }
    return heard > 0 ? 0 : error_set(err, EXIT_CODE_DEVICE, "no GPU reports Xids to NVML");
}

/* An event of another type counts as none, and the caller waits again. */
int nvml_next_xid(const struct nvml *n, unsigned ms, uint64_t *ret_number,
                  char ret_bus[GPU_STATE_BUS_SIZE], struct error *err) {
    struct nvml_event event = {.device = NULL};
    struct nvml_pci pci = {.domain = 0};
    int code = n->set_wait(n->set, &event, ms);
    if (code == NVML_TIMEOUT)
        return 0;
    if (code != NVML_SUCCESS)
        return error_set(err, EXIT_CODE_DEVICE, "nvmlEventSetWait_v2 returned %d", code);
    if ((event.type & event_xid) == 0)
        return 0;
    if (n->pci(event.device, &pci) != NVML_SUCCESS)
        (void)snprintf(pci.bus_id, sizeof(pci.bus_id), "unknown");
    *ret_number = event.data;
    (void)snprintf(ret_bus, GPU_STATE_BUS_SIZE, "%.31s", pci.bus_id);
    return 1;
}

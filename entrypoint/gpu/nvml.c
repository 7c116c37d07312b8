#include "entrypoint/gpu/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- as nvml.h declares it ------------------------------------------------------------------- */

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
static const unsigned long long event_xid = 0x8;
static const unsigned long long mib = 1024ULL * 1024;

typedef struct nvml_device *nvml_device_ref;
typedef struct nvml_set *nvml_set_ref;

struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_event {
    nvml_device_ref device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

/* FUNCTION(member, name, needed, parameters) */
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

struct nvml {
    void *library;
    nvml_set_ref set;
#define FUNCTION(member, name, needed, parameters) int(*member) parameters;
    FUNCTIONS
#undef FUNCTION
};

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

static const char library_name[] = "libnvidia-ml.so.1";

/* POSIX gives functions as void *, which C does not convert. */
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

void nvml_close(struct nvml *n) {
    if (n == NULL)
        return;
    (void)n->shut_down();
    (void)dlclose(n->library);
    free(n);
}

/* --- one GPU --------------------------------------------------------------------------------- */

/* What programs use: the driver keeps a part for itself, which version 2 names. */
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

static void read_errors(const struct nvml *n, nvml_device_ref d, struct gpu_state *g) {
    unsigned current = 0, pending = 0, corrected = 0, uncorrected = 0, failed = 0;
    unsigned long long errors = 0;
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

static void read_clocks(const struct nvml *n, nvml_device_ref d, struct gpu_state *g) {
    unsigned long long reasons = 0;
    int (*ask)(nvml_device_ref, unsigned long long *) =
        n->clocks != NULL ? n->clocks : n->clocks_before;
    if (ask != NULL && ask(d, &reasons) == NVML_SUCCESS)
        g->clocks = (int64_t)(reasons & INT64_MAX);
}

static int64_t ask_of(int (*ask)(nvml_device_ref, unsigned, unsigned *), nvml_device_ref d,
                      unsigned kind) {
    unsigned value = 0;
    return ask != NULL && ask(d, kind, &value) == NVML_SUCCESS ? (int64_t)value : -1;
}

static int64_t ask_number(int (*ask)(nvml_device_ref, unsigned *), nvml_device_ref d) {
    unsigned value = 0;
    return ask != NULL && ask(d, &value) == NVML_SUCCESS ? (int64_t)value : -1;
}

/* A link that the GPU does not have is not supported. */
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

/* What it is and what it does: `ringmaster check` has no row for these. */
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

int nvml_count(const struct nvml *n, size_t *ret, struct error *err) {
    unsigned count = 0;
    int code = n->count(&count);
    if (code != NVML_SUCCESS)
        return error_set(err, EXIT_CODE_DEVICE, "nvmlDeviceGetCount_v2 returned %d", code);
    *ret = count < GPU_STATE_MAX ? count : GPU_STATE_MAX;
    return 0;
}

int nvml_read(const struct nvml *n, struct gpu_states *ret, struct error *err) {
    if (nvml_count(n, &ret->count, err) != 0)
        return -1;
    ret->source = "NVML";
    for (size_t i = 0; i < ret->count; i++)
        nvml_read_one(n, i, &ret->devices[i]);
    return 0;
}

/* --- Xids ------------------------------------------------------------------------------------ */

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

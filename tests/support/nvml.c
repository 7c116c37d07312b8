/* A stand-in for libnvidia-ml.so.1 with two GPUs, controlled by keywords in STANDIN_NVML:
 *
 *   hang, crash      in nvmlInit_v2          sick     errors, heat, few lanes, a link down
 *   lost             the second GPU is lost  busy     memory in use by this process's parent
 *   frees=FILE       busy while FILE exists; once=FILE: it removes FILE itself
 *   xid=N            one event of that number, and then SIGALRM in place of a second one
 *
 * Builds without some functions: STANDIN_WITHOUT_ROWS, STANDIN_WITHOUT_INIT; with one that hangs
 * for the second GPU: STANDIN_HANGING. The declarations are those of nvml.h in CUDA 13. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, NOT_SUPPORTED = 3, TIMEOUT = 10, GPU_IS_LOST = 15 };

typedef struct nvmlDevice_st {
    unsigned number;
} * nvmlDevice_t;
typedef struct nvmlEventSet_st {
    int heard;
} * nvmlEventSet_t;
typedef struct {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;
typedef struct {
    unsigned version;
    unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
typedef struct {
    unsigned pid;
    unsigned long long usedGpuMemory;
    unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;
typedef struct {
    unsigned gpu, memory;
} nvmlUtilization_t;
typedef struct {
    nvmlDevice_t device;
    unsigned long long eventType, eventData;
    unsigned gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device);
int nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci);
int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory);
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                            nvmlProcessInfo_t *infos);
int nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned *current, unsigned *pending);
int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned type, unsigned counter,
                                unsigned long long *count);
int nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected,
                              unsigned *pending, unsigned *failed);
int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons);
int nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned *value);
int nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned *value);
int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned *value);
int nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned *value);
int nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, unsigned *active);
int nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length);
int nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length);
int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization);
int nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type, unsigned *clock);
int nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type, unsigned *clock);
int nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned *temperature);
int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *power);
int nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned *value);
int nvmlEventSetCreate(nvmlEventSet_t *set);
int nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set);
int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned ms);

static struct nvmlDevice_st devices[2] = {{0}, {1}};
static struct nvmlEventSet_st events;

static const char *says(const char *word) {
    const char *words = getenv("STANDIN_NVML");
    const char *at = words != NULL ? strstr(words, word) : NULL;
    return at != NULL ? at + strlen(word) : NULL;
}

static int is_busy(void) {
    const char *once = says("once=");
    const char *file = once != NULL ? once : says("frees=");
    return says("busy") != NULL || (file != NULL && access(file, F_OK) == 0);
}

#ifndef STANDIN_WITHOUT_INIT
int nvmlInit_v2(void) {
    if (says("crash") != NULL) { /* AddressSanitizer has installed a handler */
        (void)signal(SIGSEGV, SIG_DFL);
        (void)raise(SIGSEGV);
    }
    while (says("hang") != NULL)
        (void)pause();
    return OK;
}
#endif

int nvmlShutdown(void) {
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = 2;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
    if (index == 1 && says("lost") != NULL)
        return GPU_IS_LOST;
    *device = &devices[index];
    return OK;
}

int nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    memset(pci, 0, sizeof(*pci));
    (void)snprintf(pci->busId, sizeof(pci->busId), "00000000:4%u:00.0", device->number + 1);
    return OK;
}

int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
    const unsigned long long mib = 1024ULL * 1024;
    if (memory->version != (unsigned)(sizeof(*memory) | 2U << 24))
        return 25;
    memory->total = 80000 * mib;
    memory->reserved = 600 * mib;
    memory->used = memory->reserved + (device->number == 0 && is_busy() ? 30000 : 2) * mib;
    memory->free = memory->total - memory->used;
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                            nvmlProcessInfo_t *infos) {
    *count = device->number == 0 && is_busy();
    if (*count > 0)
        infos[0] = (nvmlProcessInfo_t){.pid = (unsigned)getppid(), .usedGpuMemory = 30000ULL << 20};
    if (*count > 0 && says("once=") != NULL)
        (void)unlink(says("once="));
    return OK;
}

int nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned *current, unsigned *pending) {
    (void)device;
    *current = *pending = 1;
    return OK;
}

int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned type, unsigned counter,
                                unsigned long long *count) {
    (void)device;
    *count = says("sick") == NULL || counter != 0 ? 0 : type == 1 ? 3 : 7;
    return OK;
}

#ifndef STANDIN_WITHOUT_ROWS
int nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected,
                              unsigned *pending, unsigned *failed) {
    *corrected = 0;
    *uncorrected = says("sick") != NULL && device->number == 0 ? 2 : 0;
    *pending = says("sick") != NULL;
    *failed = says("sick") != NULL && device->number == 1;
    return OK;
}
#endif

int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons) {
    *reasons = says("sick") != NULL && device->number == 1 ? 0x40 | 0x8 : 0x1;
    return OK;
}

int nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned *value) {
    (void)device;
    *value = 5;
    return OK;
}

int nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned *value) {
    (void)device;
    *value = 5;
    return OK;
}

int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned *value) {
    *value = says("sick") != NULL && device->number == 0 ? 8 : 16;
    return OK;
}

int nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned *value) {
    (void)device;
    *value = 16;
    return OK;
}

int nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, unsigned *active) {
    if (link >= 4)
        return NOT_SUPPORTED;
    *active = says("sick") == NULL || device->number == 0 || link > 0;
    return OK;
}

int nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length) {
    (void)device;
    (void)snprintf(name, length, "NVIDIA Stand-in 80GB");
    return OK;
}

int nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length) {
    (void)snprintf(uuid, length, "GPU-0000000%u", device->number);
    return OK;
}

int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization) {
#ifdef STANDIN_HANGING
    while (device->number == 1)
        (void)pause();
#endif
    *utilization = (nvmlUtilization_t){.gpu = 100 - device->number, .memory = 40};
    return OK;
}

int nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type, unsigned *clock) {
    (void)device;
    *clock = type == 1 ? 1755 : 2619;
    return type == 1 || type == 2 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type, unsigned *clock) {
    (void)device;
    *clock = 1980;
    return type == 1 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned *temperature) {
    *temperature = 60 + device->number;
    return sensor == 0 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *power) {
    (void)device;
    *power = 651700;
    return OK;
}

int nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned *value) {
    *value = device->number == 1 && says("sick") != NULL ? 12 : 0;
    return OK;
}

int nvmlEventSetCreate(nvmlEventSet_t *set) {
    *set = &events;
    return OK;
}

int nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
    (void)device;
    return types == 0x8 && set == &events ? OK : NOT_SUPPORTED;
}

int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned ms) {
    const char *number = says("xid=");
    if (number == NULL || set->heard++ > 0) {
        if (number != NULL)
            (void)raise(SIGALRM);
        (void)usleep(ms * 1000);
        return TIMEOUT;
    }
    *data = (nvmlEventData_t){
        .device = &devices[1], .eventType = 0x8, .eventData = strtoull(number, NULL, 10)};
    return OK;
}

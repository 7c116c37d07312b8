/* State of the GPUs of this container.
 *
 * NVML or nvidia-smi report it. What a source does not know is -1. */
#ifndef ENTRYPOINT_GPU_GPU_STATE_H
#define ENTRYPOINT_GPU_GPU_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GPU_STATE_MAX = 64, /* GPUs of a host, and processes of a GPU */
    GPU_STATE_PROCESSES_MAX = 16,
    GPU_STATE_BUS_SIZE = 32,
    GPU_STATE_FAULT_SIZE = 128,
    GPU_STATE_NAME_SIZE = 96,
};

struct gpu_process {
    int64_t pid; /* as the driver counts: not always one of this container's numbers */
    int64_t memory_mib;
};

struct gpu_state {
    char bus[GPU_STATE_BUS_SIZE];     /* "00000000:41:00.0" */
    char fault[GPU_STATE_FAULT_SIZE]; /* the GPU does not answer; "": it does */
    char name[GPU_STATE_NAME_SIZE];   /* "NVIDIA H100 80GB HBM3"; "": not known */
    char uuid[GPU_STATE_NAME_SIZE];
    bool lost;             /* the driver says that it is, or wants it reset */
    int64_t memory_mib;    /* all of it */
    int64_t used_mib;      /* by programs, without what the driver keeps for itself */
    int64_t ecc;           /* 1: errors of the memory are corrected */
    int64_t uncorrected;   /* errors since the driver was loaded */
    int64_t remap_pending; /* 1: a row waits for a reset to be replaced */
    int64_t remap_failed;  /* 1: a bad row could not be replaced */
    int64_t clocks;        /* reasons for lower clocks, bits as in GPU_CLOCKS_... */
    int64_t pcie_generation, pcie_generation_max;
    int64_t pcie_width, pcie_width_max;
    int64_t links, links_up; /* NVLinks that the GPU has, and those that are up */
    int64_t utilization;     /* per cent of the last sample's time in which a kernel ran */
    int64_t memory_utilization;
    int64_t sm_mhz, sm_mhz_max, memory_mhz;
    int64_t celsius, watts;
    int64_t corrected;                        /* errors since the driver was loaded */
    int64_t rows_corrected, rows_uncorrected; /* remapped rows, by the kind of their errors */
    int64_t pcie_replays;
    struct gpu_process processes[GPU_STATE_PROCESSES_MAX];
    size_t process_count;
};

/* As in nvmlClocksEventReasons. */
enum {
    GPU_CLOCKS_HW_SLOWDOWN = 0x8,
    GPU_CLOCKS_SW_THERMAL = 0x20,
    GPU_CLOCKS_HW_THERMAL = 0x40,
    GPU_CLOCKS_POWER_BRAKE = 0x80,
};

struct gpu_states {
    const char *source; /* "NVML", "nvidia-smi" */
    struct gpu_state devices[GPU_STATE_MAX];
    size_t count;
};

/* Marks every value as unknown. */
void gpu_state_init(struct gpu_state *g);

/* Returns true if no program should use the GPU again before something is done: it is lost, has no
 * spare row left for a bad one, or has an error of its memory that waits for a reset (or may, where
 * the GPU does not replace rows). Describes it: "GPU 00000000:42:00.0 ...: restart the machine". */
bool gpu_state_is_dead(const struct gpu_state *g, char *ret, size_t size);

/* {source, devices: [{bus, fault, memory_mib, ...}]}, what `ringmaster check` has a row for; what
 * is not known is left out. */
json_t *gpu_states_json(const struct gpu_states *states);

#endif

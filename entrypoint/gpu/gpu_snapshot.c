#include "entrypoint/gpu/gpu_snapshot.h"

#include "common/error.h"
#include "entrypoint/gpu/gpu_child.h"
#include "entrypoint/gpu/nvml.h"
#include "entrypoint/gpu/smi.h"

#include <inttypes.h>
#include <stdbool.h>

enum { USERS_SIZE = 2048 };

/* Bits of nvmlClocksEventReasons. */
static const struct reason {
    int64_t bit;
    const char *text;
} reasons[] = {
    {0x1, "idle"},
    {0x2, "clocks set by an application"},
    {0x4, "software's power cap"},
    {GPU_CLOCKS_HW_SLOWDOWN, "hardware slowdown"},
    {0x10, "synchronised boost"},
    {GPU_CLOCKS_SW_THERMAL, "software's thermal slowdown"},
    {GPU_CLOCKS_HW_THERMAL, "hardware's thermal slowdown"},
    {GPU_CLOCKS_POWER_BRAKE, "hardware's power brake"},
    {0x100, "clocks of the display"},
};

/* Prints "LABEL N UNIT", or that it is not known. */
static void put(FILE *out, const char *label, int64_t value, const char *unit) {
    if (value < 0)
        (void)fprintf(out, "%s unknown", label);
    else
        (void)fprintf(out, "%s %" PRId64 "%s", label, value, unit);
}

/* Prints "LABEL N of M UNIT". */
static void put_of(FILE *out, const char *label, int64_t value, int64_t most, const char *unit) {
    put(out, label, value, "");
    if (most >= 0)
        (void)fprintf(out, " of %" PRId64, most);
    (void)fprintf(out, "%s", unit);
}

static void put_reasons(FILE *out, int64_t clocks) {
    bool any = false;
    if (clocks < 0)
        return;
    (void)fputs("; limited by:", out);
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if ((clocks & reasons[i].bit) != 0) {
            (void)fprintf(out, "%s %s", any ? "," : "", reasons[i].text);
            any = true;
        }
    (void)fputs(any ? "" : " nothing", out);
}

static void put_errors(const struct gpu_state *g, FILE *out) {
    (void)fprintf(out, "ECC: %s", g->ecc < 0 ? "unknown" : g->ecc > 0 ? "on" : "off");
    put(out, "; errors since the driver was loaded: uncorrected", g->uncorrected, "");
    put(out, ", corrected", g->corrected, "");
    put(out, "\nremapped rows: after corrected errors", g->rows_corrected, "");
    put(out, ", after uncorrected ones", g->rows_uncorrected, "");
    (void)fprintf(out, "%s%s\n", g->remap_pending > 0 ? "; one waits for a reset of the GPU" : "",
                  g->remap_failed > 0 ? "; one could not be replaced" : "");
}

void gpu_snapshot_print_one(const struct gpu_state *g, FILE *out) {
    char users[USERS_SIZE];
    (void)fprintf(out, "bus: %s\n", g->bus);
    if (g->fault[0] != '\0') {
        (void)fprintf(out, "fault: %s\n", g->fault);
        return;
    }
    (void)fprintf(out, "name: %s\nuuid: %s\n", g->name[0] != '\0' ? g->name : "unknown",
                  g->uuid[0] != '\0' ? g->uuid : "unknown");
    put(out, "utilization: kernels", g->utilization, " %");
    put(out, ", memory", g->memory_utilization, " %\n");
    put_of(out, "memory:", g->used_mib, g->memory_mib, " MiB in use\n");
    put_of(out, "clocks: SM", g->sm_mhz, g->sm_mhz_max, " MHz");
    put(out, ", memory", g->memory_mhz, " MHz");
    put_reasons(out, g->clocks);
    put(out, "\ntemperature:", g->celsius, " degrees Celsius");
    put(out, "\npower:", g->watts, " W\n");
    put_errors(g, out);
    put_of(out, "PCIe: generation", g->pcie_generation, g->pcie_generation_max, "");
    put_of(out, ", lanes", g->pcie_width, g->pcie_width_max, "");
    put(out, ", replays", g->pcie_replays, "\n");
    put_of(out, "NVLinks up:", g->links_up, g->links, "\n");
    gpu_child_users(g, users, sizeof(users));
    (void)fprintf(out, "processes: %s\n",
                  g->process_count > 0 || g->used_mib > GPU_CHILD_FREE_MIB ? users : "none");
}

/* What is printed is on its way before the next call, which may hang. */
static void begin_one(size_t index, size_t count, FILE *out) {
    (void)fprintf(out, "\n== GPU %zu of %zu\n", index + 1, count);
    (void)fflush(out);
}

static int print_nvml(const struct nvml *n, FILE *out) {
    struct error err = {0};
    size_t count = 0;
    if (nvml_count(n, &count, &err) != 0)
        return fprintf(out, "%s\n", err.text) < 0;
    for (size_t i = 0; i < count; i++) {
        struct gpu_state g;
        begin_one(i, count, out);
        nvml_read_one(n, i, &g);
        gpu_snapshot_print_one(&g, out);
    }
    return fflush(out) != 0;
}

int gpu_snapshot_print(char *const *environment, int64_t limit, FILE *out) {
    static struct gpu_states states; /* too large for the stack */
    struct error no_nvml = {0};
    struct error no_smi = {0};
    (void)fputs("NVML is asked: what follows is what it has answered\n", out);
    (void)fflush(out);
    struct nvml *n = nvml_open(&no_nvml);
    if (n != NULL) {
        int result = print_nvml(n, out);
        nvml_close(n);
        return result;
    }
    (void)fprintf(out, "%s\nnvidia-smi is asked\n", no_nvml.text);
    (void)fflush(out);
    if (smi_read(environment, limit, true, &states, &no_smi) != 0) {
        (void)fprintf(out, "%s\n", no_smi.text);
        return 1;
    }
    for (size_t i = 0; i < states.count; i++) {
        begin_one(i, states.count, out);
        gpu_snapshot_print_one(&states.devices[i], out);
    }
    return fflush(out) != 0;
}

#include "entrypoint/gpu/gpu_state.h"

#include "common/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

static const struct field {
    const char *name;
    size_t offset;
    bool is_checked; /* it is a part of the JSON */
} fields[] = {
#define FIELD(name, is_checked)                                                                    \
    { #name, offsetof(struct gpu_state, name), is_checked }
    FIELD(memory_mib, true),
    FIELD(used_mib, true),
    FIELD(ecc, true),
    FIELD(uncorrected, true),
    FIELD(remap_pending, true),
    FIELD(remap_failed, true),
    FIELD(clocks, true),
    FIELD(pcie_generation, true),
    FIELD(pcie_generation_max, true),
    FIELD(pcie_width, true),
    FIELD(pcie_width_max, true),
    FIELD(links, true),
    FIELD(links_up, true),
    FIELD(utilization, false),
    FIELD(memory_utilization, false),
    FIELD(sm_mhz, false),
    FIELD(sm_mhz_max, false),
    FIELD(memory_mhz, false),
    FIELD(celsius, false),
    FIELD(watts, false),
    FIELD(corrected, false),
    FIELD(rows_corrected, false),
    FIELD(rows_uncorrected, false),
    FIELD(pcie_replays, false),
#undef FIELD
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

void gpu_state_init(struct gpu_state *g) {
    *g = (struct gpu_state){.process_count = 0};
    for (size_t i = 0; i < FIELDS; i++)
        *(int64_t *)(void *)((char *)g + fields[i].offset) = -1;
}

bool gpu_state_is_dead(const struct gpu_state *g, char *ret, size_t size) {
    const char *wrong = NULL;
    const char *act = "reset the GPU";
    if (g->lost) {
        wrong = "does not answer the driver";
        act = "restart the machine";
    } else if (g->remap_failed > 0) {
        wrong = "has no spare row for a bad one in its memory";
        act = "replace it";
    } else if (g->uncorrected > 0 && g->remap_pending != 0) {
        wrong = "has an error in its memory that could not be corrected";
    }
    if (wrong != NULL)
        (void)snprintf(ret, size, "GPU %s %s: %s", g->bus, wrong, act);
    return wrong != NULL;
}

static json_t *processes_json(const struct gpu_state *g) {
    json_t *list = json_array();
    for (size_t i = 0; i < g->process_count; i++)
        (void)json_array_append_new(list, json_pack("{s:I, s:I}", "pid",
                                                    (json_int_t)g->processes[i].pid, "memory_mib",
                                                    (json_int_t)g->processes[i].memory_mib));
    return list;
}

static json_t *state_json(const struct gpu_state *g) {
    json_t *object = json_object();
    (void)json_object_set_new(object, "bus", json_string_any(g->bus));
    if (g->fault[0] != '\0')
        (void)json_object_set_new(object, "fault", json_string_any(g->fault));
    for (size_t i = 0; i < FIELDS; i++) {
        int64_t value = *(const int64_t *)(const void *)((const char *)g + fields[i].offset);
        if (value >= 0 && fields[i].is_checked)
            (void)json_object_set_new(object, fields[i].name, json_integer(value));
    }
    if (g->process_count > 0)
        (void)json_object_set_new(object, "processes", processes_json(g));
    return object;
}

json_t *gpu_states_json(const struct gpu_states *states) {
    json_t *list = json_array();
    for (size_t i = 0; i < states->count; i++)
        (void)json_array_append_new(list, state_json(&states->devices[i]));
    return json_pack("{s:s, s:o}", "source", states->source, "devices", list);
}

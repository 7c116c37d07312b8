#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/gpu/gpu_state.h"
#include "tests/support/unit.h"

#include <string.h>

static void what_is_not_known_is_left_out(void) {
    struct gpu_states states = {.source = "NVML", .count = 2};
    gpu_state_init(&states.devices[0]);
    gpu_state_init(&states.devices[1]);
    states.devices[0].clocks = 0;
    states.devices[0].used_mib = 7;
    states.devices[0].processes[0] = (struct gpu_process){.pid = 9, .memory_mib = 6};
    states.devices[0].process_count = 1;
    memcpy(states.devices[0].bus, "A", 2);
    memcpy(states.devices[1].fault, "gone", 5);
    cleanup_json json_t *object = gpu_states_json(&states);
    cleanup_free char *text = json_dumps(object, JSON_COMPACT);
    CU_ASSERT_STRING_EQUAL(text, "{\"source\":\"NVML\",\"devices\":[{\"bus\":\"A\","
                                 "\"used_mib\":7,\"clocks\":0,\"processes\":[{\"pid\":9,"
                                 "\"memory_mib\":6}]},{\"bus\":\"\",\"fault\":\"gone\"}]}");
}

/* Some states mean that no program should use the GPU again; others only need a look. */
static void some_gpus_are_dead(void) {
    char text[128] = "";
    struct gpu_state g;
    gpu_state_init(&g);
    memcpy(g.bus, "A", 2);
    CU_ASSERT_FALSE(gpu_state_is_dead(&g, text, sizeof(text)));
    memcpy(g.fault, "not permitted", 14);
    g.remap_pending = 1;
    CU_ASSERT_FALSE(gpu_state_is_dead(&g, text, sizeof(text)));
    g.uncorrected = 3;
    CU_ASSERT(gpu_state_is_dead(&g, text, sizeof(text)));
    CU_ASSERT_STRING_EQUAL(
        text, "GPU A has an error in its memory that could not be corrected: reset the GPU");
    g.remap_pending = 0; /* the row has been replaced */
    CU_ASSERT_FALSE(gpu_state_is_dead(&g, text, sizeof(text)));
    g.remap_pending = -1;
    CU_ASSERT(gpu_state_is_dead(&g, text, sizeof(text)));
    g.remap_failed = 1;
    CU_ASSERT(gpu_state_is_dead(&g, text, sizeof(text)));
    CU_ASSERT_STRING_EQUAL(text, "GPU A has no spare row for a bad one in its memory: replace it");
    g.lost = true;
    CU_ASSERT(gpu_state_is_dead(&g, text, sizeof(text)));
    CU_ASSERT_STRING_EQUAL(text, "GPU A does not answer the driver: restart the machine");
}

UNIT_SUITE("gpu.gpu_state", UNIT(what_is_not_known_is_left_out), UNIT(some_gpus_are_dead))

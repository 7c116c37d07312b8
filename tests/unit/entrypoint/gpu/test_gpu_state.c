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

UNIT_SUITE("gpu.gpu_state", UNIT(what_is_not_known_is_left_out))

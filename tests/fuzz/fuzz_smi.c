/* Tables of nvidia-smi: whatever it prints, no more GPUs and processes come out than there is room
 * for, and the names of GPUs are text. */
#include "entrypoint/gpu/smi.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct gpu_states states;
    char *text = malloc(size + 1);
    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    smi_parse_gpus(text, &states);
    smi_parse_rows(text, &states);
    smi_parse_processes(text, &states);
    smi_parse_details(text, &states);
    CHECK(states.count <= GPU_STATE_MAX);
    for (size_t i = 0; i < states.count; i++) {
        CHECK(states.devices[i].process_count <= GPU_STATE_PROCESSES_MAX);
        CHECK(memchr(states.devices[i].bus, '\0', GPU_STATE_BUS_SIZE) != NULL);
    }
    json_decref(gpu_states_json(&states));
    free(text);
    return 0;
}

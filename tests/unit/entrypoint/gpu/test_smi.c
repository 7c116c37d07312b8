/* These tests use scripts that print what nvidia-smi prints. */
#include "common/file/file.h"
#include "entrypoint/gpu/smi.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct gpu_states states;

static void tables_are_read(void) {
    smi_parse_gpus(
        "00000000:41:00.0, 81559, 4, Enabled, 0, 0x0000000000000001, 1, 5, 8, 16\n"
        "00000000:42:00.0, 81559, [N/A], Disabled, [N/A], [Not Supported], 5, 5, 16, 16\n",
        &states);
    CU_ASSERT_EQUAL_FATAL(states.count, 2);
    CU_ASSERT_STRING_EQUAL(states.source, "nvidia-smi");
    CU_ASSERT_STRING_EQUAL(states.devices[0].bus, "00000000:41:00.0");
    CU_ASSERT_EQUAL(states.devices[0].memory_mib, 81559);
    CU_ASSERT_EQUAL(states.devices[0].used_mib, 4);
    CU_ASSERT_EQUAL(states.devices[0].ecc, 1);
    CU_ASSERT_EQUAL(states.devices[0].uncorrected, 0);
    CU_ASSERT_EQUAL(states.devices[0].clocks, 1);
    CU_ASSERT_EQUAL(states.devices[0].pcie_generation, 1);
    CU_ASSERT_EQUAL(states.devices[0].pcie_width, 8);
    CU_ASSERT_EQUAL(states.devices[0].pcie_width_max, 16);
    CU_ASSERT_EQUAL(states.devices[0].links, -1);
    CU_ASSERT_EQUAL(states.devices[1].used_mib, -1);
    CU_ASSERT_EQUAL(states.devices[1].ecc, 0);
    CU_ASSERT_EQUAL(states.devices[1].uncorrected, -1);
    CU_ASSERT_EQUAL(states.devices[1].clocks, -1);
    smi_parse_rows("00000000:42:00.0, Yes, No, 3, 0\n00000000:99:00.0, Yes, Yes, 0, 0\n", &states);
    CU_ASSERT_EQUAL(states.devices[0].remap_pending, -1);
    CU_ASSERT_EQUAL(states.devices[1].remap_pending, 1);
    CU_ASSERT_EQUAL(states.devices[1].remap_failed, 0);
    CU_ASSERT_EQUAL(states.devices[1].rows_corrected, 3);
    smi_parse_details("00000000:42:00.0, NVIDIA H100, GPU-7, 98, [N/A], 1, 2, 3, 4, 651.72\n"
                      "00000000:42:00.0, cut\n",
                      &states);
    CU_ASSERT_STRING_EQUAL(states.devices[1].name, "NVIDIA H100");
    CU_ASSERT_STRING_EQUAL(states.devices[1].uuid, "GPU-7");
    CU_ASSERT_EQUAL(states.devices[1].utilization, 98);
    CU_ASSERT_EQUAL(states.devices[1].memory_utilization, -1);
    CU_ASSERT_EQUAL(states.devices[1].watts, 651);
    smi_parse_processes("00000000:42:00.0, 77, 500\n00000000:42:00.0, x, 1\n", &states);
    CU_ASSERT_EQUAL_FATAL(states.devices[1].process_count, 1);
    CU_ASSERT_EQUAL(states.devices[1].processes[0].pid, 77);
    CU_ASSERT_EQUAL(states.devices[1].processes[0].memory_mib, 500);
}

static void other_lines_are_passed_over(void) {
    static const char *const texts[] = {
        "",
        "\n\n",
        "No devices were found\n",
        ",,,,,,,,,\n",
        "a:b:c, 1, 2\n",
        "Unable to determine the device handle for GPU0000:41:00.0: Unknown Error"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        smi_parse_gpus(texts[i], &states);
        CU_ASSERT_EQUAL(states.count, 0);
    }
}

static int read_with(const char *script, int64_t limit, struct error *err) {
    static char path[4096];
    static char variable[4128];
    char *environment[] = {variable, NULL};
    (void)snprintf(path, sizeof(path), "%s/nvidia-smi", unit_temp_dir());
    (void)snprintf(variable, sizeof(variable), "PATH=%s:/bin:/usr/bin", unit_temp_dir());
    CU_ASSERT_EQUAL(file_publish(path, script, strlen(script), 0755, NULL), 0);
    return smi_read(environment, limit, false, &states, err);
}

static void the_program_is_asked(void) {
    static const int64_t second = 1000000000;
    struct error err = {0};
    CU_ASSERT_EQUAL(
        read_with("#!/bin/sh\ncase $1 in\n"
                  "*query-gpu*) echo '0:41:00.0, 1, 2, Enabled, 0, 0x0, 1, 1, 1, 1' ;;\n"
                  "*compute*) echo '0:41:00.0, 5, 6' ;;\n*) exit 6 ;;\nesac\n",
                  60 * second, &err),
        0);
    CU_ASSERT_EQUAL(states.count, 1);
    CU_ASSERT_EQUAL(states.devices[0].remap_failed, -1);
    CU_ASSERT_EQUAL(states.devices[0].process_count, 1);
    CU_ASSERT_EQUAL(read_with("#!/bin/sh\necho 'no driver'; exit 9\n", 60 * second, &err), -1);
    ASSERT_CONTAINS(err.text, "nvidia-smi ended with 9: no driver");
    CU_ASSERT_EQUAL(read_with("#!/bin/sh\nexec sleep 60\n", second / 2, &err), -1);
    ASSERT_CONTAINS(err.text, "nvidia-smi did not answer in time");
}

UNIT_SUITE("gpu.smi", UNIT(tables_are_read), UNIT(other_lines_are_passed_over),
           UNIT(the_program_is_asked))

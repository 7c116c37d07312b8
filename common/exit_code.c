#include "common/exit_code.h"

static const struct exit_code_row table[] = {
    {EXIT_CODE_OK, "success", "success", true},
    {EXIT_CODE_USAGE, "usage", "wrong command line", true},
    {EXIT_CODE_CONFIG, "configuration",
     "wrong configuration: cluster, JSON file, variable, port or place to write to; or too little "
     "memory",
     true},
    {EXIT_CODE_DATA, "data", "unusable input data or checkpoint", true},
    {EXIT_CODE_NOT_READY, "not-ready",
     "hosts missing at the deadline, or a download of a host stalled", false},
    {EXIT_CODE_INTERNAL, "internal", "internal error", true},
    {EXIT_CODE_DEVICE, "device", "device missing or unfit", true},
    {EXIT_CODE_HOST_LOST, "host-lost", "a host was lost while the job ran", true},
    {EXIT_CODE_STALLED, "stalled", "the job made no progress within its limit", true},
    {EXIT_CODE_UPLOAD, "upload", "the job's output could not be uploaded; it is still on its hosts",
     false},
    {EXIT_CODE_KEY_REFUSED, "key-refused",
     "a host has another key: another secret, image build, list of hosts or job's name", false},
    {EXIT_CODE_NOT_EXECUTABLE, "program", "the program cannot be executed", false},
    {EXIT_CODE_NOT_FOUND, "program", "the program was not found", false},
    {EXIT_CODE_STOPPED, "stopped", "stopped on request before the end, with a checkpoint", true},
};

const struct exit_code_row *exit_code_table(size_t *ret_count) {
    *ret_count = sizeof(table) / sizeof(table[0]);
    return table;
}

const char *exit_code_class(int code) {
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].code == code)
            return table[i].class_name;
    return code > 128 && code <= 192 ? "signal" : "program";
}

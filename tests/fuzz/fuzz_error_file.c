/* An error file, which a user's program writes: whatever is in it, at most one line of UTF-8 comes
 * out. */
#include "common/json/json.h"
#include "entrypoint/outcome/error_file.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char line[ERROR_FILE_LINE_SIZE];
    static const struct traceback_folders folders = {.script = "/code", .working = "/"};
    bool found = error_file_parse((const char *)data, size, &folders, line);
    CHECK(memchr(line, '\0', sizeof(line)) != NULL);
    CHECK(found == (line[0] != '\0') && strchr(line, '\n') == NULL);
    json_t *valid = json_string(line);
    CHECK(valid != NULL);
    json_decref(valid);
    return 0;
}

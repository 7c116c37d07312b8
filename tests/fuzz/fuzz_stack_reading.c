/* What a tool prints of a rank's stacks, with the names of functions of the user's program in it:
 * two lines of UTF-8 come out. */
#include "entrypoint/evidence/stack_reading.h"
#include "tests/fuzz/check.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t size) {
    CHECK(memchr(text, '\0', size) != NULL && strchr(text, '\n') == NULL);
    json_t *valid = json_string(text);
    CHECK(valid != NULL);
    json_decref(valid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct stack_reading reading;
    stack_reading_take((const char *)data, size, &reading);
    check(reading.collective, sizeof(reading.collective));
    check(reading.place, sizeof(reading.place));
    return 0;
}

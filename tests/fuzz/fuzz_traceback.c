/* What a rank prints, with Python's tracebacks in it: at most one line of UTF-8 comes out. */
#include "entrypoint/outcome/traceback.h"
#include "tests/fuzz/check.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct traceback_folders folders = {.script = "/code", .working = "/"};
    struct traceback t;
    char line[TRACEBACK_TEXT_SIZE];
    traceback_init(&t, &folders);
    for (const char *text = (const char *)data, *end = text + size; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop != NULL ? stop : end) - text);
        traceback_add(&t, text, length);
        text += length + (stop != NULL);
    }
    const struct traceback_exception *e = traceback_last(&t);
    if (e == NULL)
        return 0;
    traceback_text(e->words, &e->frame, line);
    CHECK(memchr(line, '\0', sizeof(line)) != NULL);
    CHECK(line[0] != '\0' && strchr(line, '\n') == NULL);
    json_t *valid = json_string(line);
    CHECK(valid != NULL);
    json_decref(valid);
    return 0;
}

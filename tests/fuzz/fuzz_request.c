/* What anybody may send to the port of the metrics: it is judged the same however it is cut, and
 * one that goes on is one that a ceiling ends. */
#include "entrypoint/wire/request.h"

#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = (const char *)data;
    enum request_status whole = request_judge(bytes, size, "/metrics");
    CHECK(strlen(request_reason(whole)) > 4);
    if (size >= REQUEST_MAX)
        CHECK(whole != REQUEST_MORE);
    for (size_t i = 0; i < size; i++) {
        enum request_status part = request_judge(bytes, i, "/metrics");
        CHECK(part == REQUEST_MORE || part == whole);
        if (part != REQUEST_MORE)
            break;
    }
    if (whole == REQUEST_GOOD)
        CHECK(size >= 4 && memcmp(bytes, "GET ", 4) == 0);
    return 0;
}

/* What anybody may send to the port of the metrics: it is judged the same however it is cut, and
 * one that goes on is one that a ceiling ends. */
#include "entrypoint/wire/http_request.h"

#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = (const char *)data;
    enum http_request_status whole = http_request_judge(bytes, size, "/metrics");
    CHECK(strlen(http_request_reason(whole)) > 4);
    if (size >= HTTP_REQUEST_MAX)
        CHECK(whole != HTTP_REQUEST_MORE);
    for (size_t i = 0; i < size; i++) {
        enum http_request_status part = http_request_judge(bytes, i, "/metrics");
        CHECK(part == HTTP_REQUEST_MORE || part == whole);
        if (part != HTTP_REQUEST_MORE)
            break;
    }
    if (whole == HTTP_REQUEST_GOOD)
        CHECK(size >= 4 && memcmp(bytes, "GET ", 4) == 0);
    return 0;
}

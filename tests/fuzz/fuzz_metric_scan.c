/* Values of a metric in what a program prints: each comes after the one before, and the search ends
 * at the end of the text. */
#include "common/text/metric_scan.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    const char *at = text, *end = text + size, *before = at;
    double value = 0;
    while (metric_scan_next(&at, end, "loss", &value)) {
        CHECK(at > before && at < end);
        before = at;
    }
    CHECK(at == end);
    free(text);
    return 0;
}

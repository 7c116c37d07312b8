/* Requests for predictions: the first line is a Content-Type, the second an Accept, the rest the
 * body. Whatever they contain, reading ends, pictures are passed on in order, and every error has a
 * message. */
#include "tests/fuzz/check.h"
#include "trainer/app/serve/request/request_form.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER_MAX = 128 };

struct seen {
    size_t count, bytes;
};

static int take(void *user, size_t place, const uint8_t *bytes, size_t size, struct error *err) {
    struct seen *seen = user;
    uint8_t sum = 0;
    CHECK(place == seen->count && place < REQUEST_INSTANCES_MAX);
    for (size_t i = 0; i < size; i++)
        sum = (uint8_t)(sum + bytes[i]);
    seen->count++;
    seen->bytes += size;
    return sum != 77 ? 0 : error_set(err, EXIT_CODE_DATA, "refused");
}

/* Takes the next line off the data. */
static void take_line(const uint8_t **data, size_t *size, char line[HEADER_MAX]) {
    const uint8_t *end = memchr(*data, '\n', *size);
    const size_t length = end != NULL ? (size_t)(end - *data) : *size;
    (void)snprintf(line, HEADER_MAX, "%.*s", (int)(length < HEADER_MAX ? length : HEADER_MAX),
                   (const char *)*data);
    *size -= length + (end != NULL);
    *data += length + (end != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char type[HEADER_MAX] = "", accept[HEADER_MAX] = "";
    struct seen seen = {0};
    struct error err = {0};
    const struct request_pictures pictures = {take, &seen};
    bool masks;
    if (size > 0)
        take_line(&data, &size, type);
    if (size > 0)
        take_line(&data, &size, accept);
    (void)request_accepts_json(accept, &masks);
    const enum request_content content = request_content_of(type);
    if (content == REQUEST_UNKNOWN)
        return 0;
    struct buf body = {.max = size + 1};
    CHECK(size == 0 || buf_add(&body, data, size, NULL) == 0);
    if (request_read(content, &body, &pictures, &err) != 0)
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    else
        CHECK(seen.count > 0 && seen.bytes <= size);
    buf_done(&body);
    return 0;
}

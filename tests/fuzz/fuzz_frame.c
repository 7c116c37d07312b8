/* What a peer sends on a link, fed in pieces of a size that the first byte chooses. Every frame
 * that is accepted is an object that begins with its version, and survives being sent on. */
#include "entrypoint/wire/frame.h"

#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(json_t *message) {
    struct buf again;
    struct error err;
    json_t *back = NULL;
    CHECK(json_is_object(message));
    CHECK(frame_type(message) != NULL);
    buf_init(&again, 1024 * 1024);
    /* Escaped, a message may grow beyond what a frame holds. */
    if (frame_put(&again, message, &err) == 0) {
        CHECK(frame_take(&again, &back, &err) == 1);
        CHECK(json_equal(message, back));
        CHECK(again.size == 0);
        json_decref(back);
    }
    buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf in;
    struct error err;
    int got = 0;
    if (size == 0)
        return 0;
    size_t piece = (size_t)data[0] + 1;
    buf_init(&in, (size_t)FRAME_HEADER + FRAME_MAX + 256);
    for (size_t at = 1; at < size && got >= 0; at += piece) {
        size_t count = size - at < piece ? size - at : piece;
        if (buf_add(&in, data + at, count, &err) != 0)
            break;
        json_t *message = NULL;
        while ((got = frame_take(&in, &message, &err)) == 1) {
            check_message(message);
            json_decref(message);
        }
    }
    buf_done(&in);
    return 0;
}

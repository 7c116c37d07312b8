/* What a host that holds the key asks another one for: whatever the bytes, a path that is taken is
 * text, and ranges do not run backwards. */
#include "entrypoint/transfer/peers/peer_request.h"

#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct peer_request w;
    const char *bytes = (const char *)data;
    size_t head = peer_request_head(bytes, size);
    CHECK(head <= size && (head == 0 || head >= 4));
    if (head == 0 || head > PEER_REQUEST_HEAD_MAX || peer_request_parse(bytes, head, &w) != 0)
        return 0;
    CHECK((w.task[0] == '\0') == (w.path[0] == '\0'));
    CHECK(w.from >= 0 && (w.to == -1 || w.to >= w.from));
    CHECK(strlen(w.path) < sizeof(w.path) && strlen(w.etag) < sizeof(w.etag));
    return 0;
}

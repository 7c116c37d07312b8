/* A program's PMI-1 requests, one per line. An empty line passes the barrier. Every answer is a
 * whole line, and a rank at a barrier gets none. */
#include "entrypoint/direct/pmi.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ANSWER_MAX = 4 * PMI_LINE_MAX };

static void check_answer(const struct buf *answer, enum pmi_next next) {
    CHECK(answer->size <= PMI_LINE_MAX);
    CHECK(answer->size == 0 || (answer->data[answer->size - 1] == '\n' &&
                                memchr(answer->data, '\n', answer->size - 1) == NULL));
    CHECK(next == PMI_ANSWERED || answer->size == 0);
}

static bool handle(struct pmi *p, const char *line, size_t size) {
    struct buf answer;
    buf_init(&answer, ANSWER_MAX);
    enum pmi_next next = PMI_ANSWERED;
    if (size == 0)
        pmi_pass(p, &answer);
    else
        next = pmi_line(p, line, size, &answer);
    check_answer(&answer, next);
    CHECK((next == PMI_BARRIER) <= p->waits);
    buf_done(&answer);
    return next != PMI_BROKEN;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct pmi p = {.size = 2, .name = "kvs", .mapping = "(vector,(0,1,2))"};
    const char *at = (const char *)data;
    const char *end = at + size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop != NULL ? stop : end) - at);
        if (!handle(&p, at, length))
            break;
        at += length + 1;
    }
    CHECK(p.fresh.bytes <= PMI_SPACE_BYTES_MAX && p.space.count == 0);
    pmi_done(&p);
    return 0;
}

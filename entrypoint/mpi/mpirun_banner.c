#include "entrypoint/mpi/mpirun_banner.h"

#include "common/str.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_rule(const char *line, size_t size) {
    size_t i = 0;
    while (i < size && (line[i] == '-' || line[i] == ' '))
        i++;
    return i == size;
}

void mpirun_banner_add(struct mpirun_banner *b, const char *line, size_t size) {
    size_t used = strlen(b->head);
    if (b->count == MPIRUN_BANNER_LINES || is_rule(line, size) || used + 2 >= sizeof(b->head))
        return;
    size = str_utf8_prefix(line, size, sizeof(b->head) - used - 2);
    memcpy(b->head + used, line, size);
    memcpy(b->head + used + size, "\n", 2);
    b->count++;
}

/* The start of the last whole lines that fit into MPIRUN_BANNER_TAIL_MAX bytes. */
static size_t tail_start(const struct tail *t) {
    if (t->size <= MPIRUN_BANNER_TAIL_MAX)
        return 0;
    size_t from = t->size - MPIRUN_BANNER_TAIL_MAX;
    const char *end = memchr(t->text + from, '\n', MPIRUN_BANNER_TAIL_MAX);
    return end != NULL ? (size_t)(end + 1 - t->text) : t->size;
}

int mpirun_banner_text(const struct mpirun_banner *b, const struct tail *tail, struct buf *ret,
                       struct error *err) {
    size_t start = tail_start(tail);
    size_t first = strcspn(b->head, "\n");
    bool in_tail = memmem(tail->text + start, tail->size - start, b->head, first) != NULL;
    const char *head = in_tail ? "" : b->head;
    const char *between = head[0] != '\0' && start < tail->size ? "...\n" : "";
    return buf_printf(ret, err, "%s%s%.*s", head, between, (int)(tail->size - start),
                      tail->text + start);
}

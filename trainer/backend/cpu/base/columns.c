#include "trainer/backend/cpu/base/columns.h"

#include "trainer/backend/cpu/base/parallel.h"

enum { COLUMN_ROWS = 256 /* of a chunk */ };

static size_t chunks_of(size_t rows) {
    return (rows + COLUMN_ROWS - 1) / COLUMN_ROWS;
}

size_t columns_scratch(size_t rows, size_t channels) {
    return chunks_of(rows) > 1 ? chunks_of(rows) * channels * sizeof(float) : 0;
}

static void add_chunk(void *context, int thread, size_t chunk) {
    (void)thread;
    const struct columns *c = context;
    size_t first = chunk * COLUMN_ROWS;
    size_t rows = c->rows - first < COLUMN_ROWS ? c->rows - first : COLUMN_ROWS;
    const char *x = (const char *)c->x + first * c->channels * elem_size(c->elem);
    float *sums = chunks_of(c->rows) > 1 ? c->partial + chunk * c->channels : c->sums;
    c->loops->sum_columns(x, c->elem, c->channels, rows, sums);
}

void columns_run(const struct columns *c) {
    size_t chunks = chunks_of(c->rows);
    parallel_units(chunks > 1 ? c->threads : 1, chunks, add_chunk, (void *)c);
    if (chunks == 1)
        return;
    for (size_t k = 0; k < c->channels; k++) {
        double sum = 0;
        for (size_t chunk = 0; chunk < chunks; chunk++)
            sum += (double)c->partial[chunk * c->channels + k];
        c->sums[k] = (float)sum;
    }
}

#include "trainer/app/step/tensor_norms.h"

#include "common/cleanup.h"

#include <stdlib.h>

enum { PIECE = 16384 /* elements that a block of a device sums */, TENSORS_MAX = UINT16_MAX };
enum { GROUP = STORE_ALIGNMENT / sizeof(float) };

/* The tables on the host, before they are copied. */
struct norm_tables {
    struct optimizer_piece *pieces;
    uint32_t *begins;
    uint16_t *tensors;
};

static void norm_tables_done(struct norm_tables *t) {
    free(t->pieces);
    free(t->begins);
    free(t->tensors);
}

static size_t pieces_of(const struct store_slot *slot) {
    return (slot->count + PIECE - 1) / PIECE;
}

static void count_all(struct tensor_norms *tn, const struct store *store) {
    tn->groups = (store->trained + GROUP - 1) / GROUP;
    for (int i = 0; i < store->slot_count; i++) {
        tn->norms.tensor_count += store->slots[i].trained;
        tn->norms.piece_count +=
            store->slots[i].trained ? (uint32_t)pieces_of(&store->slots[i]) : 0;
    }
}

static void fill(const struct norm_tables *t, const struct store *store) {
    uint32_t tensor = 0, piece = 0;
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        if (!slot->trained)
            continue;
        t->begins[tensor] = piece;
        for (size_t from = 0; from < slot->count; from += PIECE) {
            const size_t left = slot->count - from;
            t->pieces[piece++] =
                (struct optimizer_piece){.first = (uint32_t)(slot->first + from),
                                         .count = (uint32_t)(left < PIECE ? left : PIECE)};
        }
        for (size_t k = 0; k < (slot->count + GROUP - 1) / GROUP; k++)
            t->tensors[slot->first / GROUP + k] = (uint16_t)tensor;
        t->begins[++tensor] = piece;
    }
}

/* Returns device memory with the BYTES of VALUES, or NULL. */
static void *put(struct backend *backend, const void *values, size_t bytes, struct error *err) {
    const struct backend_table *table = backend->table;
    void *memory = table->alloc(backend, bytes, err);
    if (memory == NULL || values == NULL ||
        table->copy_in(backend, memory, values, bytes, err) == 0)
        return memory;
    table->free(backend, memory, bytes);
    return NULL;
}

static size_t sums_bytes(const struct backend_norms *n) {
    return 2 * n->piece_count * sizeof(*n->sums);
}

static int move_in(struct tensor_norms *tn, const struct norm_tables *t, struct error *err) {
    struct backend_norms *n = &tn->norms;
    n->pieces = put(tn->backend, t->pieces, n->piece_count * sizeof(*n->pieces), err);
    n->begins = put(tn->backend, t->begins, (n->tensor_count + 1) * sizeof(*n->begins), err);
    n->tensors = put(tn->backend, t->tensors, tn->groups * sizeof(*n->tensors), err);
    n->sums = put(tn->backend, NULL, sums_bytes(n), err);
    n->factors = put(tn->backend, NULL, n->tensor_count * sizeof(*n->factors), err);
    return n->pieces == NULL || n->begins == NULL || n->tensors == NULL || n->sums == NULL ||
                   n->factors == NULL
               ? -1
               : 0;
}

int tensor_norms_open(struct tensor_norms *tn, const struct store *store, struct error *err) {
    *tn = (struct tensor_norms){.backend = store->backend};
    count_all(tn, store);
    if (tn->norms.tensor_count > TENSORS_MAX || store->trained > UINT32_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "norms of more than %d tensors", TENSORS_MAX);
    __attribute__((cleanup(norm_tables_done))) struct norm_tables t = {
        .pieces = calloc(tn->norms.piece_count + 1, sizeof(*t.pieces)),
        .begins = calloc(tn->norms.tensor_count + 1, sizeof(*t.begins)),
        .tensors = calloc(tn->groups + 1, sizeof(*t.tensors))};
    if (t.pieces == NULL || t.begins == NULL || t.tensors == NULL)
        return error_no_memory(err, "norms of tensors");
    fill(&t, store);
    return move_in(tn, &t, err);
}

static void drop(const struct tensor_norms *tn, const void *memory, size_t bytes) {
    if (memory != NULL)
        tn->backend->table->free(tn->backend, (void *)(uintptr_t)memory, bytes);
}

void tensor_norms_done(struct tensor_norms *tn) {
    const struct backend_norms *n = &tn->norms;
    if (tn->backend == NULL)
        return;
    drop(tn, n->pieces, n->piece_count * sizeof(*n->pieces));
    drop(tn, n->begins, (n->tensor_count + 1) * sizeof(*n->begins));
    drop(tn, n->tensors, tn->groups * sizeof(*n->tensors));
    drop(tn, n->sums, sums_bytes(n));
    drop(tn, n->factors, n->tensor_count * sizeof(*n->factors));
    *tn = (struct tensor_norms){0};
}

/* Skipping of zero tiles. A detector's gradients are zero except at regions and sampled anchors,
 * often in most of a picture: such tiles are skipped. A sample of the tiles decides first whether
 * to look, because dense gradients are the common case. Skipped tiles contribute nothing to a sum;
 * but a non-finite value that is only multiplied by zeros goes unnoticed. The choice depends on
 * values, not on threads. */
#include "trainer/backend/cpu/conv/conv_winograd4_skip.h"

#include "trainer/backend/cpu/base/parallel.h"

#include <string.h>

/* One tile in SAMPLE is tested; skipping pays where more than one in FEW of them is unused. */
enum { SAMPLE = 16, FEW = 8 };
enum { UNIT_TILES = 32 };

struct search {
    const struct cpu *cpu;
    struct winograd4_picture picture;
    const float *from, *zeros;
    size_t side, tiles;
    bool *used;
};

static void look(const struct search *s, size_t begin, size_t end) {
    s->cpu->loops->winograd4_used(&s->picture, s->from, s->zeros, s->side, begin, end, s->used);
}

static void look_at_unit(void *context, int thread, size_t unit) {
    (void)thread;
    const struct search *s = context;
    look(s, unit * UNIT_TILES, cpu_least((unit + 1) * UNIT_TILES, s->tiles));
}

static bool is_worth_it(const struct search *s) {
    size_t seen = 0, unused = 0;
    for (size_t tile = 0; tile < s->tiles; tile += SAMPLE) {
        look(s, tile, tile + 1);
        unused += !s->used[tile];
        seen++;
    }
    return unused * FEW > seen;
}

size_t conv_winograd4_choice_bytes(size_t tiles) {
    return backend_aligned(tiles * sizeof(uint32_t)) + backend_aligned(tiles * sizeof(bool));
}

static bool *used_of(const struct conv_winograd4_choice *choice) {
    return (bool *)((char *)choice->scratch + backend_aligned(choice->tiles * sizeof(uint32_t)));
}

void conv_winograd4_choose(const struct cpu *cpu, const struct winograd4_picture *picture,
                           const float *from, const float *zeros, size_t side,
                           struct conv_winograd4_choice *choice) {
    struct search s = {cpu, *picture, from, zeros, side, choice->tiles, used_of(choice)};
    s.picture.chosen = NULL;
    choice->count = choice->tiles;
    choice->chosen = NULL;
    if (!is_worth_it(&s))
        return;
    parallel_units(cpu->threads, cpu_divided(s.tiles, UNIT_TILES), look_at_unit, &s);
    uint32_t *list = choice->scratch;
    choice->count = 0;
    for (size_t tile = 0; tile < s.tiles; tile++)
        if (s.used[tile])
            list[choice->count++] = (uint32_t)tile;
    choice->chosen = list;
}

struct clearing {
    const struct winograd4_picture *picture;
    const struct conv_winograd4_choice *choice;
    float *y;
};

static void clear_tile(const struct winograd4_picture *p, size_t tile, float *y) {
    size_t image = tile / p->columns / p->rows;
    size_t row = tile / p->columns % p->rows * WINOGRAD4_SIDE;
    size_t column = tile % p->columns * WINOGRAD4_SIDE;
    size_t end = cpu_least(row + WINOGRAD4_SIDE, p->height);
    size_t columns = cpu_least(WINOGRAD4_SIDE, p->width - column);
    for (; row < end; row++)
        memset(y + ((image * p->height + row) * p->width + column) * p->channels, 0,
               columns * p->channels * sizeof(float));
}

static void clear_unit(void *context, int thread, size_t unit) {
    (void)thread;
    const struct clearing *c = context;
    const bool *used = used_of(c->choice);
    size_t end = cpu_least((unit + 1) * UNIT_TILES, c->choice->tiles);
    for (size_t tile = unit * UNIT_TILES; tile < end; tile++)
        if (!used[tile])
            clear_tile(c->picture, tile, c->y);
}

void conv_winograd4_clear(const struct cpu *cpu, const struct winograd4_picture *picture,
                          const struct conv_winograd4_choice *choice, float *y) {
    struct clearing c = {picture, choice, y};
    if (choice->chosen != NULL)
        parallel_units(cpu->threads, cpu_divided(choice->tiles, UNIT_TILES), clear_unit, &c);
}

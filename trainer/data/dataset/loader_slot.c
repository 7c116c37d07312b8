#include "trainer/data/dataset/loader_slot.h"

#include "common/grow.h"
#include "trainer/data/dataset/bad_samples.h"

#include <limits.h>
#include <stdlib.h>

int loader_slot_make(struct loader_slot *slot, const struct loader_options *o, struct error *err) {
    struct batch *batch = &slot->batch;
    const struct batch_layout *layout = &o->source->layout;
    slot->block = o->memory.alloc(o->memory.user, layout->bytes, err);
    if (slot->block == NULL)
        return error_wrap(err, "batches");
    batch->layout = layout;
    for (int i = 0; i < layout->count; i++)
        batch->fields[i] = slot->block + layout->fields[i].offset;
    batch->samples = calloc((size_t)o->sampler.batch, sizeof(int64_t));
    slot->error = calloc(1, sizeof(*slot->error));
    if (batch->samples == NULL || slot->error == NULL)
        return error_no_memory(err, "batches");
    const struct source_table *table = o->source->table;
    return table->batch_open == NULL ? 0 : table->batch_open(o->source, batch, err);
}

/* Safe for a slot of zeros and after a failed loader_slot_make: batch_close is called for such,
 * too. */
void loader_slot_done(struct loader_slot *slot, const struct loader_options *o) {
    if (o->source->table->batch_close != NULL)
        o->source->table->batch_close(&slot->batch);
    if (slot->block != NULL)
        o->memory.free(o->memory.user, slot->block);
    free(slot->batch.samples);
    free(slot->error);
    free(slot->ahead.items);
}

uint32_t loader_slot_epoch(const struct loader_options *o, int64_t steps, int64_t number) {
    int64_t micros = o->step * o->sampler.accumulate + number;
    return o->epoch + (uint32_t)(micros / (steps * o->sampler.accumulate));
}

/* Gives the batch of SLOT its canvas, and the fields of that. */
static void shape(struct loader_slot *slot, const struct source *source,
                  const struct sampler_epoch *order) {
    struct batch *batch = &slot->batch;
    batch->canvas = source->table->canvas != NULL
                        ? source->table->canvas(source, batch->epoch)
                        : sampler_epoch_group(order, batch->epoch, batch->step);
    if (source->layouts == NULL)
        return;
    batch->layout = &source->layouts[batch->canvas];
    for (int i = 0; i < batch->layout->count; i++)
        batch->fields[i] = slot->block + batch->layout->fields[i].offset;
}

/* Without memory less is read ahead. */
static void add_piece(void *context, struct lanes_piece piece) {
    struct loader_pieces *pieces = context;
    if (grow_array(&pieces->items, &pieces->room, pieces->count + 1, sizeof(*pieces->items),
                   "reading ahead", NULL) == 0)
        pieces->items[pieces->count++] = piece;
}

/* Notes what is to be read ahead when BATCH, the first of its step, begins. */
static void look_ahead(struct loader_slot *slot, const struct loader_options *o,
                       const struct sampler_epoch *order, int64_t number) {
    const struct batch *batch = &slot->batch;
    const bool begins = batch->epoch == o->epoch;
    slot->ahead.count = 0;
    if (o->sampler.lanes.lanes > 0 && o->source->table->ahead != NULL &&
        (batch->micro == 0 || number == 0))
        sampler_epoch_ahead(order, batch->step, begins ? o->step : 0, add_piece, &slot->ahead);
}

/* Call with the loader's lock held, before any place of the slot is handed out. `failed` starts
 * above all places, so that each is lower. */
void loader_slot_begin(struct loader_slot *slot, const struct loader_options *o,
                       const struct sampler_epoch *order, int64_t steps, int64_t number) {
    struct batch *batch = &slot->batch;
    int64_t micros = o->step * o->sampler.accumulate + number;
    int64_t of_epoch = steps * o->sampler.accumulate;
    batch->epoch = loader_slot_epoch(o, steps, number);
    batch->step = micros % of_epoch / o->sampler.accumulate;
    batch->micro = (int)(micros % o->sampler.accumulate);
    shape(slot, o->source, order);
    batch->count = 0;
    for (int i = 0; i < o->sampler.batch; i++) {
        int64_t sample = sampler_epoch_at(order, batch->epoch, batch->step, batch->micro, i);
        batch->samples[i] = sample;
        batch->count += sample != SAMPLER_PADDING;
    }
    look_ahead(slot, o, order, number);
    slot->missing = o->sampler.batch;
    slot->failed = INT_MAX;
}

/* The sample of a place failed with ERR. Returns 0 if the place may stay empty. */
static int judge(const struct loader_options *o, const struct batch *batch, int place,
                 const struct error *err) {
    if (o->faults == NULL || !bad_sample_at_fault(err))
        return -1;
    const int64_t sample = batch->samples[place];
    char name[PATH_MAX];
    o->source->table->sample_name(o->source, (size_t)sample, name, sizeof(name));
    const char *why = bad_sample_reason(name, err->text);
    if (bad_samples_note(o->faults, sample, BAD_SAMPLE_BAD, why) > o->bad_allowed)
        return -1;
    o->source->table->clear(o->source, batch, place);
    return 0;
}

void loader_slot_read_ahead(const struct loader_slot *slot, const struct loader_options *o,
                            int place) {
    const struct source *source = o->source;
    for (size_t i = 0; place == 0 && i < slot->ahead.count; i++)
        source->table->ahead(source, &slot->ahead.items[i]);
}

int loader_slot_fill(const struct loader_slot *slot, const struct loader_options *o, void *own,
                     int place, struct error *err) {
    const struct batch *batch = &slot->batch;
    const char *damage = NULL;
    if (batch->samples[place] == SAMPLER_PADDING) {
        o->source->table->clear(o->source, batch, place);
        return 0;
    }
    if (o->source->table->fill(o->source, own, batch, place, &damage, err) != 0)
        return judge(o, batch, place, err);
    if (damage != NULL && o->faults != NULL)
        (void)bad_samples_note(o->faults, batch->samples[place], BAD_SAMPLE_DAMAGED, damage);
    return 0;
}

/* The lowest place wins, whichever worker comes first: the error does not depend on the threads. */
void loader_slot_fail(struct loader_slot *slot, int place, const struct error *err) {
    if (place >= slot->failed)
        return;
    slot->failed = place;
    *slot->error = *err;
}

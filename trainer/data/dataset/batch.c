#include "trainer/data/dataset/batch.h"

#include <assert.h>
#include <string.h>

/* Sources make their layouts with batch_layout_add (trainer/data/dataset/labelled.c,
 * trainer/data/detect/detection_source.c). The number that it returns is the index of batch.fields,
 * so that the order of the calls is that of the enumerators by which a source finds its fields.
 *
 * The block of a batch is allocated by the loader, once for the largest layout of its source
 * (loader_slot.c). Layouts of smaller canvases lie at its beginning. */

/* The number of fields is fixed when the program is written: too many are a fault of it, and no
 * error. Each field begins at its own cache line, whatever the size of the one before. */
int batch_layout_add(struct batch_layout *layout, const char *name, size_t bytes) {
    assert(layout->count < BATCH_FIELDS_MAX);
    layout->fields[layout->count] = (struct batch_field){name, bytes, layout->bytes};
    /* The size of the block is the next field's offset, and so a multiple, too. */
    layout->bytes += (bytes + BATCH_ALIGNMENT - 1) / BATCH_ALIGNMENT * BATCH_ALIGNMENT;
    return layout->count++;
}

/* The whole name is compared, bytewise. A network asks for each of its inputs (pass_values in
 * trainer/app/step/network.c), and a batch may have fields that it does not ask for. */
int batch_layout_find(const struct batch_layout *layout, const char *name) {
    for (int i = 0; i < layout->count; i++)
        if (strcmp(layout->fields[i].name, name) == 0)
            return i;
    return -1;
}

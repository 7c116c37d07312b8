#include "trainer/data/dataset/batch.h"

#include <assert.h>
#include <string.h>

int batch_layout_add(struct batch_layout *layout, const char *name, size_t bytes) {
    assert(layout->count < BATCH_FIELDS_MAX);
    layout->fields[layout->count] = (struct batch_field){name, bytes, layout->bytes};
    layout->bytes += (bytes + BATCH_ALIGNMENT - 1) / BATCH_ALIGNMENT * BATCH_ALIGNMENT;
    return layout->count++;
}

int batch_layout_find(const struct batch_layout *layout, const char *name) {
    for (int i = 0; i < layout->count; i++)
        if (strcmp(layout->fields[i].name, name) == 0)
            return i;
    return -1;
}

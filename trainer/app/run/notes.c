#include "trainer/app/run/notes.h"

#include "common/log.h"

#include <string.h>

void notes_tell(struct buf *notes) {
    char *rest = NULL;
    if (notes->size == 0)
        return;
    for (char *line = strtok_r(notes->data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        log_warning("%s", line);
    buf_consume(notes, notes->size);
}

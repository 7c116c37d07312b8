#include "trainer/app/serve/servable.h"

#include <stdlib.h>

void served_picture_done(struct served_picture *picture) {
    free(picture->pixels);
    picture->pixels = NULL;
    free(picture->own);
    picture->own = NULL;
    buf_done(&picture->answer);
}

void servable_close(struct servable *servable) {
    if (servable->own != NULL)
        servable->table->close(servable);
    servable->own = NULL;
}

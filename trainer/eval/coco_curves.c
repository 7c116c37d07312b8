#include "trainer/eval/coco_curves.h"

#include <stdlib.h>

void coco_curves_done(struct coco_curves *curves) {
    free(curves->precision);
    free(curves->score);
    free(curves->recall);
    *curves = (struct coco_curves){0};
}

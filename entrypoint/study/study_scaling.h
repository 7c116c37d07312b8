/* `ringmaster scaling`, on its ranks. */
#ifndef ENTRYPOINT_STUDY_STUDY_SCALING_H
#define ENTRYPOINT_STUDY_STUDY_SCALING_H

#include "common/error.h"
#include "common/slots/slot_group.h"
#include "entrypoint/study/study_words.h"

/* Collective. What is wrong with the sizes or prices is an error on rank 0 alone; the others end
 * well. */
int study_scaling(const struct study_words *w, const struct slot_group *group, struct error *err);

#endif

/* `ringmaster trials`, on its ranks. */
#ifndef ENTRYPOINT_STUDY_STUDY_TRIALS_H
#define ENTRYPOINT_STUDY_STUDY_TRIALS_H

#include "common/error.h"
#include "common/slots/slot_group.h"
#include "entrypoint/study/study_words.h"

/* Collective. What is wrong with the plan is an error on rank 0 alone; the others end well. */
int study_trials(const struct study_words *w, const struct slot_group *group, struct error *err);

#endif

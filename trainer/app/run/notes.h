/* Lines that a library has left for people. */
#ifndef TRAINER_APP_RUN_NOTES_H
#define TRAINER_APP_RUN_NOTES_H

#include "common/buf.h"

/* Each line of NOTES as a warning; NOTES is used up. */
void notes_tell(struct buf *notes);

#endif

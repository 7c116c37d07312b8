/* COCO's zip archives, unpacked: the work of `ringtrain prepare coco`. */
#ifndef TRAINER_APP_COMMAND_PREPARE_PREPARE_ZIPS_H
#define TRAINER_APP_COMMAND_PREPARE_PREPARE_ZIPS_H

#include "common/error.h"
#include "trainer/app/command/prepare/prepare_flags.h"

/* Unpacks FLAGS' sources into their target, and prints what was made. */
int prepare_zips(const struct prepare_flags *flags, struct error *err);

#endif

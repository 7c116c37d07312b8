/* `ringtrain prepare folder SOURCE TARGET`: a data set as shards. */
#ifndef TRAINER_APP_COMMAND_PREPARE_COMMAND_PREPARE_FOLDER_H
#define TRAINER_APP_COMMAND_PREPARE_COMMAND_PREPARE_FOLDER_H

#include "common/error.h"

#include <stdio.h>

/* ARGV begins after the word `folder`. */
int command_prepare_folder(int argc, char *const *argv, struct error *err);
void command_prepare_folder_help(FILE *out);

#endif

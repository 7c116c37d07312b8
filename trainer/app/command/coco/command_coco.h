/* Commands for COCO files, called by the commands of command.h. */
#ifndef TRAINER_APP_COMMAND_COCO_COMMAND_COCO_H
#define TRAINER_APP_COMMAND_COCO_COMMAND_COCO_H

#include "common/error.h"

#include <stdio.h>

/* eval --coco ANNOTATIONS --results RESULTS */
int command_eval_coco(int argc, char *const *argv, struct error *err);
void command_eval_coco_help(FILE *out);

/* inspect coco DIR */
int command_inspect_coco(int argc, char *const *argv, struct error *err);
void command_inspect_coco_help(FILE *out);

/* prepare shapes --coco DIR */
int command_prepare_coco(int argc, char *const *argv, struct error *err);
void command_prepare_coco_help(FILE *out);

#endif

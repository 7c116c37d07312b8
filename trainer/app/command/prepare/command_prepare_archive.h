/* The command `ringtrain prepare flowers|cifar|imagenet|coco`: data sets from the archives in which
 * they are published. */
#ifndef TRAINER_APP_COMMAND_PREPARE_COMMAND_PREPARE_ARCHIVE_H
#define TRAINER_APP_COMMAND_PREPARE_COMMAND_PREPARE_ARCHIVE_H

#include "common/error.h"

#include <stdio.h>

int command_prepare_flowers(int argc, char *const *argv, struct error *err);
int command_prepare_cifar(int argc, char *const *argv, struct error *err);
int command_prepare_imagenet(int argc, char *const *argv, struct error *err);
int command_prepare_zips(int argc, char *const *argv, struct error *err);

void command_prepare_archive_help(FILE *out);

#endif

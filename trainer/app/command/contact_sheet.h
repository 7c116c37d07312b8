/* Contact sheet of a data set: one picture with some of the pictures of each class, a row a class.
 */
#ifndef TRAINER_APP_COMMAND_CONTACT_SHEET_H
#define TRAINER_APP_COMMAND_CONTACT_SHEET_H

#include "common/error.h"
#include "trainer/data/dataset/dataset.h"

enum { CONTACT_SHEET_CLASSES = 40, CONTACT_SHEET_PICTURES = 10 };

/* Fails with EXIT_CODE_USAGE if PATH ends neither in .png nor in .jpg. */
int contact_sheet_check(const char *path, struct error *err);

/* Writes the sheet of SET to PATH: of the first CONTACT_SHEET_CLASSES classes, the same pictures in
 * every run. The place of a picture that cannot be used stays empty. */
int contact_sheet_write(const struct dataset *set, const char *path, struct error *err);

#endif

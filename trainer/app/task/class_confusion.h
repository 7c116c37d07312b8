/* Confusion matrix of a classification network, as a CSV file (RFC 4180).
 *
 *     true class,"cat","dog"
 *     "cat",17,3
 *     "dog",1,19
 *
 * A row has the pictures of a class by the class that the network takes them for. A picture with
 * NaN for an answer is in no column. */
#ifndef TRAINER_APP_TASK_CLASS_CONFUSION_H
#define TRAINER_APP_TASK_CLASS_CONFUSION_H

#include "common/error.h"
#include "trainer/app/task/class_tally.h"

#include <stddef.h>

#define CLASS_CONFUSION_FILE "confusion.csv"

/* Call before the work: creates FOLDER and checks that the file can be written there. Errors begin
 * with "--out"; too many CLASSES to be counted by pairs are EXIT_CODE_USAGE. */
int class_confusion_check(const char *folder, size_t classes, struct error *err);

/* Replaces the file in FOLDER. TALLY is that of all ranks; NAMES has one name for each class. */
int class_confusion_write(const struct class_tally *tally, char *const *names, const char *folder,
                          struct error *err);

#endif

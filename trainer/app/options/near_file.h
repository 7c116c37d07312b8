/* Did-you-mean suggestion for paths: the file that is nearest to a mistyped one, in the folder
 * where the path ends to exist. */
#ifndef TRAINER_APP_OPTIONS_NEAR_FILE_H
#define TRAINER_APP_OPTIONS_NEAR_FILE_H

#include <limits.h>

enum { NEAR_FILE_WORDS_MAX = PATH_MAX + 32 };

/* "; did you mean PATH?" after a message in TEXT; "" where PATH exists, or nothing is near. A
 * folder of very many files is looked at in part. */
const char *near_file_words(const char *path, char text[NEAR_FILE_WORDS_MAX]);

/* The same for the first of COUNT words of a command line that ERROR is about ("WORD: reason") and
 * that is the path, or as --FLAG=VALUE has the path, of no file. An error that has such words
 * already gets none. */
const char *near_file_of(const char *error, char *const *words, int count,
                         char text[NEAR_FILE_WORDS_MAX]);

#endif

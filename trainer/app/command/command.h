/* The commands of ringtrain. A command gets the words behind its name and returns the exit code of
 * the program; it reports errors through ERR and returns -1 then, so that main prints them in one
 * place. Adding one: a function here, a row in main.c. */
#ifndef TRAINER_APP_COMMAND_COMMAND_H
#define TRAINER_APP_COMMAND_COMMAND_H

#include "common/buf.h"
#include "common/error.h"

#include <stdio.h>

int command_train(int argc, char *const *argv, struct error *err);
int command_eval(int argc, char *const *argv, struct error *err);
int command_predict(int argc, char *const *argv, struct error *err);
int command_prepare(int argc, char *const *argv, struct error *err);
int command_inspect(int argc, char *const *argv, struct error *err);
/* `inspect --cuda`. */
int command_inspect_cuda(struct error *err);
int command_draw(int argc, char *const *argv, struct error *err);
/* Tables for docs/reference, not listed in the help. */
int command_docs(int argc, char *const *argv, struct error *err);
/* Appends what the man page says of the flags, recipes and exit codes. */
int command_manual(struct buf *ret, struct error *err);
int command_version(int argc, char *const *argv, struct error *err);

/* ARGV has --help somewhere, and words beside it that may be wrong. */
void command_train_help(FILE *out, int argc, char *const *argv);
void command_eval_help(FILE *out, int argc, char *const *argv);
void command_predict_help(FILE *out, int argc, char *const *argv);
void command_prepare_help(FILE *out, int argc, char *const *argv);
void command_inspect_help(FILE *out, int argc, char *const *argv);
void command_draw_help(FILE *out, int argc, char *const *argv);

#endif

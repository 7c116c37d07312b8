/* Commands of the program ringtrain. A command gets the words after its name and returns the exit
 * code of the program. Errors go to ERR with the result -1, so that main prints them in one place.
 * To add one: a function here, a row in main.c. */
#ifndef TRAINER_APP_COMMAND_COMMAND_H
#define TRAINER_APP_COMMAND_COMMAND_H

#include "common/buf.h"
#include "common/error.h"

#include <stdio.h>

int command_train(int argc, char *const *argv, struct error *err);
int command_eval(int argc, char *const *argv, struct error *err);
int command_predict(int argc, char *const *argv, struct error *err);
int command_serve(int argc, char *const *argv, struct error *err);
int command_export(int argc, char *const *argv, struct error *err);
int command_prepare(int argc, char *const *argv, struct error *err);
int command_inspect(int argc, char *const *argv, struct error *err);
/* `inspect --cuda`. */
int command_inspect_cuda(struct error *err);
int command_draw(int argc, char *const *argv, struct error *err);
int command_report(int argc, char *const *argv, struct error *err);
/* Prints tables for docs/reference; not listed in the help. */
int command_docs(int argc, char *const *argv, struct error *err);
/* Appends the man page's sections on flags, recipes and exit codes. */
int command_manual(struct buf *ret, struct error *err);
int command_completion(int argc, char *const *argv, struct error *err);

/* ARGV contains --help; the other words may have errors. */
void command_train_help(FILE *out, int argc, char *const *argv);
void command_eval_help(FILE *out, int argc, char *const *argv);
void command_predict_help(FILE *out, int argc, char *const *argv);
void command_serve_help(FILE *out, int argc, char *const *argv);
void command_export_help(FILE *out, int argc, char *const *argv);
void command_prepare_help(FILE *out, int argc, char *const *argv);
void command_inspect_help(FILE *out, int argc, char *const *argv);
void command_draw_help(FILE *out, int argc, char *const *argv);
void command_report_help(FILE *out, int argc, char *const *argv);

#endif

/* Commands for help and documentation: `ringmaster help`, `man`, `completion` and `explain`.
 *
 * Their texts are made from tables: of commands (manual.h), settings, exit codes and failures
 * (entrypoint/outcome/explain.h). All functions of a command take the words after its name and
 * return its exit code, or -1 with an error. */
#ifndef ENTRYPOINT_COMMAND_HELP_H
#define ENTRYPOINT_COMMAND_HELP_H

#include "common/error.h"

#include <stdbool.h>

int help_run(const char *const *words, struct error *err);
int help_man(const char *const *words, struct error *err);
int help_completion(const char *const *words, struct error *err);
int help_explain(const char *const *words, struct error *err);

/* Returns true if WORDS ask for help. Looks only at words before `--`; later ones are the
 * program's. */
bool help_is_asked(const char *const *words);

/* Prints the help of COMMAND, or all of it for one without help of its own. Returns the exit code.
 */
int help_print_of(const char *command);

/* Prints the list of commands on standard error, for a command line without one. */
void help_list(void);

#endif

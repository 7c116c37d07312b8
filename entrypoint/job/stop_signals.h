/* Signals that stop programs or warn them of the end.
 *
 * The settings give them. Any signal that has a name and that a program can handle is accepted. */
#ifndef ENTRYPOINT_JOB_STOP_SIGNALS_H
#define ENTRYPOINT_JOB_STOP_SIGNALS_H

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    STOP_SIGNALS_WARN_SECONDS = 60
}; /* where only a signal is given, as with Slurm's --signal */

/* The warning before the end of a job. */
struct stop_warning {
    int number; /* of the signal; 0: none */
    int64_t seconds;
};

/* Parses the name of a signal, with or without "SIG", or its number. */
int stop_signals_parse(const char *value, int *ret, struct error *err);
/* Parses SIGNAL or SIGNAL@SECONDS. */
int stop_signals_parse_warning(const char *value, struct stop_warning *ret, struct error *err);

/* Returns true for a number that such a setting may have. */
bool stop_signals_has(int64_t number);
/* Returns true for a signal that all processes of a program get, as all end by it: SIGTERM, SIGINT
 * and SIGHUP. Any other goes to the program alone, because its children may not handle it. */
bool stop_signals_reach_children(int number);

/* Returns "USR1@60" for `plan`, or null without a warning; the caller owns it. */
json_t *stop_signals_warning_json(const struct stop_warning *warning);

#endif

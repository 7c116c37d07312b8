/* Attempt number and run ID of a job, for its programs.
 *
 * ringmaster passes both to every program that it starts.
 *
 * The run ID is shared by all attempts of one job and differs between jobs. A program that is
 * started in a later attempt than the first resumes from what it saved in the run of that ID. */
#ifndef COMMON_RUN_ID_H
#define COMMON_RUN_ID_H

#define ATTEMPT_VARIABLE "RINGMASTER_ATTEMPT"    /* from 1 on, plus 1 for each restart */
#define ATTEMPT_RUN_VARIABLE "RINGMASTER_RUN_ID" /* 16 hexadecimal digits */

enum { ATTEMPT_RUN_SIZE = 17 };

#endif

/* What ringmaster tells every program that it starts, beside its rank: which attempt at the job
 * this is, and a name that all attempts of one job share and no other job has. A program that finds
 * a later attempt than the first goes on from what it saved in the run of that name. */
#ifndef COMMON_RUN_ID_H
#define COMMON_RUN_ID_H

#define ATTEMPT_VARIABLE "RINGMASTER_ATTEMPT"    /* 1, and one more with each restart */
#define ATTEMPT_RUN_VARIABLE "RINGMASTER_RUN_ID" /* 16 hexadecimal digits */

enum { ATTEMPT_RUN_SIZE = 17 };

#endif

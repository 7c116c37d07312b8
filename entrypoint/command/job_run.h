/* Commands that are jobs: `ringmaster train`, `check`, `trials` and `scaling`.
 *
 * Each reads the job from its words and the environment, and then follows the loop of this host's
 * role until the job ends. A job that fails before that leaves its own failure file. All take the
 * words after the command's name and return its exit code, or -1 with an error. The caller has
 * blocked the signals that stop a job; the loop takes them over. */
#ifndef ENTRYPOINT_COMMAND_JOB_RUN_H
#define ENTRYPOINT_COMMAND_JOB_RUN_H

#include "common/error.h"

int job_run_train(const char *const *words, struct error *err);
/* Runs a job of its own with --mpi or --nccl, otherwise prints a table of the hosts. */
int job_run_check(const char *const *words, struct error *err);
int job_run_trials(const char *const *words, struct error *err);
int job_run_scaling(const char *const *words, struct error *err);

#endif

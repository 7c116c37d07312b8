/* Dumps of PyTorch's Flight Recorder: the last collective operations of a rank, which its process
 * group writes to a file when a byte comes through a FIFO, or by itself at a time-out (PyTorch 2.5
 * and later, ProcessGroupNCCL). torchfrtrace reads the files of all ranks. */
#ifndef ENTRYPOINT_EVIDENCE_FLIGHT_RECORDER_H
#define ENTRYPOINT_EVIDENCE_FLIGHT_RECORDER_H

#include "common/argv.h"
#include "common/error.h"
#include "entrypoint/evidence/gather_order.h"

#include <stdbool.h>
#include <stdint.h>

/* Names of files less the rank, and for the FIFO less ".pipe". "": there is no recorder. */
struct flight_recorder {
    char file[GATHER_ORDER_PATH_SIZE];
    char fifo[GATHER_ORDER_PATH_SIZE];
};

/* Finds the names for programs with ENVIRONMENT: those that it sets, else names in FOLDER, if this
 * host has GPUs. FOLDER is private to the job. */
void flight_recorder_find(char *const *environment, const char *folder, bool has_gpus,
                          struct flight_recorder *ret);

/* Sets the recorder's variables where ENVIRONMENT has none. */
int flight_recorder_add(const struct flight_recorder *r, struct argv *environment,
                        struct error *err);

/* Has RANK write its file, waits for it until DEADLINE (clock_now()), and prints it to standard
 * output; without a FIFO the file that is there. Returns 0, or 1 if there is none. */
int flight_recorder_print(const char *file, const char *fifo, unsigned rank, int64_t deadline);

#endif

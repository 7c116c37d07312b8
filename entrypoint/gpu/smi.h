/* State of GPUs by nvidia-smi, where NVML cannot be opened: a static program opens no library. It
 * knows nothing of NVLinks and Xids. */
#ifndef ENTRYPOINT_GPU_SMI_H
#define ENTRYPOINT_GPU_SMI_H

#include "common/error.h"
#include "entrypoint/gpu/gpu_state.h"

#include <stdbool.h>
#include <stdint.h>

/* Runs it, found by PATH in ENVIRONMENT, for at most LIMIT (ns) in all; with DETAILS once more, for
 * what each GPU is and does. Blocks. */
int smi_read(char *const *environment, int64_t limit, bool details, struct gpu_states *ret,
             struct error *err);

/* Parse its tables, of CSV without heads and units: of GPUs, which makes RET, and of remapped rows,
 * processes and details, which add to it. Malformed lines are skipped. */
void smi_parse_gpus(const char *text, struct gpu_states *ret);
void smi_parse_rows(const char *text, struct gpu_states *ret);
void smi_parse_processes(const char *text, struct gpu_states *ret);
void smi_parse_details(const char *text, struct gpu_states *ret);

#endif

/* Where a host's numbers (traces/gauges.h) go: to a file every so many seconds
 * (RINGMASTER_METRICS), and to whoever asks at a port (RINGMASTER_METRICS_PORT). */
#ifndef HOST_SUPERVISOR_METRICS_H
#define HOST_SUPERVISOR_METRICS_H

#include "host/supervisor.h"

void supervisor_metrics_begin(struct supervisor *s);
/* Opens the port of a job; the error names it. A check has none. */
int supervisor_metrics_listen(struct supervisor *s, struct error *err);
/* The file, as things are now. */
void supervisor_metrics_write(struct supervisor *s);

#endif

/* State of this host for people: memory, limits of the control group, shared memory, load and
 * pressure (PSI), as files of the kernel have them. */
#ifndef ENTRYPOINT_EVIDENCE_HOST_STATE_H
#define ENTRYPOINT_EVIDENCE_HOST_STATE_H

/* Prints what is there to standard output; ROOT comes before the paths: "" except in tests.
 * Returns 0, or 1 if there is nothing. */
int host_state_print(const char *root);

#endif

/* ringmaster-transfer DESCRIPTOR: fetches what a job needs, or uploads what it leaves, as a child
 * of the container's first process, which thereby needs no libcurl and waits for no disk. Its order
 * comes in sealed memory, at that descriptor, and so do the credentials: nothing of them is in a
 * command line or an environment. */
#ifndef ENTRYPOINT_TRANSFER_TRANSFER_H
#define ENTRYPOINT_TRANSFER_TRANSFER_H

/* The whole program: ARGV[1] is the descriptor or "version". Returns its exit code. */
int transfer_main(int argc, char **argv);

#endif

/* The transfer program, `ringmaster-transfer DESCRIPTOR`: it fetches inputs, uploads results and
 * reports status.
 *
 * It also fetches the archives of a data set. It runs as a child of the container's first process,
 * which thereby needs no libcurl and waits for no disk, or of `ringtrain prepare`. Its order and
 * credentials arrive in sealed memory at that descriptor; a command line or an environment never
 * contains them. */
#ifndef ENTRYPOINT_TRANSFER_TRANSFER_H
#define ENTRYPOINT_TRANSFER_TRANSFER_H

/* Runs the whole program: ARGV[1] is the descriptor or "version". Returns its exit code. */
int transfer_main(int argc, char **argv);

#endif

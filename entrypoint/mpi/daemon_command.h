/* Allow-list of commands that the remote-launch agent may start.
 *
 * Its input is the shell line that mpirun's launcher passes to an agent (the arguments after the
 * host's name, joined with blanks). Its output is the argv of this job's daemon, rebuilt from
 * parsed values only, or a refusal that names the word. Nothing is expanded and no shell is
 * involved. Forms of the line as measured with Open MPI 4.1.4 and 5.0.7. */
#ifndef ENTRYPOINT_MPI_DAEMON_COMMAND_H
#define ENTRYPOINT_MPI_DAEMON_COMMAND_H

#include "common/argv.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/net_address.h"
#include "entrypoint/mpi/openmpi.h"

#include <stddef.h>

struct daemon_command {
    enum openmpi_series series;
    const char *daemon;                    /* path of orted or prted on this host */
    const struct openmpi_options *options; /* on this host */
    size_t hosts;                          /* in the job */
    struct net_address master;             /* where mpirun runs, as the control link knows it */
    uint16_t port;                         /* its port: ports.daemons_v4 or _v6 */
};

/* COMMAND is SIZE bytes. The error has code EXIT_CODE_INTERNAL. */
int daemon_command_check(const struct daemon_command *gate, const char *command, size_t size,
                         struct argv *ret, struct error *err);

/* Agent's side: joins WORDS (NULL at the end) with blanks. */
int daemon_command_join(const char *const *words, struct buf *ret, struct error *err);

#endif

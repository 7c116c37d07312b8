/* Everything that depends on the version of Open MPI: a table with a row for 4.1 (ORTE) and one for
 * 5.0 (PRRTE), the command line of mpirun as a pure function of a request, and the expected options
 * of its daemons, which daemon_command.h checks. */
#ifndef ENTRYPOINT_MPI_OPENMPI_H
#define ENTRYPOINT_MPI_OPENMPI_H

#include "common/argv.h"
#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/machine/interface.h"
#include "entrypoint/job/ports.h"
#include "entrypoint/mpi/custom_options.h"

#include <stdbool.h>
#include <stddef.h>

enum openmpi_series { OPENMPI_4_1, OPENMPI_5_0 };

struct openmpi {
    enum openmpi_series series;
    unsigned major, minor, release;
};

/* Parses the output of `mpirun --version`. Versions other than 4.1.x and 5.x are refused. */
int openmpi_parse_version(const char *text, size_t size, struct openmpi *ret, struct error *err);

/* Returns the daemon's program: "orted" or "prted". */
const char *openmpi_daemon(enum openmpi_series series);

/* Fails for a kernel host name of the first host, NAME, that SERIES cannot take: the PMIx of 4.1
 * writes past a buffer when the name begins with more than 56 letters, and mpirun dies. */
enum { OPENMPI_LETTERS_MAX = 56 };
int openmpi_check_kernel_name(enum openmpi_series series, const char *name, struct error *err);

/* Tells a daemon on a worker its node's name: NODE, the host's in the host file. 4.1 needs no
 * word of it. 5.0 goes by the kernel's name and takes two hosts of one name for one: their ranks
 * start, and hang in their first message, over TCP alone, too. But where Slurm starts it, it goes
 * by the name in Slurm's variables. A build without the Slurm component does not read them. */
int openmpi_daemon_name(enum openmpi_series series, const char *node, struct argv *environment,
                        struct error *err);

/* Has mpirun and its daemons look at processors and memory alone. Looking for devices, too, they
 * spend as much time on PCI's registers, X servers, OpenCL and GPU drivers as on all else until
 * ranks start; and nobody asks for them, unless parameters in CUSTOM (openmpi_request) choose other
 * transports. */
int openmpi_daemon_topology(const char *custom, struct argv *environment, struct error *err);

/* The components of 5.0 that may start a daemon, for "ess": Slurm's, or else "env", mpirun's
 * choice. */
#define OPENMPI_5_0_ESS "^hnp"

/* Whether CUSTOM sets parameters of the libraries that ranks load. -1: the text is wrong. */
int openmpi_has_parameters(const char *custom, struct error *err);

/* One MCA parameter as mpirun passes it on to its daemons. */
enum { OPENMPI_NAME_SIZE = 48, OPENMPI_VALUE_SIZE = 256, OPENMPI_OPTIONS_MAX = 24 };
struct openmpi_option {
    const char *flag; /* --mca, --prtemca or --pmixmca */
    char name[OPENMPI_NAME_SIZE];
    char value[OPENMPI_VALUE_SIZE];
    bool own;       /* differs from host to host: each host puts its own value in */
    bool on_daemon; /* mpirun repeats it on the daemons' command lines */
};
struct openmpi_options {
    struct openmpi_option items[OPENMPI_OPTIONS_MAX];
    size_t count;
    char map_by[CUSTOM_OPTIONS_PLACE_SIZE]; /* mpirun's policies for ranks; 4.1 tells its daemons */
    char bind_to[CUSTOM_OPTIONS_PLACE_SIZE];
};

/* What the options are made of; equal on all hosts, but for interface and agent. */
struct openmpi_request {
    struct openmpi version;
    const struct cluster *cluster;
    const struct interface *interface;
    const struct ports *ports;
    const char *agent;  /* path of the remote-launch agent: a program that takes no words first */
    const char *shared; /* folder for the memory that ranks share; NULL or "": Open MPI's own way */
    bool ucx;           /* ranks talk by UCX where they can (ucx.h); passed to mpirun alone */
    int64_t dead_seconds; /* after which a daemon that says nothing is gone */
    const char *custom;   /* the user's further options (custom_options.h); NULL: none */
    /* The rest is for the command line alone. */
    const char *mpirun;         /* its path */
    const char *hostfile;       /* path of a file with openmpi_hostfile's text */
    const char *directory;      /* where ranks start; NULL: nowhere in particular */
    const char *ringmaster;     /* path of this program, which is started as `ringmaster rank` */
    const char *const *exports; /* names for -x, NULL at the end; may be NULL */
};

/* Safe in a shell line: one or more of A-Z a-z 0-9 _ . , : ^ / = + - */
bool openmpi_is_value(const char *value);

/* Every value is checked with openmpi_is_value: mpirun writes it into a shell line. */
int openmpi_options(const struct openmpi_request *request, struct openmpi_options *ret,
                    struct error *err);
int openmpi_command(const struct openmpi_request *request, struct argv *ret, struct error *err);

/* "10.0.0.1 slots=2\n" for every host with ranks, in their order; addresses_check() holds. */
int openmpi_hostfile(const struct cluster *cluster, struct buf *ret, struct error *err);

/* Words that Open MPI prints in good runs and that only worry people: leave the line out. */
bool openmpi_is_noise(const char *line);

#endif

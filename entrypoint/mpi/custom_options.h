/* Further options for mpirun, as SageMaker's SDK sends them (custom_mpi_options): one text, split
 * into words as a shell would, without anything else that a shell does. What is understood:
 *
 *   -x NAME=VALUE, -x NAME     a variable of every rank; without a value nothing changes, as ranks
 *                              have their container's variables anyhow
 *   --NCCL_DEBUG VALUE         the same, as the toolkit has it; also --NCCL_DEBUG=VALUE
 *   --mca NAME VALUE           a parameter of the libraries that ranks load (btl, pml, coll, mpi,
 *                              ...), which wins over ours; also -mca, --gmca, -gmca
 *   --bind-to, --map-by        where ranks run on a host, and after a colon PE=N, oversubscribe,
 *                              nooversubscribe, overload-allowed, if-supported, with commas or
 *                              colons between; they stay in the order of the hosts
 *   -v, --tag-output and other options about mpirun's own output: nothing, as lines of ranks do not
 *                              go through mpirun
 *
 * Everything else is an error that names the word: what starts daemons, chooses hosts or opens
 * ports is ours. So is a variable that would bring other code into ranks (LD_PRELOAD ...), say
 * another rank or host than theirs or where they meet (MASTER_ADDR ...), a value with control
 * characters or of more than CUSTOM_OPTIONS_VALUE_MAX bytes, and one of a parameter with what none
 * has: blanks, quotes, what a shell acts on, a '^' that does not stand in front. (Open MPI's
 * manual: mpirun(1).) */
#ifndef ENTRYPOINT_MPI_CUSTOM_OPTIONS_H
#define ENTRYPOINT_MPI_CUSTOM_OPTIONS_H

#include "common/argv.h"
#include "common/buf.h"
#include "common/error.h"

enum { CUSTOM_OPTIONS_PLACE_SIZE = 48, CUSTOM_OPTIONS_VALUE_MAX = 4096 };
struct custom_options {
    struct argv environment; /* NAME=VALUE for ranks; parameters are OMPI_MCA_NAME=VALUE */
    struct argv ignored;     /* options without an effect */
    char bind_to[CUSTOM_OPTIONS_PLACE_SIZE]; /* placement of ranks; "" if not given */
    char map_by[CUSTOM_OPTIONS_PLACE_SIZE];
};

void custom_options_done(struct custom_options *c);

/* Parses TEXT, "" for none. */
int custom_options_parse(const char *text, struct custom_options *ret, struct error *err);

/* Appends the table of all options as Markdown (docs/reference/hyperparameters.md). */
int custom_options_page(struct buf *ret, struct error *err);

#endif

/* Tables of the program, printed for documents and for SageMaker.
 *
 * The reference pages' tables are printed as Markdown from the tables that the program itself uses.
 * `ringmaster docs NAME` prints one, and docs/generate.sh puts it into its page in docs/; a test
 * holds the pages against it. That command is not listed in the help: it is for people who change
 * Ringmaster. `ringmaster metrics` prints the metric definitions. */
#ifndef ENTRYPOINT_COMMAND_DOCS_H
#define ENTRYPOINT_COMMAND_DOCS_H

#include "common/buf.h"
#include "common/error.h"

struct docs_table {
    const char *name;
    const char *page; /* the file that holds it, from the top of the repository */
    int (*print)(struct buf *ret, struct error *err);
};

/* All tables, ended by a row without a name. */
const struct docs_table *docs_tables(void);

/* Appends the table NAME; NULL: the names of all tables with their pages, one a line. An unknown
 * name is an error with EXIT_CODE_USAGE. */
int docs_print(const char *name, struct buf *ret, struct error *err);

/* Appends the metric definitions for CreateTrainingJob, as JSON. */
int docs_metrics(struct buf *ret, struct error *err);

/* `ringmaster docs [NAME]` and `ringmaster metrics`. WORDS are those after the command's name.
 * Return the exit code, or -1. */
int docs_run(const char *const *words, struct error *err);
int docs_run_metrics(const char *const *words, struct error *err);

#endif

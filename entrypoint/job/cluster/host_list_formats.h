/* Formats in which platforms list hosts.
 *
 * Each parser appends to a description, in the order of the list. A repeated name adds up slots in
 * formats where a repetition means that. WHERE is the variable, for errors. */
#ifndef ENTRYPOINT_JOB_CLUSTER_HOST_LIST_FORMATS_H
#define ENTRYPOINT_JOB_CLUSTER_HOST_LIST_FORMATS_H

#include "common/error.h"
#include "entrypoint/job/cluster/platform_description.h"

#include <stddef.h>

/* Names separated by commas, semicolons, blanks or line ends; a ":PORT" after one is dropped. */
int host_list_format_words(const char *text, const char *where, struct platform_description *ret,
                           struct error *err);
/* Slurm's hostlist (host_list.h). */
int host_list_format_hostlist(const char *text, const char *where, struct platform_description *ret,
                              struct error *err);
/* The path of a file with one name per line; every line of a name is one slot, or as many as it
 * says: "n1", "n1:4", "n1 slots=4". '#' begins a comment. */
int host_list_format_file(const char *path, const char *where, struct platform_description *ret,
                          struct error *err);
/* The same from text instead of a file. */
int host_list_format_lines(const char *text, struct platform_description *ret, struct error *err);
/* JSON: {"cluster": {TASK: ["name:port", ...], ...}, "task": {"type": TASK, "index": N}}, the tasks
 * of TASKS (NULL at the end) in that order. "task" says which one this host is; it is an error if
 * its type is none of TASKS, as it takes no part then. */
int host_list_format_spec(const char *text, const char *where, const char *const *tasks,
                          struct platform_description *ret, struct error *err);

#endif

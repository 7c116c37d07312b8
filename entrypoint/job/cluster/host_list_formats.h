/* The forms in which platforms list hosts; each appends to a description, in the order of the list,
 * and adds up the slots of a name that comes again in forms where that is what a repetition
 * means. WHERE is the variable, for errors. */
#ifndef ENTRYPOINT_JOB_CLUSTER_HOST_LIST_FORMATS_H
#define ENTRYPOINT_JOB_CLUSTER_HOST_LIST_FORMATS_H

#include "common/error.h"
#include "entrypoint/job/cluster/platform_description.h"

#include <stddef.h>

/* Names with commas, semicolons, blanks or line ends between; ":PORT" behind one is cut off. */
int host_list_format_words(const char *text, const char *where, struct platform_description *ret,
                           struct error *err);
/* Slurm's hostlist (host_list.h). */
int host_list_format_hostlist(const char *text, const char *where, struct platform_description *ret,
                              struct error *err);
/* The path of a file with a name a line; every line of a name is one slot, or so many as it says:
 * "n1", "n1:4", "n1 slots=4". Behind a '#' everything is left alone. */
int host_list_format_file(const char *path, const char *where, struct platform_description *ret,
                          struct error *err);
/* The same without a file. */
int host_list_format_lines(const char *text, struct platform_description *ret, struct error *err);
/* JSON: {"cluster": {TASK: ["name:port", ...], ...}, "task": {"type": TASK, "index": N}}, the tasks
 * of TASKS (NULL at the end) in that order. This host is the one that "task" says; where its type
 * is none of TASKS, it takes no part, which is an error. */
int host_list_format_spec(const char *text, const char *where, const char *const *tasks,
                          struct platform_description *ret, struct error *err);

#endif

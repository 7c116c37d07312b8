/* Variables that a platform makes for a service named ringmaster or ringmaster-...: Kubernetes sets
 * them in every pod next to it, docker in a container with a link of that name. Their form
 * distinguishes them from settings. */
#ifndef ENTRYPOINT_JOB_SERVICE_VARIABLES_H
#define ENTRYPOINT_JOB_SERVICE_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if VARIABLE (NAME=VALUE), with a name of SIZE bytes, is one of them. */
bool service_variables_has(const char *variable, size_t size);

/* Returns true if VALUE is the address of a service's port, such as tcp://10.0.0.1:80. */
bool service_variables_is_url(const char *value);

#endif

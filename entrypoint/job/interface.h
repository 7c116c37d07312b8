/* The network interface that carries the job: the configured one where it exists and is up, else
 * the one whose route leads to a peer (a UDP connect sends nothing), else, for a host alone, any.
 * IPv4. */
#ifndef JOB_INTERFACE_H
#define JOB_INTERFACE_H

#include "common/error.h"

#include <netinet/in.h>
#include <stddef.h>

enum { INTERFACE_NAME_SIZE = 16, INTERFACE_TEXT_SIZE = 20, INTERFACE_WARNING_SIZE = 256 };

struct interface {
    char name[INTERFACE_NAME_SIZE];
    struct in_addr address;
    unsigned prefix; /* bits of the network mask */
};

/* CONFIGURED may be NULL or "". PEER, any other host's address, is NULL for a host alone. WARNING
 * becomes a sentence for the log when the configured one was not taken, else "". */
int interface_choose(const char *configured, const struct in_addr *peer, struct interface *ret,
                     char warning[INTERFACE_WARNING_SIZE], struct error *err);

/* "172.18.0.2". */
void interface_address(const struct interface *i, char text[INTERFACE_TEXT_SIZE]);
/* The network, "172.18.0.0/16". */
void interface_cidr(const struct interface *i, char text[INTERFACE_TEXT_SIZE]);

/* `[A-Za-z0-9_.-]{1,15}`, not "." or "..": safe as a path component and in an MCA value. */
int interface_check_name(const char *name, struct error *err);

#endif

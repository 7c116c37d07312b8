/* Network interface of the job: the configured one if it exists and is up, else the one with the
 * route to a peer (a UDP connect sends nothing), else, for a single host, any.
 *
 * An interface counts with its first address of the peer's family (IPv4 for a single host if it has
 * one); link-local ones do not count. */
#ifndef ENTRYPOINT_JOB_MACHINE_INTERFACE_H
#define ENTRYPOINT_JOB_MACHINE_INTERFACE_H

#include "common/error.h"
#include "common/net_address.h"

#include <stddef.h>

enum {
    INTERFACE_NAME_SIZE = 16,
    INTERFACE_TEXT_SIZE = NET_ADDRESS_TEXT + 4,
    INTERFACE_WARNING_SIZE = 256
};

struct interface {
    char name[INTERFACE_NAME_SIZE];
    struct net_address address;
    unsigned prefix; /* bits of the network mask */
};

/* CONFIGURED may be NULL or "". PEER, any other host's address, is NULL for a single host. WARNING
 * becomes a sentence for the log if the configured one was not taken, else "". */
int interface_choose(const char *configured, const struct net_address *peer, struct interface *ret,
                     char warning[INTERFACE_WARNING_SIZE], struct error *err);

/* The network, "172.18.0.0/16". */
void interface_cidr(const struct interface *i, char text[INTERFACE_TEXT_SIZE]);

/* `[A-Za-z0-9_.-]{1,15}`, not "." or "..": safe as a path component and in an MCA value. */
int interface_check_name(const char *name, struct error *err);

#endif

/* Addresses of a host name, as glibc's getaddrinfo() finds them.
 *
 * They are the same with any C library. Where a name is not known as it is, and musl does not
 * complete it by the search list (search_list.h), it is tried with each domain of that list. A call
 * may wait for name servers as long as they allow. */
#ifndef COMMON_NET_LOOK_UP_H
#define COMMON_NET_LOOK_UP_H

#include <netdb.h>

/* Arguments and result are getaddrinfo()'s, and so is the error: that of the name as it is. */
int look_up_name(const char *name, const char *port, const struct addrinfo *hints,
                 struct addrinfo **ret);

#endif

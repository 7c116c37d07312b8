/* getaddrinfo() as it is of glibc, whatever the C library: names that musl does not complete by the
 * search list (search_list.h) are tried with its domains, one after the other, where they are not
 * known as they are. It may wait for name servers as long as they allow. */
#ifndef COMMON_NET_LOOK_UP_H
#define COMMON_NET_LOOK_UP_H

#include <netdb.h>

/* Arguments and result are getaddrinfo()'s, and so is the error: that of the name as it is. */
int look_up_name(const char *name, const char *port, const struct addrinfo *hints,
                 struct addrinfo **ret);

#endif

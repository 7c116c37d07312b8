/* Link to this program beside the control socket, under the name "agent".
 *
 * mpirun can only run its agent by one path without arguments, so that path is a link to this
 * program, which recognises the link's name. */
#ifndef ENTRYPOINT_HOST_AGENT_LINK_H
#define ENTRYPOINT_HOST_AGENT_LINK_H

#include "common/error.h"
#include "entrypoint/wire/control_socket.h"

int agent_link_make(const struct control_socket *local, struct error *err);
/* Creates the socket's folder and the link again if a program has removed them: every attempt needs
 * them. */
int agent_link_renew(struct control_socket *local, struct error *err);

#endif

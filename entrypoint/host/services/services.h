/* Services of one container that the parts of its supervisor share.
 *
 * The supervisor owns them and hands them down as one pointer, which like all of them outlives the
 * parts. A test fills in those that its part uses. */
#ifndef ENTRYPOINT_HOST_SERVICES_SERVICES_H
#define ENTRYPOINT_HOST_SERVICES_SERVICES_H

struct services {
    struct loop *loop;
    struct reaper *reaper;
    struct process_tree *sweep; /* ends all descendants */
    struct job *job;            /* its cluster loses hosts between attempts */
    char *const *environment;   /* this process's own */
    struct control_socket *local;
    struct mpi_install *mpi_install; /* filled in by mpi_setup.h */
    struct console *console;
    struct failure_writer *failure;
    struct event_log *event_log;   /* may be NULL */
    struct role_state *role_state; /* NULL: none */
};

#endif

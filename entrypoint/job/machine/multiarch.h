/* Name of the folder below lib in which Debian and Ubuntu keep this architecture's libraries. */
#ifndef ENTRYPOINT_JOB_MACHINE_MULTIARCH_H
#define ENTRYPOINT_JOB_MACHINE_MULTIARCH_H

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

#endif

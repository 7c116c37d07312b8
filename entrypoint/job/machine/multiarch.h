/* Folder of this architecture's libraries, below lib.
 *
 * Debian and Ubuntu call it by the architecture (Multiarch). */
#ifndef ENTRYPOINT_JOB_MACHINE_MULTIARCH_H
#define ENTRYPOINT_JOB_MACHINE_MULTIARCH_H

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

#endif

/* Descriptors 0 to 2 are the standard streams, whether a program was started with them or not: a
 * file that takes the place of one that is closed would get what is printed. */
#ifndef COMMON_STANDARD_STREAMS_H
#define COMMON_STANDARD_STREAMS_H

/* Opens /dev/null in place of those that are closed. The first thing that main does. Returns a bit,
 * 1 << descriptor, for each that was closed. */
unsigned standard_streams_fill(void);

#endif

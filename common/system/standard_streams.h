/* Standard input, output and error: descriptors 0 to 2, opened if the program was started without
 * them.
 *
 * Otherwise a file opened later could take the number of a closed stream and receive what is
 * printed. */
#ifndef COMMON_SYSTEM_STANDARD_STREAMS_H
#define COMMON_SYSTEM_STANDARD_STREAMS_H

/* Opens /dev/null on each closed standard descriptor. Must be the first call in main. Returns a
 * mask with bit 1 << descriptor set for each that was closed. */
unsigned standard_streams_fill(void);

#endif

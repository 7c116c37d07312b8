/* The table of exit codes for help texts: "  CODE  meaning", in WRAP_WIDTH columns. */
#ifndef COMMON_TEXT_EXIT_CODE_PRINT_H
#define COMMON_TEXT_EXIT_CODE_PRINT_H

#include <stdbool.h>
#include <stdio.h>

/* Prints the rows; with TRAINER set, only those of ringtrain. */
void exit_code_print(FILE *out, bool trainer);

#endif

/* Prints which of the scores in each line of standard input halving_keep keeps: "FACTOR min|max
 * SCORE...". For a comparison with another implementation. */
#include "common/trials/halving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCORES_MAX = 1024, LINE_MAX_SIZE = 65536 };

int main(void) {
    static char line[LINE_MAX_SIZE];
    static double scores[SCORES_MAX];
    static size_t kept[SCORES_MAX];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        char *rest = line;
        const int factor = (int)strtol(rest, &rest, 10);
        rest += strspn(rest, " ");
        const int smallest = strncmp(rest, "min", 3) == 0;
        size_t count = 0;
        rest += 3;
        for (char *end = rest; count < SCORES_MAX; count++, rest = end) {
            scores[count] = strtod(rest, &end);
            if (end == rest)
                break;
        }
        const size_t left = halving_keep(scores, count, factor, smallest, kept);
        for (size_t i = 0; i < left; i++)
            printf("%zu ", kept[i]);
        printf("\n");
    }
    return 0;
}

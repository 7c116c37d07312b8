#include "common/net/search_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MUSL_LINE_MAX = 254, NAME_MAX_BYTES = 253 };

static const char blanks[] = " \t\r";

/* What follows WORD and a blank in LINE, SIZE bytes; NULL: another line. */
static const char *after_word(const char *line, size_t size, const char *word) {
    const size_t length = strlen(word);
    if (size <= length || strncmp(line, word, length) != 0 || strchr(blanks, line[length]) == NULL)
        return NULL;
    return line + length;
}

/* The words of TEXT up to END, each without its final dot. A word of a dot alone is no domain. */
static void read_domains(const char *text, const char *end, struct search_list *ret) {
    size_t used = 0;
    ret->domains[0] = '\0';
    while ((text += strspn(text, blanks)) < end) {
        size_t size = strcspn(text, " \t\r\n");
        const char *word = text;
        text += size;
        if (size > 0 && word[size - 1] == '.')
            size--;
        if (size == 0 || size > NAME_MAX_BYTES || used + size + 2 > sizeof(ret->domains))
            continue;
        used += (size_t)snprintf(ret->domains + used, sizeof(ret->domains) - used, "%s%.*s",
                                 used > 0 ? " " : "", (int)size, word);
    }
}

static void read_options(const char *text, const char *end, struct search_list *ret) {
    static const char dots[] = "ndots:";
    for (const char *at = strstr(text, dots); at != NULL && at < end; at = strstr(at + 1, dots))
        ret->dots = strtol(at + sizeof(dots) - 1, NULL, 10);
}

void search_list_read(const char *text, struct search_list *ret) {
    *ret = (struct search_list){.dots = 1};
    for (const char *line = text; *line != '\0';) {
        const size_t size = strcspn(line, "\n");
        const char *end = line + size;
        const char *list = after_word(line, size, "search");
        const char *options = after_word(line, size, "options");
        if (list == NULL)
            list = after_word(line, size, "domain");
        if (list != NULL) {
            read_domains(list, end, ret);
            ret->is_long = size > MUSL_LINE_MAX;
        }
        if (options != NULL && size <= MUSL_LINE_MAX)
            read_options(options, end, ret);
        line = *end == '\n' ? end + 1 : end;
    }
}

bool search_list_is_left_out(const struct search_list *l, const char *name) {
    long dots = 0;
    const size_t size = strlen(name);
    if (size == 0 || name[size - 1] == '.')
        return false;
    for (const char *at = name; *at != '\0'; at++)
        dots += *at == '.';
    return l->is_long || dots >= l->dots;
}

const char *search_list_next(const char *at, const char *name, char ret[SEARCH_LIST_NAME_SIZE]) {
    ret[0] = '\0';
    while (*at != '\0') {
        const size_t size = strcspn(at, " ");
        const char *domain = at;
        at += size + (at[size] == ' ');
        if (strlen(name) + 1 + size <= NAME_MAX_BYTES) {
            (void)snprintf(ret, SEARCH_LIST_NAME_SIZE, "%s.%.*s.", name, (int)size, domain);
            return at;
        }
    }
    return NULL;
}

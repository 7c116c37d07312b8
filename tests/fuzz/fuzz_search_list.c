/* A resolv.conf and a name: whatever is in it, each name that comes out has room, ends with a dot
 * and begins as the one given, and they come to an end. */
#include "common/net/search_list.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char name[] = "job-0.job";
    struct search_list list;
    char full[SEARCH_LIST_NAME_SIZE];
    char *text = strndup((const char *)data, size);
    CHECK(text != NULL);
    search_list_read(text, &list);
    (void)search_list_is_left_out(&list, name);
    size_t count = 0;
    for (const char *at = list.domains; (at = search_list_next(at, name, full)) != NULL; count++) {
        CHECK(strncmp(full, name, strlen(name)) == 0 && full[strlen(name)] == '.');
        CHECK(strlen(full) < sizeof(full) && full[strlen(full) - 1] == '.');
        CHECK(strpbrk(full, " \t\n") == NULL);
    }
    CHECK(count < SEARCH_LIST_SIZE && full[0] == '\0');
    free(text);
    return 0;
}

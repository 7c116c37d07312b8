/* The list of a folder's files that another host sends: what is taken is printed as the same list
 * again, or the line that cannot be is named. */
#include "entrypoint/transfer/fetch/first_folder.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct objects *taken) {
    struct scan files = {.count = taken->count,
                         .items = calloc(taken->count + 1, sizeof(*files.items))};
    struct objects again = {0};
    cleanup_buf struct buf text = {.max = FIRST_FOLDER_LIST_MAX};
    CHECK(files.items != NULL);
    for (size_t i = 0; i < taken->count; i++)
        files.items[i] =
            (struct scan_file){.path = taken->items[i].key,
                               .stamp = {.size = taken->items[i].size,
                                         .modified = {.tv_sec = (time_t)taken->items[i].modified}}};
    CHECK(first_folder_print(&files, &text, NULL) == 0);
    CHECK(first_folder_parse(buf_text(&text), text.size, &again, NULL) == 0);
    CHECK(again.count == taken->count);
    for (size_t i = 0; i < taken->count; i++)
        CHECK(strcmp(again.items[i].key, taken->items[i].key) == 0 &&
              strcmp(again.items[i].etag, taken->items[i].etag) == 0);
    objects_done(&again);
    free(files.items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct objects taken = {0};
    struct error err = {0};
    if (first_folder_parse((const char *)data, size, &taken, &err) == 0)
        check_again(&taken);
    else
        CHECK(strstr(err.text, "line ") != NULL);
    objects_done(&taken);
    return 0;
}

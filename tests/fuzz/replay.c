/* Runs a fuzz target over the files of a folder, so that every compiler replays its corpus. */
#include "common/buf.h"
#include "common/file/file.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 4 * 1024 * 1024 };

static int replay(const char *folder, const char *name) {
    char path[4096];
    cleanup_buf struct buf input;
    struct error err = {0};
    buf_init(&input, INPUT_MAX);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (file_read(path, &input, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    return LLVMFuzzerTestOneInput((const uint8_t *)buf_text(&input), input.size);
}

int main(int argc, char **argv) {
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    int inputs = 0;
    if (folder == NULL) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 64;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.')
            continue;
        if (replay(argv[1], entry->d_name) != 0)
            return 1;
        inputs++;
    }
    closedir(folder);
    printf("%d inputs\n", inputs);
    return inputs > 0 ? 0 : 1;
}

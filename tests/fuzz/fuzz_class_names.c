/* Files with the names of classes beside shards: the first byte chooses which of them, the rest is
 * its text. Whatever it is, each class has a name, or the error is one of the data. */
#include "tests/fuzz/check.h"
#include "trainer/data/format/class_names.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const NAMES[] = {"classes.txt", "labels.txt", "synset.txt"};
static char folder[] = "/dev/shm/fuzz_class_names.XXXXXX";

static void remove_folder(void) {
    (void)rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool made;
    char path[sizeof(folder) + 32];
    cleanup_class_names struct class_names names = {0};
    struct error err = {0};
    if (size == 0)
        return 0;
    if (!made)
        CHECK(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
    made = true;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, NAMES[data[0] % 3]);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    close(fd);
    if (class_names_read(&names, folder, &err) != 0)
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    CHECK(unlink(path) == 0 && names.count <= CLASS_NAMES_MAX);
    for (size_t i = 0; i < names.count; i++)
        CHECK(names.names[i] != NULL && names.names[i][0] != '\0');
    return 0;
}

/* Event files that another program left in a folder: whatever the bytes are, looking for an
 * evaluation's scalar ends with an answer, and a start of the run at that step takes it back. */
#include "tests/fuzz/check.h"
#include "trainer/telemetry/tfevents.h"
#include "trainer/telemetry/tfevents_read.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEP = 5 };

static char folder[] = "/dev/shm/fuzz_tfevents.XXXXXX";
static char path[sizeof(folder) + 64], next[sizeof(folder) + 64];

static void remove_all(void) {
    (void)unlink(path);
    (void)unlink(next);
    (void)rmdir(folder);
}

static void open_folder(void) {
    if (path[0] != '\0')
        return;
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "%s/events.out.tfevents.0000000001.a", folder);
    (void)snprintf(next, sizeof(next), "%s/events.out.tfevents.0000000002.a", folder);
    CHECK(atexit(remove_all) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tfevents events = TFEVENTS_CLOSED;
    struct error err = {0};
    bool any = false, held = true;
    open_folder();
    (void)unlink(next);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    CHECK(tfevents_holds(folder, STEP, "", &any, &err) == 0);
    CHECK(tfevents_holds(folder, STEP, "eval/", &held, &err) == 0);
    CHECK(any || !held);
    CHECK(tfevents_open(&events, folder, "a", 2000000000, &err) == 0);
    CHECK(tfevents_start(&events, 2000000000, STEP, &err) == 0);
    tfevents_done(&events);
    CHECK(tfevents_holds(folder, STEP, "", &held, &err) == 0 && !held);
    return 0;
}

#include "entrypoint/wire/control_socket.h"

#include "common/file/file.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct loop loop;
static int arrivals;

static void arrived(void *context, struct link *link, const struct net_address *peer,
                    const json_t *message) {
    (void)context;
    (void)peer;
    CU_ASSERT_STRING_EQUAL(frame_type(message), "hello");
    arrivals++;
    link_free(link);
    loop_end(&loop);
}

static const struct listener_events events = {.arrived = arrived};

static void the_folder_is_private_and_goes_with_all_its_files(void) {
    struct control_socket l;
    struct error err;
    struct stat status;
    char path[CONTROL_SOCKET_FILE_SIZE];
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(control_socket_open(&l, &loop, unit_temp_dir(), &events, NULL, &err), 0);
    CU_ASSERT_EQUAL(stat(l.folder, &status), 0);
    CU_ASSERT_EQUAL(status.st_mode & 0777, 0700);
    control_socket_file(&l, "hostfile", path);
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0600, &err), 0);
    control_socket_file(&l, "session", path);
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    control_socket_file(&l, "session/file", path);
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0600, &err), 0);
    char folder[CONTROL_SOCKET_PATH_SIZE];
    memcpy(folder, l.folder, sizeof(folder));
    control_socket_close(&l);
    control_socket_close(&l);
    CU_ASSERT_NOT_EQUAL(access(folder, F_OK), 0);
    loop_done(&loop);
}

/* A client calls L, and is heard. */
static void knock(struct control_socket *l) {
    struct error err;
    struct buf bytes;
    int before = arrivals;
    buf_init(&bytes, 4096);
    int fd = control_socket_connect(l->socket, &err);
    CU_ASSERT(fd >= 0);
    json_t *hello = frame_new("hello");
    CU_ASSERT_EQUAL(frame_put(&bytes, hello, &err), 0);
    json_decref(hello);
    CU_ASSERT_EQUAL(file_write_all(fd, bytes.data, bytes.size, &err), 0);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(arrivals, before + 1);
    buf_done(&bytes);
    (void)close(fd);
}

static void what_was_removed_is_made_again(void) {
    struct control_socket l;
    struct error err;
    struct stat status;
    char place[256];
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    (void)snprintf(place, sizeof(place), "%s/place", unit_temp_dir());
    CU_ASSERT_EQUAL(mkdir(place, 0755), 0);
    CU_ASSERT_EQUAL_FATAL(control_socket_open(&l, &loop, place, &events, NULL, &err), 0);
    listener_set_room(&l.listener, 7);
    int lock = l.lock;
    ino_t number = l.number;
    CU_ASSERT_EQUAL(control_socket_renew(&l, &err), 0); /* nothing was */
    CU_ASSERT(l.lock == lock && l.number == number);
    CU_ASSERT_EQUAL(unlink(l.socket), 0);
    CU_ASSERT_EQUAL(control_socket_renew(&l, &err), 0);
    knock(&l);
    CU_ASSERT_EQUAL(file_put(l.socket, "x", 1, 0600, &err), 0); /* something else has its name */
    CU_ASSERT_EQUAL(control_socket_renew(&l, &err), 0);
    knock(&l);
    CU_ASSERT_EQUAL(unlink(l.socket) + rmdir(l.folder) + rmdir(place), 0);
    CU_ASSERT_EQUAL(control_socket_renew(&l, &err), 0);
    knock(&l);
    CU_ASSERT_EQUAL(stat(l.folder, &status), 0);
    CU_ASSERT_EQUAL(status.st_mode & 0777, 0700);
    CU_ASSERT_EQUAL(l.listener.room, 7);
    CU_ASSERT_EQUAL(unlink(l.socket) + rmdir(l.folder), 0);
    CU_ASSERT_EQUAL(file_put(l.folder, "x", 1, 0600, &err), 0);
    CU_ASSERT_EQUAL(control_socket_renew(&l, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_RUN");
    CU_ASSERT_EQUAL(unlink(l.folder), 0);
    control_socket_close(&l);
    loop_done(&loop);
}

static void a_client_is_heard(void) {
    struct control_socket l;
    struct error err;
    struct buf bytes;
    buf_init(&bytes, 4096);
    arrivals = 0;
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(control_socket_open(&l, &loop, unit_temp_dir(), &events, NULL, &err), 0);
    int fd = control_socket_connect(l.socket, &err);
    CU_ASSERT(fd >= 0);
    json_t *hello = frame_new("hello");
    CU_ASSERT_EQUAL(frame_put(&bytes, hello, &err), 0);
    json_decref(hello);
    CU_ASSERT_EQUAL(file_write_all(fd, bytes.data, bytes.size, &err), 0);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(arrivals, 1);
    (void)close(fd);
    buf_done(&bytes);
    control_socket_close(&l);
    loop_done(&loop);
}

static void wrong_paths_are_errors_that_name_them(void) {
    struct control_socket l;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL(control_socket_open(&l, &loop, "/no/such/folder", &events, NULL, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_RUN");
    ASSERT_CONTAINS(err.text, "/no/such/folder");
    CU_ASSERT_EQUAL(control_socket_connect(NULL, &err), -1);
    ASSERT_CONTAINS(err.text, CONTROL_SOCKET_VARIABLE);
    CU_ASSERT_EQUAL(control_socket_connect("/no/such/socket", &err), -1);
    ASSERT_CONTAINS(err.text, "/no/such/socket");
    char longest[200];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    CU_ASSERT_EQUAL(control_socket_open(&l, &loop, longest, &events, NULL, &err), -1);
    CU_ASSERT_EQUAL(control_socket_connect(longest, &err), -1);
    loop_done(&loop);
}

UNIT_SUITE("wire.control_socket", UNIT(the_folder_is_private_and_goes_with_all_its_files),
           UNIT(what_was_removed_is_made_again), UNIT(a_client_is_heard),
           UNIT(wrong_paths_are_errors_that_name_them))

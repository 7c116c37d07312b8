#include "entrypoint/host/agent_link.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct listener_events events = {0};

/* Returns true if the link leads to this program. */
static bool leads_here(const struct control_socket *local) {
    char agent[CONTROL_SOCKET_FILE_SIZE];
    char self[PATH_MAX];
    char there[PATH_MAX] = "";
    control_socket_file(local, "agent", agent);
    return file_self(self, sizeof(self), NULL) == 0 &&
           readlink(agent, there, sizeof(there) - 1) > 0 && strcmp(there, self) == 0;
}

static void the_link_is_made_and_made_again(void) {
    static struct loop loop;
    static struct control_socket local;
    char agent[CONTROL_SOCKET_FILE_SIZE];
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(control_socket_open(&local, &loop, unit_temp_dir(), &events, NULL, &err),
                          0);
    CU_ASSERT_EQUAL(agent_link_make(&local, &err), 0);
    CU_ASSERT_TRUE(leads_here(&local));
    CU_ASSERT_EQUAL(agent_link_make(&local, &err), 0); /* it is there */
    control_socket_file(&local, "agent", agent);
    CU_ASSERT_EQUAL(unlink(agent), 0);
    CU_ASSERT_EQUAL(symlink("/elsewhere", agent), 0);
    CU_ASSERT_EQUAL(agent_link_renew(&local, &err), 0);
    CU_ASSERT_TRUE(leads_here(&local));
    control_socket_close(&local);
    loop_done(&loop);
}

UNIT_SUITE("host.agent_link", UNIT(the_link_is_made_and_made_again))

#include "entrypoint/host/agent_link.h"

#include "common/file/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int agent_link_make(const struct control_socket *local, struct error *err) {
    char agent[CONTROL_SOCKET_FILE_SIZE];
    char self[CONTROL_SOCKET_FILE_SIZE];
    char there[CONTROL_SOCKET_FILE_SIZE];
    control_socket_file(local, "agent", agent);
    if (file_self(self, sizeof(self), err) != 0)
        return -1;
    ssize_t size = readlink(agent, there, sizeof(there));
    if (size == (ssize_t)strlen(self) && memcmp(there, self, (size_t)size) == 0)
        return 0;
    (void)unlink(agent);
    if (symlink(self, agent) != 0)
        return error_set_errno(err, file_write_code(errno), "%s", agent);
    return 0;
}

int agent_link_renew(struct control_socket *local, struct error *err) {
    return control_socket_renew(local, err) == 0 ? agent_link_make(local, err) : -1;
}

#include "trainer/comm/tcp/mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void mesh_done(struct mesh *mesh) {
    for (int i = 0; mesh->peers != NULL && i < mesh->size; i++)
        if (mesh->peers[i].fd >= 0 && !mesh->borrows)
            (void)close(mesh->peers[i].fd);
    free(mesh->peers);
    *mesh = (struct mesh){0};
}

int mesh_part(struct mesh *mesh, const struct mesh *whole, const int32_t *groups,
              struct error *err) {
    *mesh = (struct mesh){.borrows = true};
    mesh->peers = calloc((size_t)whole->size, sizeof(*mesh->peers));
    if (mesh->peers == NULL)
        return error_no_memory(err, "connections to a group of ranks");
    for (int i = 0; i < whole->size; i++) {
        if (groups[i] != groups[whole->rank])
            continue;
        if (i == whole->rank)
            mesh->rank = mesh->size;
        mesh->peers[mesh->size++] = whole->peers[i];
    }
    return 0;
}

int mesh_neighbours_before(const struct mesh *mesh, int rank) {
    int count = 0;
    for (int i = 0; i < rank; i++)
        count += net_address_equal(&mesh->peers[i].address, &mesh->peers[mesh->rank].address);
    return count;
}

const char *mesh_peer_text(const struct mesh *mesh, int rank) {
    static _Thread_local char text[NET_ADDRESS_TEXT + 32];
    char address[NET_ADDRESS_TEXT];
    net_address_text(&mesh->peers[rank].address, address);
    (void)snprintf(text, sizeof(text), "rank %d at %s", rank, address);
    return text;
}

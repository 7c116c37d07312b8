#include "trainer/app/weights/spread.h"

int spread_store(struct store *store, struct comm *comm, bool momentum, struct error *err) {
    static const enum store_arena arenas[] = {STORE_PARAMETERS, STORE_STATE, STORE_CONSTANTS,
                                              STORE_MOMENTUM};
    const size_t count = sizeof(arenas) / sizeof(arenas[0]) - !momentum;
    if (comm_size(comm) == 1)
        return 0;
    for (size_t i = 0; i < count; i++) {
        void *values = NULL;
        if (store_pull(store, arenas[i], &values, err) != 0 ||
            comm_broadcast(comm, values, store->count[arenas[i]] * sizeof(float), 0, err) != 0 ||
            store_push(store, arenas[i], err) != 0)
            return error_wrap(err, "spreading parameters");
    }
    return 0;
}

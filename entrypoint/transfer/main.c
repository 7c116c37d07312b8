/* ringmaster-transfer as a program of its own. */
#include "entrypoint/transfer/transfer.h"

int main(int argc, char **argv) {
    return transfer_main(argc, argv);
}

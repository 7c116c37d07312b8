#include "trainer/app/command/command.h"
#include "trainer/app/device/device.h"
#include "trainer/app/serve/http/http_server.h"
#include "trainer/data/draw/fonts.h"
#ifdef RINGMASTER_HAVE_MPI
#include "trainer/comm/mpi/comm_mpi.h"
#endif

int command_version(int argc, char *const *argv, struct error *err) {
    if (argc > 0)
        return error_set(err, EXIT_CODE_USAGE, "ringtrain version takes no argument, got '%.64s'",
                         argv[0]);
    printf("ringtrain %s\n", RINGMASTER_VERSION);
    device_print(stdout);
#ifdef RINGMASTER_HAVE_MPI
    printf("ranks over MPI: %s\n", comm_mpi_library());
#else
    printf("ranks over MPI: not in this build\n");
#endif
    const char *fonts = fonts_library();
    printf("labels in pictures: %s\n",
           fonts != NULL ? fonts : "ASCII only, no FreeType in this build");
    const char *server = http_server_library();
    printf("serving: %s\n", server != NULL ? server : "not in this build");
    return 0;
}

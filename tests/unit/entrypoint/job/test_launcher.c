#include "entrypoint/job/launcher.h"
#include "tests/support/unit.h"

static struct launcher_facts facts;
static struct launcher chosen;
static struct error err;

static int choose(enum settings_launcher setting, bool mpirun) {
    facts.setting = setting;
    facts.mpirun = mpirun;
    chosen = (struct launcher){0};
    err = (struct error){0};
    return launcher_choose(&facts, &chosen, &err);
}

static void begin(void) {
    facts = (struct launcher_facts){.ranks = 4, .program = "/bin/p", .library = ""};
}

static void expect(enum settings_launcher setting, bool mpirun, enum launcher_kind kind,
                   const char *why) {
    CU_ASSERT_EQUAL(choose(setting, mpirun), 0);
    CU_ASSERT_EQUAL(chosen.kind, kind);
    ASSERT_CONTAINS(chosen.why, why);
}

static void expect_error(enum settings_launcher setting, bool mpirun, int code, const char *why) {
    CU_ASSERT_EQUAL(choose(setting, mpirun), -1);
    CU_ASSERT_EQUAL((int)err.code, code);
    ASSERT_CONTAINS(err.text, why);
}

static void any_program_is_started_by_an_mpirun_that_is_there(void) {
    begin();
    expect(SETTINGS_LAUNCHER_AUTO, true, LAUNCHER_MPIRUN, "it is in PATH");
    expect(SETTINGS_LAUNCHER_AUTO, false, LAUNCHER_DIRECT, "no mpirun is in PATH");
}

static void a_setting_decides(void) {
    begin();
    expect(SETTINGS_LAUNCHER_DIRECT, true, LAUNCHER_DIRECT, "RINGMASTER_LAUNCHER is direct");
    expect(SETTINGS_LAUNCHER_DIRECT, false, LAUNCHER_DIRECT, "RINGMASTER_LAUNCHER is direct");
    expect(SETTINGS_LAUNCHER_MPIRUN, true, LAUNCHER_MPIRUN, "RINGMASTER_LAUNCHER is mpirun");
    expect_error(SETTINGS_LAUNCHER_MPIRUN, false, EXIT_CODE_NOT_FOUND, "not in PATH");
}

/* Whatever makes ranks need each other's MPI. */
static void expect_need(const char *why) {
    expect(SETTINGS_LAUNCHER_AUTO, true, LAUNCHER_MPIRUN, why);
    expect_error(SETTINGS_LAUNCHER_AUTO, false, EXIT_CODE_NOT_FOUND, why);
    expect_error(SETTINGS_LAUNCHER_DIRECT, true, EXIT_CODE_CONFIG, why);
    expect_error(SETTINGS_LAUNCHER_DIRECT, false, EXIT_CODE_CONFIG, "RINGMASTER_LAUNCHER");
    facts.ranks = 1;
    expect(SETTINGS_LAUNCHER_DIRECT, false, LAUNCHER_DIRECT, "a single rank");
    expect(SETTINGS_LAUNCHER_MPIRUN, false, LAUNCHER_DIRECT, "a single rank");
}

static void a_program_of_mpi_never_becomes_several_jobs(void) {
    begin();
    facts.library = "libmpi.so.40";
    expect_need("/bin/p is linked against MPI (libmpi.so.40)");
    begin();
    facts.options = true;
    expect_need("options for mpirun");
}

static void the_trainer_takes_either_launcher(void) {
    begin();
    facts.over_tcp = true;
    facts.library = "libmpi.so.40";
    expect(SETTINGS_LAUNCHER_AUTO, true, LAUNCHER_MPIRUN, "it is in PATH");
    expect(SETTINGS_LAUNCHER_AUTO, false, LAUNCHER_DIRECT, "no mpirun is in PATH");
    expect(SETTINGS_LAUNCHER_DIRECT, true, LAUNCHER_DIRECT, "RINGMASTER_LAUNCHER is direct");
    facts.options = true;
    expect_need("options for mpirun");
}

/* Open MPI's mpirun would make each rank a job of its own. */
static void ranks_of_mpich_find_each_other_without_mpirun(void) {
    begin();
    facts.library = "libmpich.so.12";
    expect(SETTINGS_LAUNCHER_AUTO, true, LAUNCHER_DIRECT, "libmpich.so.12, which needs no mpirun");
    expect(SETTINGS_LAUNCHER_AUTO, false, LAUNCHER_DIRECT, "/bin/p is linked against");
    expect(SETTINGS_LAUNCHER_DIRECT, true, LAUNCHER_DIRECT, "RINGMASTER_LAUNCHER is direct");
    expect(SETTINGS_LAUNCHER_MPIRUN, true, LAUNCHER_MPIRUN, "RINGMASTER_LAUNCHER is mpirun");
    CU_ASSERT(launcher_is_pmi_library("libmpi.so.12") &&
              launcher_is_pmi_library("libmpichfort.so.12"));
    CU_ASSERT_FALSE(launcher_is_pmi_library("libmpi.so.40"));
    CU_ASSERT_FALSE(launcher_is_pmi_library("libssl.so.12"));
}

/* Mpirun ends all ranks with the first, and so does MPI. */
static void ranks_that_may_be_lost_are_started_directly(void) {
    begin();
    facts.lost_ranks = 3;
    expect(SETTINGS_LAUNCHER_AUTO, true, LAUNCHER_DIRECT, "RINGMASTER_LOST_RANKS is 3");
    expect(SETTINGS_LAUNCHER_DIRECT, true, LAUNCHER_DIRECT, "RINGMASTER_LOST_RANKS is 3");
    expect_error(SETTINGS_LAUNCHER_MPIRUN, true, EXIT_CODE_CONFIG,
                 "RINGMASTER_LOST_RANKS is 3, but RINGMASTER_LAUNCHER is mpirun, and mpirun ends");
    facts.lost_ranks = 4;
    expect_error(SETTINGS_LAUNCHER_AUTO, true, EXIT_CODE_CONFIG,
                 "RINGMASTER_LOST_RANKS is 4, and the job has 4 ranks");
    facts.ranks = 1;
    expect(SETTINGS_LAUNCHER_AUTO, true, LAUNCHER_DIRECT, "a single rank");
    begin();
    facts.lost_ranks = 1;
    facts.library = "libmpi.so.40";
    expect_error(SETTINGS_LAUNCHER_AUTO, true, EXIT_CODE_CONFIG, "linked against MPI");
    expect_error(SETTINGS_LAUNCHER_DIRECT, true, EXIT_CODE_CONFIG, "mpirun ends all ranks");
    facts.over_tcp = true;
    expect(SETTINGS_LAUNCHER_AUTO, true, LAUNCHER_DIRECT, "RINGMASTER_LOST_RANKS is 1");
    begin();
    facts.lost_ranks = 1;
    facts.library = "libmpich.so.12";
    expect_error(SETTINGS_LAUNCHER_AUTO, true, EXIT_CODE_CONFIG, "do not survive each other");
}

static void libraries_of_mpi_are_known(void) {
    static const char *const mpi[] = {
        "libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_cxx.so.40",   "libmpich.so.12",
        "libmpi.so.12", "libmpifort.so.12",   "libmpichfort.so.12", "libmpi_usempif08.so.40"};
    static const char *const others[] = {"libmpc.so.3", "libmpg123.so.0", "libc.so.6", "libm.so.6",
                                         "libmpdec.so.3"};
    for (size_t i = 0; i < sizeof(mpi) / sizeof(mpi[0]); i++)
        CU_ASSERT(launcher_is_mpi_library(mpi[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CU_ASSERT_FALSE(launcher_is_mpi_library(others[i]));
}

UNIT_SUITE("job.launcher", UNIT(any_program_is_started_by_an_mpirun_that_is_there),
           UNIT(a_setting_decides), UNIT(a_program_of_mpi_never_becomes_several_jobs),
           UNIT(the_trainer_takes_either_launcher),
           UNIT(ranks_of_mpich_find_each_other_without_mpirun), UNIT(libraries_of_mpi_are_known),
           UNIT(ranks_that_may_be_lost_are_started_directly))

# The launcher's rooms, bottom up. os and job do not use each other, and there are no cycles.
room(entrypoint/os USES common/*)
room(entrypoint/wire USES common/* entrypoint/os LINKS OpenSSL::SSL OpenSSL::Crypto)
if(RINGMASTER_ONE_FILE)
    # musl's macro for the next control message compares signed and unsigned lengths.
    set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/wire/passed_fds.c PROPERTIES
        COMPILE_OPTIONS -Wno-sign-compare)
endif()

# A program of its own beside ringmaster fetches and uploads, so that no other process of a job
# loads libcurl. It does not depend on the job's rooms; of the launcher's other rooms it only uses
# the one that makes TLS from the job's key.
if(RINGMASTER_HAVE_SOURCES)
    # Bottom up: requests with retries, and local files; S3's rules; other hosts; and on top of
    # these, beside each other, fetching and uploading.
    room(entrypoint/transfer/http USES common/* entrypoint/wire LINKS PkgConfig::curl)
    room(entrypoint/transfer/disk USES common/* LINKS OpenSSL::Crypto PkgConfig::archive)
    room(entrypoint/transfer/s3 USES common/* entrypoint/transfer/http entrypoint/transfer/disk
        LINKS OpenSSL::Crypto PkgConfig::curl PkgConfig::expat)
    room(entrypoint/transfer/peers USES common/* entrypoint/wire entrypoint/transfer/http
        entrypoint/transfer/disk
        LINKS OpenSSL::SSL OpenSSL::Crypto Threads::Threads PkgConfig::curl)
    room(entrypoint/transfer/fetch USES common/* entrypoint/transfer/http entrypoint/transfer/disk
        entrypoint/transfer/s3 entrypoint/transfer/peers LINKS PkgConfig::curl)
    room(entrypoint/transfer/upload USES common/* entrypoint/transfer/http entrypoint/transfer/disk
        entrypoint/transfer/s3 LINKS OpenSSL::Crypto PkgConfig::curl)
    room(entrypoint/transfer USES common/* entrypoint/transfer/disk entrypoint/transfer/s3
        entrypoint/transfer/peers entrypoint/transfer/fetch entrypoint/transfer/upload LINKS
        PkgConfig::curl
        EXCLUDE main.c)
    target_link_libraries(entrypoint_transfer PRIVATE PkgConfig::archive PkgConfig::expat)
    if(NOT RINGMASTER_ONE_FILE)
        add_executable(ringmaster-transfer ${CMAKE_CURRENT_LIST_DIR}/transfer/main.c)
        target_link_libraries(ringmaster-transfer PRIVATE entrypoint_transfer ringmaster_flags)
        install(TARGETS ringmaster-transfer)
    endif()
endif()

# The job's settings, bottom up: this machine's resources; the hosts, as platforms name them;
# SageMaker's settings; and the job.
room(entrypoint/job/machine USES common/*)
room(entrypoint/job/cluster USES common/* entrypoint/job/machine)
room(entrypoint/job/sagemaker USES common/* entrypoint/job/cluster)
room(entrypoint/job USES common/* entrypoint/job/machine entrypoint/job/cluster
    entrypoint/job/sagemaker LINKS OpenSSL::Crypto)
room(entrypoint/outcome USES common/* entrypoint/job/cluster entrypoint/job/sagemaker
    entrypoint/job
    LINKS PkgConfig::pcre2)
room(entrypoint/mpi USES common/* entrypoint/os entrypoint/wire entrypoint/job/machine
    entrypoint/job/cluster entrypoint/job)
room(entrypoint/direct USES common/* entrypoint/os entrypoint/job/cluster entrypoint/job
    entrypoint/mpi)
# The driver's data about GPUs, which only child processes query.
room(entrypoint/gpu USES common/* entrypoint/os entrypoint/job LINKS ${CMAKE_DL_LIBS})
# Diagnostics of ranks that hang or fail.
room(entrypoint/evidence USES common/* entrypoint/os entrypoint/gpu entrypoint/job/machine
    entrypoint/job/cluster entrypoint/job)
# One container, bottom up: what programs do; a host's logs and events; its services; its checks
# before the start; its ranks; what it fetches and uploads; its state that outlives the master; its
# supervisor; and a worker.
room(entrypoint/host/monitor USES common/* entrypoint/os)
room(entrypoint/host/observe USES common/* entrypoint/os entrypoint/job entrypoint/outcome)
room(entrypoint/host/services)
room(entrypoint/host/preflight USES common/* entrypoint/os entrypoint/wire entrypoint/gpu
    entrypoint/job/machine entrypoint/job/cluster entrypoint/job entrypoint/outcome entrypoint/mpi
    entrypoint/host/services)
room(entrypoint/host/ranks USES common/* entrypoint/os entrypoint/wire entrypoint/job/machine
    entrypoint/job/cluster entrypoint/job entrypoint/outcome entrypoint/mpi entrypoint/direct
    entrypoint/evidence entrypoint/host/services
    entrypoint/host/monitor entrypoint/host/observe)
room(entrypoint/host/provision USES common/* entrypoint/os entrypoint/wire entrypoint/job
    entrypoint/host/services entrypoint/host/ranks)
room(entrypoint/host/failover USES common/* entrypoint/os entrypoint/wire entrypoint/job
    entrypoint/outcome entrypoint/host/services)
room(entrypoint/host
    USES common/* entrypoint/os entrypoint/wire entrypoint/gpu entrypoint/job/machine
    entrypoint/job/cluster
    entrypoint/job entrypoint/outcome entrypoint/mpi entrypoint/direct entrypoint/evidence
    entrypoint/host/services entrypoint/host/observe entrypoint/host/preflight entrypoint/host/ranks
    entrypoint/host/provision entrypoint/host/failover)
room(entrypoint/host/worker USES common/* entrypoint/os entrypoint/wire entrypoint/host/preflight
    entrypoint/host/failover entrypoint/host)
# The master, bottom up: its data and its table of states; `ringmaster check`; the hosts that take
# part; how a job survives the loss of its master; and the rest on top.
room(entrypoint/master/state USES common/* entrypoint/os entrypoint/wire entrypoint/job/cluster
    entrypoint/job entrypoint/outcome entrypoint/mpi entrypoint/host/observe
    entrypoint/host/preflight entrypoint/host)
room(entrypoint/master/preflight USES common/* entrypoint/os entrypoint/wire entrypoint/gpu
    entrypoint/outcome entrypoint/mpi entrypoint/host/preflight entrypoint/master/state)
room(entrypoint/master/members USES common/* entrypoint/wire entrypoint/job/cluster
    entrypoint/outcome entrypoint/host entrypoint/host/worker entrypoint/master/state)
room(entrypoint/master/failover USES common/* entrypoint/wire entrypoint/outcome
    entrypoint/master/state entrypoint/master/members)
room(entrypoint/master USES common/* entrypoint/os entrypoint/wire entrypoint/job/cluster
    entrypoint/job entrypoint/outcome entrypoint/mpi entrypoint/host/observe
    entrypoint/host/preflight entrypoint/host entrypoint/host/worker entrypoint/master/state
    entrypoint/master/preflight entrypoint/master/members entrypoint/master/failover)
# Trials and scaling reports of any program, in ranks that the launcher has started.
room(entrypoint/study USES common/* LINKS m)
room(entrypoint/command
    USES common/* entrypoint/os entrypoint/wire entrypoint/job/machine entrypoint/job
    entrypoint/outcome entrypoint/mpi entrypoint/evidence entrypoint/host/observe
    entrypoint/host/preflight entrypoint/host/ranks entrypoint/host/provision entrypoint/host
    entrypoint/master entrypoint/study)
room(entrypoint USES entrypoint/command EXCLUDE main.c)

if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/main.c)
    add_executable(ringmaster ${CMAKE_CURRENT_LIST_DIR}/main.c)
    target_link_libraries(ringmaster PRIVATE entrypoint ringmaster_flags)
    if(RINGMASTER_ONE_FILE)
        target_link_libraries(ringmaster PRIVATE entrypoint_transfer)
    endif()
    # Containers start it as `train`.
    add_custom_command(TARGET ringmaster POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink ringmaster train
        WORKING_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    install(TARGETS ringmaster)
    install(CODE
        "file(CREATE_LINK ringmaster \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/train SYMBOLIC)")
endif()

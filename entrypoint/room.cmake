# The launcher's rooms, from the ground up; os and job do not know each other. Arrows go one way.
room(os entrypoint/os USES common)
room(wire entrypoint/wire USES common os LINKS OpenSSL::SSL OpenSSL::Crypto)

# What fetches and sends is a program of its own, beside ringmaster: so that no other process of a
# job loads libcurl. It knows no job, and of other rooms only how the job's key makes TLS.
if(RINGMASTER_HAVE_SOURCES)
    # From the ground up: requests that are tried again, files of this machine; S3's rules; other hosts; and
    # on these, side by side, what comes and what goes.
    room(http entrypoint/transfer/http USES common wire LINKS PkgConfig::curl)
    room(disk entrypoint/transfer/disk USES common LINKS OpenSSL::Crypto PkgConfig::archive)
    room(s3 entrypoint/transfer/s3 USES common http disk LINKS OpenSSL::Crypto PkgConfig::curl PkgConfig::expat)
    room(peers entrypoint/transfer/peers USES common wire http disk
        LINKS OpenSSL::SSL OpenSSL::Crypto Threads::Threads PkgConfig::curl)
    room(fetch entrypoint/transfer/fetch USES common http disk s3 peers LINKS PkgConfig::curl)
    room(upload entrypoint/transfer/upload USES common http disk s3 LINKS OpenSSL::Crypto PkgConfig::curl)
    room(transfer entrypoint/transfer USES common disk s3 peers fetch upload LINKS PkgConfig::curl
        EXCLUDE main.c)
    add_executable(ringmaster-transfer ${CMAKE_CURRENT_LIST_DIR}/transfer/main.c)
    target_link_libraries(ringmaster-transfer PRIVATE transfer PkgConfig::curl PkgConfig::archive PkgConfig::expat
        ringmaster_flags)
    install(TARGETS ringmaster-transfer)
endif()

# What was asked, from the ground up: what this machine has; its hosts, as platforms name them; what SageMaker
# hands over; and the job.
room(machine entrypoint/job/machine USES common)
room(cluster entrypoint/job/cluster USES common machine)
room(sagemaker entrypoint/job/sagemaker USES common cluster)
room(job entrypoint/job USES common machine cluster sagemaker LINKS OpenSSL::Crypto)
room(outcome entrypoint/outcome USES common cluster sagemaker job)
room(mpi entrypoint/mpi USES common os wire machine cluster job)
# One container, from the ground up: what programs do; what a host leaves for people and machines, what it
# is, what it fetches and sends, its ranks; and on top its supervisor.
room(watch entrypoint/host/watch USES common os)
room(traces entrypoint/host/traces USES common os job outcome)
room(facts entrypoint/host/facts USES common os wire machine cluster job outcome mpi)
room(ranks entrypoint/host/ranks USES common os wire machine job outcome mpi watch traces)
room(supply entrypoint/host/supply USES common os wire job ranks)
room(host entrypoint/host
    USES common os wire machine cluster job outcome mpi traces facts ranks supply)
room(master entrypoint/master USES common os wire cluster job outcome mpi traces facts host)
room(entrypoint entrypoint
    USES common os wire machine job outcome mpi traces facts ranks supply host master EXCLUDE main.c)

if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/main.c)
    add_executable(ringmaster ${CMAKE_CURRENT_LIST_DIR}/main.c)
    target_link_libraries(ringmaster PRIVATE entrypoint ringmaster_flags)
    # A container starts it as `train`.
    add_custom_command(TARGET ringmaster POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink ringmaster train
        WORKING_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    install(TARGETS ringmaster)
    install(CODE "file(CREATE_LINK ringmaster \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/train SYMBOLIC)")
endif()

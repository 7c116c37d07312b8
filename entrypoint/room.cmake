room(entrypoint entrypoint USES common LINKS OpenSSL::SSL OpenSSL::Crypto EXCLUDE main.c)

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

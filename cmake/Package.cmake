# Installs files beside the programs, and makes a Debian package of the launcher: run `cpack` in the
# build folder. The trainer is not in it, as it needs a oneDNN that Debian 12 does not package. The
# programs print man pages and completion from their own tables.
include(GNUInstallDirs)

if(TARGET ringmaster)
    set(papers ${CMAKE_BINARY_DIR}/share)
    file(MAKE_DIRECTORY ${papers})
    add_custom_command(TARGET ringmaster POST_BUILD
        COMMAND $<TARGET_FILE:ringmaster> man > ${papers}/ringmaster.1
        COMMAND $<TARGET_FILE:ringmaster> man environment > ${papers}/ringmaster-environment.7
        COMMAND $<TARGET_FILE:ringmaster> man exit-codes > ${papers}/ringmaster-exit-codes.7
        COMMAND $<TARGET_FILE:ringmaster> completion > ${papers}/ringmaster.bash
        VERBATIM)
    install(FILES ${papers}/ringmaster.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${papers}/ringmaster-environment.7 ${papers}/ringmaster-exit-codes.7
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
    install(FILES ${papers}/ringmaster.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ringmaster)
endif()
if(TARGET ringtrain)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share)
    add_custom_command(TARGET ringtrain POST_BUILD
        COMMAND $<TARGET_FILE:ringtrain> man > ${CMAKE_BINARY_DIR}/share/ringtrain.1
        VERBATIM)
    install(FILES ${CMAKE_BINARY_DIR}/share/ringtrain.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        COMPONENT trainer)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ringmaster)
set(CPACK_PACKAGE_VENDOR Ringmaster)
set(CPACK_PACKAGE_CONTACT Ringmaster)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "turns a set of identical containers into one MPI job")
set(CPACK_PACKAGE_DESCRIPTION
    "ringmaster is the first process of every container: it finds the others, starts one mpirun, watches and ends it. The program that it starts follows `train --`.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};ringmaster;Unspecified;/")
# The distribution's own tool, if installed, finds the libraries that the program is linked with.
find_program(SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(SHLIBDEPS)
if(SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, ca-certificates")
include(CPack)

# Rooms: a room is a folder of sources with one target, named after the folder
# (trainer/data/dataset is trainer_data_dataset). Headers are included by their path in the tree.
# Each room has an include folder of its own with links to its headers, and a target sees only the
# include folders of the rooms that it uses: an include of any other header does not compile.

set(ROOM_INCLUDES ${CMAKE_BINARY_DIR}/rooms)

# Rooms with loops that limit the speed of training or of reading its data. All others run once or
# mostly wait: -O1 compiles them in three quarters of the time.
set(ROOM_HOT
    "^(common/(binary|file|json|net|text)|trainer/(backend|comm|data|eval|math|optim|shard))(/|$)")

# room(DIR [USES dir...] [LINKS library...] [EXCLUDE file...])
#   DIR      its folder; every .c in it (not below it) is compiled, except EXCLUDE
#   USES     folders of the rooms whose headers this one may include; they must be declared before,
#            so that there are no circles. FOLDER/* is FOLDER and all rooms below it
#   LINKS    third-party libraries, private to this room
function(room DIR)
    cmake_parse_arguments(R "" "" "USES;LINKS;EXCLUDE" ${ARGN})
    string(REPLACE "/" "_" name ${DIR})
    set(used)
    get_property(declared GLOBAL PROPERTY ringmaster_rooms)
    foreach(dir IN LISTS R_USES)
        set(dirs ${dir})
        if(dir MATCHES "^(.+)/[*]$")
            set(dirs ${declared})
            list(FILTER dirs INCLUDE REGEX "^${CMAKE_MATCH_1}(/|$)")
        endif()
        foreach(room IN LISTS dirs)
            string(REPLACE "/" "_" target ${room})
            if(NOT TARGET ${target})
                message(FATAL_ERROR "room ${DIR} uses ${room}, which is not declared before it")
            endif()
            list(APPEND used ${target})
        endforeach()
    endforeach()
    set_property(GLOBAL APPEND PROPERTY ringmaster_rooms ${DIR})
    set(folder ${CMAKE_SOURCE_DIR}/${DIR})
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
    foreach(file IN LISTS R_EXCLUDE)
        list(REMOVE_ITEM sources ${folder}/${file})
    endforeach()

    set(includes ${ROOM_INCLUDES}/${name})
    file(REMOVE_RECURSE ${includes})
    file(MAKE_DIRECTORY ${includes}/${DIR})
    file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${folder}
        ${folder}/*.h ${folder}/*.cuh ${folder}/*.def)
    foreach(header IN LISTS headers)
        file(CREATE_LINK ${folder}/${header} ${includes}/${DIR}/${header} SYMBOLIC)
    endforeach()

    if(sources)
        add_library(${name} STATIC ${sources})
        room_includes(${name} PUBLIC ${includes})
        target_link_libraries(${name} PUBLIC ${used} PRIVATE ringmaster_flags ${R_LINKS})
        unity(${name} ${sources})
        if(NOT DIR MATCHES "${ROOM_HOT}")
            target_compile_options(${name} PRIVATE
                $<$<AND:$<COMPILE_LANGUAGE:C>,$<CONFIG:RelWithDebInfo,Release>>:-O1>)
        endif()
    else()
        add_library(${name} INTERFACE)
        room_includes(${name} INTERFACE ${includes})
        target_link_libraries(${name} INTERFACE ${used})
    endif()
endfunction()

# C sources get -iquote: with -I the up to forty folders are searched for system headers, too, which
# takes a tenth of a C source's compile time.
function(room_includes TARGET SCOPE FOLDER)
    target_compile_options(${TARGET} ${SCOPE} $<$<COMPILE_LANGUAGE:C>:-iquote${FOLDER}>)
    target_include_directories(${TARGET} ${SCOPE} $<$<NOT:$<COMPILE_LANGUAGE:C>>:${FOLDER}>)
endfunction()

# Headers of tests/ are included by their path in the tree, too.
set(TEST_INCLUDES ${ROOM_INCLUDES}/tests)
file(MAKE_DIRECTORY ${TEST_INCLUDES})
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/tests ${TEST_INCLUDES}/tests SYMBOLIC)

# Most tests of the launcher wait for real time, and many run at once (tests/run.sh). A test that
# computes and times nothing runs at a lower priority (computing, before its command) and takes one
# of the slots in cores.json, which tests/run.sh passes to ctest: two for each core, as these tests
# also wait for disks and for ranks to start. The longest start first.
set(computing nice -n 5)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR places "2 * ${cores}")
file(WRITE ${CMAKE_BINARY_DIR}/cores.json "{\"version\": {\"major\": 1, \"minor\": 0},
 \"local\": [{\"cores\": [{\"id\": \"all\", \"slots\": ${places}}]}]}
")
function(computes test)
    set_property(TEST ${test} PROPERTY RESOURCE_GROUPS "cores:1")
    set_property(TEST ${test} PROPERTY COST 300)
endfunction()

# room_tests(DIR [FROM folder] [NAME name] [USES target...] [ALONE stem...] [WAITS])
#   DIR      the room that the tests are about; they may include its headers, those of the rooms
#            that it uses, and tests/support
#   FROM     the folder of their sources below tests/, test_*.c; default: unit/DIR
#   NAME     the program, and the first part of each test's name; default: unit_<DIR without
#            entrypoint/ or trainer/>
#   ALONE    stems of sources that are programs of their own, because they are linked differently or
#            have their own main; all others are suites of one program, and a test each
#   WAITS    the tests mostly wait; without it they compute
# The first word of NAME is the label.
function(room_tests DIR)
    cmake_parse_arguments(R "WAITS" "FROM;NAME" "USES;ALONE" ${ARGN})
    string(REPLACE "/" "_" room ${DIR})
    if(NOT R_FROM)
        set(R_FROM unit/${DIR})
    endif()
    if(NOT R_NAME)
        string(REGEX REPLACE "^(entrypoint|trainer)/" "" short ${DIR})
        string(REPLACE "/" "_" R_NAME unit_${short})
    endif()
    string(REGEX REPLACE "_.*" "" label ${R_NAME})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${R_FROM}/test_*.c)
    set(suites)
    foreach(source IN LISTS sources)
        get_filename_component(stem ${source} NAME_WE)
        string(REPLACE "test_" "" stem ${stem})
        set(test ${R_NAME}_${stem})
        if(stem IN_LIST R_ALONE)
            room_test_program(${test} ${room} ${label} "${R_USES}" ${source})
            set(command $<TARGET_FILE:${test}>)
        else()
            list(APPEND suites ${source})
            set(command $<TARGET_FILE:${R_NAME}> test_${stem})
        endif()
        if(R_WAITS)
            add_test(NAME ${test} COMMAND ${command})
        else()
            add_test(NAME ${test} COMMAND ${computing} ${command})
            computes(${test})
        endif()
        set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 600 SKIP_RETURN_CODE 77)
    endforeach()
    if(suites)
        room_test_program(${R_NAME} ${room} ${label} "${R_USES}" ${suites})
    endif()
endfunction()

function(room_test_program program room label uses)
    add_executable(${program} ${ARGN})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(${program} PRIVATE test_support ${room} ${uses} ringmaster_flags)
    target_compile_definitions(${program} PRIVATE
        RINGMASTER_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data")
    # The code of unit tests itself computes little, unlike operators.
    if(label STREQUAL "unit")
        target_compile_options(${program} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
    endif()
endfunction()

# A room is a folder of sources with one target. A room's headers are reachable only as
# "<room>/<header>.h", through a folder of its own that holds one link; a target sees the folders
# of the rooms it names and no others, so an include that crosses the house the wrong way does not
# build.

set(ROOM_INCLUDES ${CMAKE_BINARY_DIR}/rooms)

# room(NAME DIR [USES room...] [LINKS library...] [EXCLUDE file...])
#   NAME     the target, and the first word of its includes
#   DIR      its folder; every .c in it (not below it) is compiled, but for EXCLUDE
#   USES     rooms whose headers this one may include; made before it, so that arrows make no circle
#   LINKS    foreign libraries that stay private to this room
function(room NAME DIR)
    cmake_parse_arguments(R "" "" "USES;LINKS;EXCLUDE" ${ARGN})
    foreach(used IN LISTS R_USES)
        if(NOT TARGET ${used})
            message(FATAL_ERROR "room ${NAME} uses ${used}, which stands above it or nowhere")
        endif()
    endforeach()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${DIR}/*.c)
    foreach(name IN LISTS R_EXCLUDE)
        list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${DIR}/${name})
    endforeach()

    file(MAKE_DIRECTORY ${ROOM_INCLUDES}/${NAME})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${DIR} ${ROOM_INCLUDES}/${NAME}/${NAME} SYMBOLIC)

    if(sources)
        add_library(${NAME} STATIC ${sources})
        target_include_directories(${NAME} PUBLIC ${ROOM_INCLUDES}/${NAME})
        target_link_libraries(${NAME} PUBLIC ${R_USES} PRIVATE ringmaster_flags ${R_LINKS})
    else()
        add_library(${NAME} INTERFACE)
        target_include_directories(${NAME} INTERFACE ${ROOM_INCLUDES}/${NAME})
        target_link_libraries(${NAME} INTERFACE ${R_USES})
    endif()
endfunction()

# Most tests of the launcher wait for real time, and many do so beside each other (tests/run.sh). A test
# that computes and times nothing takes what they leave of the cores (computing stands in front of its
# command), and no more than one of these more than there are cores runs at a time. They start first.
set(computing nice -n 5)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
function(computes test)
    get_property(count GLOBAL PROPERTY ringmaster_computing)
    math(EXPR next "(${count} + 1) % (${cores} + 1)")
    set_property(GLOBAL PROPERTY ringmaster_computing ${next})
    set_property(TEST ${test} APPEND PROPERTY RESOURCE_LOCK core_${count})
    set_property(TEST ${test} PROPERTY COST 300)
endfunction()
set_property(GLOBAL PROPERTY ringmaster_computing 0)

# room_tests(NAME DIR LABEL [USES target...] [WAITS]): one program for each tests/DIR/test_*.c, which
# compute or, with WAITS, mostly wait. A test may see the rooms it is about and those they use, and
# tests/support.
function(room_tests NAME DIR LABEL)
    cmake_parse_arguments(R "WAITS" "" "USES" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${DIR}/test_*.c)
    foreach(source IN LISTS sources)
        get_filename_component(stem ${source} NAME_WE)
        string(REPLACE "test_" "" stem ${stem})
        set(target ${LABEL}_${NAME}_${stem})
        add_executable(${target} ${source})
        set_target_properties(${target} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
        target_link_libraries(${target} PRIVATE test_support ${NAME} ${R_USES} ringmaster_flags)
        target_compile_definitions(${target} PRIVATE
            RINGMASTER_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data")
        # What tests compute themselves is little, but for operators.
        if(LABEL STREQUAL "unit")
            target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
        endif()
        if(R_WAITS)
            add_test(NAME ${target} COMMAND ${target})
        else()
            add_test(NAME ${target} COMMAND ${computing} $<TARGET_FILE:${target}>)
            computes(${target})
        endif()
        set_tests_properties(${target} PROPERTIES LABELS ${LABEL} TIMEOUT 600
            SKIP_RETURN_CODE 77)
    endforeach()
endfunction()

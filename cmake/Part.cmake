# Parts that a build can do without. RINGMASTER_<NAME> is AUTO (taken where it is found), ON (a build
# without it fails) or OFF; what came of it is RINGMASTER_HAVE_<NAME>.

# part(NAME DEFAULT HELP)
function(part NAME DEFAULT HELP)
    set(RINGMASTER_${NAME} ${DEFAULT} CACHE STRING "${HELP}: AUTO, ON or OFF")
    set_property(CACHE RINGMASTER_${NAME} PROPERTY STRINGS AUTO ON OFF)
    set(RINGMASTER_HAVE_${NAME} OFF PARENT_SCOPE)
endfunction()

# part_settle(NAME FOUND NEEDS): FOUND is ON where it was found, NEEDS says what it takes.
function(part_settle NAME FOUND NEEDS)
    if(RINGMASTER_${NAME} AND FOUND)
        set(RINGMASTER_HAVE_${NAME} ON PARENT_SCOPE)
    elseif(RINGMASTER_${NAME} AND NOT RINGMASTER_${NAME} STREQUAL "AUTO")
        message(FATAL_ERROR "RINGMASTER_${NAME}=${RINGMASTER_${NAME}}, but it was not found: ${NEEDS}")
    elseif(RINGMASTER_${NAME})
        message(STATUS "Left out: ${NAME} (${NEEDS})")
    endif()
endfunction()

# How tests and measurements build: source it from the root of the tree.
# shellcheck shell=sh

# What is compiled once serves all presets, folders and trees, where ccache is installed.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER="${CMAKE_C_COMPILER_LAUNCHER:-ccache}"
    export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}"
    # Paths below the tree count as they are seen from the build's folder.
    export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-1}"
fi

# Of Make, two hundred targets are two hundred passes over the tree: a minute with nothing to do.
# A folder that is there keeps what it was made with.
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR="${CMAKE_GENERATOR:-Ninja}"
fi

# targets FOLDER PATTERN: names of what FOLDER builds that match the extended regular expression.
targets() {
    cmake --build "$1" --target help | sed -nE 's/^(\.\.\. )?([A-Za-z0-9_-]+)(: phony)?$/\2/p' |
        grep -xE "$2"
}

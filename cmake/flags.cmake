# How C is compiled here: gnu17, optimised by default, sanitizers by name.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
    if(PROJECT_IS_TOP_LEVEL)
        set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
    endif()
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

# Carried by every target of ours: millrace_flags, which is millrace_plain and the sanitizers asked for.
add_library(millrace_plain INTERFACE)
add_library(millrace_flags INTERFACE)
target_link_libraries(millrace_flags INTERFACE millrace_plain)
target_compile_options(millrace_plain INTERFACE
    -Wall -Wextra -Wconversion -Wno-sign-conversion
    $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>  # gcc 14 sees ways through TRY that leave outputs unset
    $<$<C_COMPILER_ID:Clang>:-Wno-enum-float-conversion>  # constants are enumerators here
    -ffunction-sections -fdata-sections
    -fno-math-errno -fno-trapping-math
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=  # no path of the builder's machine in the library
)
if(MILLRACE_WERROR AND NOT MILLRACE_SANITIZE)  # what sanitizers insert makes the compiler see faults where there are none
    target_compile_options(millrace_plain INTERFACE -Werror)
endif()
target_link_options(millrace_plain INTERFACE -Wl,--as-needed -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now)

# What a release does without, for its size: relative relocations one by one (glibc 2.36 reads them packed), and tables
# for unwinding, which only exceptions and debuggers need: none of the former pass through here, and the latter find
# their own with the lines (-g1).
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT MILLRACE_SANITIZE)
    include(CheckLinkerFlag)
    check_linker_flag(C "-Wl,--fatal-warnings,-z,pack-relative-relocs" MILLRACE_PACKS_RELOCATIONS)
    if(MILLRACE_PACKS_RELOCATIONS)
        target_link_options(millrace_plain INTERFACE -Wl,-z,pack-relative-relocs)
    endif()
    target_compile_options(millrace_plain INTERFACE -fno-asynchronous-unwind-tables)
endif()

# Builds that look for faults check a plan's graph after every pass; others don't (NDEBUG): with 10,000 nodes that is
# nearly half of the time that a plan takes.
if(MILLRACE_SANITIZE)
    target_compile_options(millrace_plain INTERFACE -UNDEBUG)
    target_compile_options(millrace_plain INTERFACE $<$<C_COMPILER_ID:GNU>:-O1>)  # half of the time of -O2 to compile
    target_compile_options(millrace_flags INTERFACE
        -fsanitize=${MILLRACE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(millrace_flags INTERFACE -fsanitize=${MILLRACE_SANITIZE})
endif()
if(MILLRACE_FUZZ)
    target_compile_options(millrace_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# The command, the examples, the benches and the fuzz targets: made where their sources are there.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
include(GNUInstallDirs)

# cli/ and examples/ are users of the library: they see include/ only.
file(GLOB CLI_SOURCES CONFIGURE_DEPENDS cli/*.c)
if(CLI_SOURCES)
    add_executable(millrace_command ${CLI_SOURCES})
    if(NOT MILLRACE_SANITIZE)
        target_compile_options(millrace_command PRIVATE -Os)
    endif()
    set_target_properties(millrace_command PROPERTIES OUTPUT_NAME millrace INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    target_link_libraries(millrace_command PRIVATE millrace millrace_flags m ZLIB::ZLIB)

    # Pages for man and completions for shells, as the command itself tells them.
    if(NOT CMAKE_CROSSCOMPILING AND NOT MILLRACE_SANITIZE AND NOT MILLRACE_FUZZ)
        set(TOLD ${PROJECT_BINARY_DIR}/told)
        add_custom_command(OUTPUT ${TOLD}/done DEPENDS millrace_command cmake/told.cmake
            COMMAND ${CMAKE_COMMAND} -DCOMMAND=$<TARGET_FILE:millrace_command> -DFOLDER=${TOLD} -P ${PROJECT_SOURCE_DIR}/cmake/told.cmake
            VERBATIM)
        add_custom_target(millrace_told ALL DEPENDS ${TOLD}/done)
    endif()
endif()

file(GLOB EXAMPLES CONFIGURE_DEPENDS examples/c/*.c)
file(GLOB EXAMPLES_SHARED CONFIGURE_DEPENDS examples/c/shared/*.c)
add_library(examples_shared STATIC ${EXAMPLES_SHARED})
target_link_libraries(examples_shared PRIVATE millrace millrace_flags ZLIB::ZLIB)
foreach(source IN LISTS EXAMPLES)
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_${name} ${source})
    set_target_properties(example_${name} PROPERTIES
        OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    target_link_libraries(example_${name} PRIVATE examples_shared millrace millrace_flags m)
endforeach()

# bench/*.c are one program, which opens the library that it measures by name; `ninja benches` makes it.
add_custom_target(benches)
file(GLOB BENCH_SOURCES CONFIGURE_DEPENDS bench/*.c)
if(BENCH_SOURCES)
    add_executable(bench EXCLUDE_FROM_ALL ${BENCH_SOURCES})
    set_target_properties(bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
    target_link_libraries(bench PRIVATE millrace_flags m Threads::Threads ${CMAKE_DL_LIBS})
    add_dependencies(benches bench millrace millrace_as_tensorflow)
endif()

# bench/loops/x.c: what the inner loops cost, by CPU level; linked with the objects, since the library does not export them.
file(GLOB LOOP_BENCHES CONFIGURE_DEPENDS bench/loops/*.c)
foreach(source IN LISTS LOOP_BENCHES)
    get_filename_component(name ${source} NAME_WE)
    add_executable(bench_${name} EXCLUDE_FROM_ALL ${source})
    set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
    target_link_libraries(bench_${name} PRIVATE millrace_open)
    add_dependencies(benches bench_${name})
endforeach()

# tests/fuzz/x.c has one LLVMFuzzerTestOneInput; its first inputs lie in tests/fuzz/x/.
if(MILLRACE_FUZZ)
    add_custom_target(fuzzers)
    file(GLOB FUZZERS CONFIGURE_DEPENDS tests/fuzz/*.c)
    foreach(source IN LISTS FUZZERS)
        get_filename_component(name ${source} NAME_WE)
        add_executable(fuzz_${name} ${source})
        set_target_properties(fuzz_${name} PROPERTIES
            OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
        target_link_libraries(fuzz_${name} PRIVATE millrace_open)
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzzers fuzz_${name})
    endforeach()
endif()

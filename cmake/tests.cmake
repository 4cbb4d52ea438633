# One ctest per unit test (src/**/x_test.c), end-to-end test (tests/*_test.c, tests/*_test.py) and folder of ops.
#
# The label `threads` marks what the thread sanitizer should see: it is set where a test includes a header of thread/ or
# lies in a folder that runs things.
enable_testing()
find_package(PkgConfig REQUIRED)
pkg_check_modules(CHECK REQUIRED IMPORTED_TARGET check)

# Check gives a test 4 seconds: too few on a busy machine or under a sanitizer. What hangs is caught by ctest.
set(CHECK_ENVIRONMENT CK_DEFAULT_TIMEOUT=240)

function(millrace_test source)
    get_filename_component(name ${source} NAME_WE)
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    if(TARGET ${name})
        set(name ${folder}_${name})
    endif()
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE millrace_open PkgConfig::CHECK)
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS ${folder} ENVIRONMENT "${CHECK_ENVIRONMENT}")
    if(folder STREQUAL loops AND NOT MILLRACE_SANITIZE)  # the same on the lower CPU levels
        foreach(level IN ITEMS v1 v3)
            add_test(NAME ${name}_${level} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
            set_tests_properties(${name}_${level} PROPERTIES TIMEOUT 300 LABELS loops
                ENVIRONMENT "${CHECK_ENVIRONMENT};MILLRACE_CPU=${level}")
        endforeach()
    endif()
    file(STRINGS ${source} threaded REGEX "#include \"thread/|<pthread.h>")
    if(threaded OR folder MATCHES "^(thread|resource|device|run|session|eager|cluster|rpc|job|serve|tf|mr)$")
        set_property(TEST ${name} APPEND PROPERTY LABELS threads)
    endif()
endfunction()

file(GLOB_RECURSE UNIT_TESTS CONFIGURE_DEPENDS src/*_test.c)
file(GLOB END_TESTS CONFIGURE_DEPENDS tests/*_test.c)
foreach(source IN LISTS UNIT_TESTS END_TESTS)
    millrace_test(${source})
endforeach()

# The lines beside the ops: one program reads them, a folder at a time.
if(EXISTS ${PROJECT_SOURCE_DIR}/tests/op_suite.c)
    file(GLOB OP_SUITE CONFIGURE_DEPENDS tests/op_suite*.c)
    add_executable(op_suite ${OP_SUITE})
    set_target_properties(op_suite PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(op_suite PRIVATE millrace_open PkgConfig::CHECK)
    file(GLOB OP_FOLDERS CONFIGURE_DEPENDS LIST_DIRECTORIES true src/ops/*)
    foreach(folder IN LISTS OP_FOLDERS)
        file(GLOB OP_LINES CONFIGURE_DEPENDS ${folder}/*.test)
        if(OP_LINES)
            get_filename_component(name ${folder} NAME)
            add_test(NAME ops_${name} COMMAND op_suite ${OP_LINES} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
            set_tests_properties(ops_${name} PROPERTIES TIMEOUT 600 LABELS "ops;threads")
        endif()
    endforeach()
    add_test(NAME ops_covered COMMAND op_suite --covered src/ops tests/kinds tests/parity WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    # A neighbour may write a file: not into the sources.
    add_test(NAME ops_neighbours COMMAND op_suite --neighbours 1 ${PROJECT_SOURCE_DIR}/src/ops
             WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    add_test(NAME ops_dynamic COMMAND op_suite src/ops WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(ops_dynamic PROPERTIES TIMEOUT 600 LABELS ops ENVIRONMENT MILLRACE_STRESS=dynamic)
endif()

# Programs that the Python tests drive: tests/tool/x.c.
file(GLOB TEST_TOOLS CONFIGURE_DEPENDS tests/tool/*.c)
foreach(source IN LISTS TEST_TOOLS)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE millrace_open)
endforeach()

# An example is a test: it says what it computed and returns 0. Those that learn for long do so in tiny form.
set(EXAMPLE_FEW_STEPS --steps 2 --batch 4 --test 20 --data none --save none)
foreach(name IN ITEMS alexnet googlenet inception3 mlp mnist overfeat resnet50 vgg)
    set(EXAMPLE_OPTIONS_${name} ${EXAMPLE_FEW_STEPS})
endforeach()
set(EXAMPLE_OPTIONS_lstm --steps 20 --words 40 --units 16 --length 8 --save none)
set(EXAMPLE_OPTIONS_word2vec --steps 100 --words 300 --width 16 --samples 8 --save none)
set(EXAMPLE_OPTIONS_learn --save none)
set(EXAMPLE_OPTIONS_replicas --steps 2 --batch 4 --test 20 --data none)
foreach(source IN LISTS EXAMPLES)
    get_filename_component(name ${source} NAME_WE)
    add_test(NAME example_${name} COMMAND example_${name} ${EXAMPLE_OPTIONS_${name}})
    set_tests_properties(example_${name} PROPERTIES TIMEOUT 120 LABELS "end;threads")
endforeach()

# The sanitizers are in the programs, not in Python: what Python loads runs in the plain builds only.
if(NOT MILLRACE_SANITIZE)
    if(EXISTS /usr/bin/python3 AND NOT Python3_EXECUTABLE)
        set(Python3_EXECUTABLE /usr/bin/python3)  # the one that `./run deps` gives its packages to
    endif()
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(PYTHON_ENVIRONMENT MILLRACE_BUILD=${PROJECT_BINARY_DIR} PYTHONPATH=${PROJECT_SOURCE_DIR}/python
        PYTHONDONTWRITEBYTECODE=1)
    file(GLOB PYTHON_TESTS CONFIGURE_DEPENDS tests/*_test.py)
    foreach(source IN LISTS PYTHON_TESTS)
        get_filename_component(name ${source} NAME_WE)
        add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -m pytest -q -p no:cacheprovider ${source}
            WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
        set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS end ENVIRONMENT "${PYTHON_ENVIRONMENT}"
            SKIP_RETURN_CODE 5)  # pytest's for a file whose package isn't there (python3-grpcio)
    endforeach()
endif()

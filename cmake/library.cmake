# The objects of src/ and the libraries made of them.
#
# Everything is compiled once, except src/loops/level/*.c: these hold the inner loops, are compiled once per CPU level
# with LOOPS_LEVEL set to it, and are chosen between at run time.
file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS src/*.c)
file(GLOB LEVEL_SOURCES CONFIGURE_DEPENDS src/loops/level/*.c)
list(FILTER SOURCES EXCLUDE REGEX "_test\\.c$|/src/loops/level/")
list(FILTER LEVEL_SOURCES EXCLUDE REGEX "_test\\.c$")

# The signatures of ops without kernel go into the library packed: the assembler takes them in (known_ops.c).
find_program(GZIP gzip REQUIRED)
set(KNOWN_OPS ${CMAKE_BINARY_DIR}/data/known_ops.sig.gz)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/data)
add_custom_command(OUTPUT ${KNOWN_OPS}
    COMMAND ${GZIP} -9nc ${CMAKE_SOURCE_DIR}/src/graph/known_ops.sig > ${KNOWN_OPS}
    DEPENDS src/graph/known_ops.sig VERBATIM)
set_source_files_properties(src/graph/known_ops.c PROPERTIES
    OBJECT_DEPENDS "${KNOWN_OPS};${CMAKE_SOURCE_DIR}/src/graph/construction.rules" INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/data)

add_library(millrace_objects OBJECT ${SOURCES})
target_include_directories(millrace_objects PRIVATE src include)
target_link_libraries(millrace_objects PRIVATE millrace_flags)
set(OBJECTS $<TARGET_OBJECTS:millrace_objects>)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(LEVELS 1 3 4)
else()
    set(LEVELS 1)
endif()
# -O3 doubles the size of the loops (unswitching, peeling, complete unrolling) and gains nothing measurable on them.
set(LOOPS_OPTIMISED -O2 $<$<C_COMPILER_ID:GNU>:-ftree-vectorize> $<$<C_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>)
if(MILLRACE_SANITIZE)
    set(LOOPS_OPTIMISED -O1)  # sanitizers make these files slow to compile
    if(MILLRACE_SANITIZE MATCHES address)  # gcc's frames on the heap are aligned to less than a vector of AVX-512
        list(APPEND LOOPS_OPTIMISED $<$<C_COMPILER_ID:GNU>:--param=asan-use-after-return=0>)
    endif()
endif()
set(LOOPS_FLAGS millrace_flags)
if(MILLRACE_FUZZ)
    set(LOOPS_FLAGS millrace_plain)  # the fuzz targets look elsewhere
endif()
set(MARCH_1 x86-64)
set(MARCH_3 x86-64-v3)
set(MARCH_4 x86-64-v4)
foreach(level IN LISTS LEVELS)
    if(LEVEL_SOURCES)
        set(target millrace_loops_${level})
        set(own_sources ${LEVEL_SOURCES})
        if(level GREATER 1)
            list(FILTER own_sources EXCLUDE REGEX "_complex\\.c$")
        endif()
        if(level GREATER 3)
            list(FILTER own_sources EXCLUDE REGEX "(_integer|/cast|/elementwise_double)\\.c$")
        endif()
        add_library(${target} OBJECT ${own_sources})
        target_include_directories(${target} PRIVATE src include)
        target_compile_definitions(${target} PRIVATE LOOPS_LEVEL=${level})
        target_compile_options(${target} PRIVATE ${LOOPS_OPTIMISED}
            $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)  # a loop over calls of libm stays a loop
        if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
            target_compile_options(${target} PRIVATE -march=${MARCH_${level}})
            if(level GREATER 1)  # a short loop across a line of code runs at half speed
                target_compile_options(${target} PRIVATE $<$<C_COMPILER_ID:GNU>:-falign-loops=32>)
            endif()
        endif()
        target_link_libraries(${target} PRIVATE ${LOOPS_FLAGS})
        list(APPEND OBJECTS $<TARGET_OBJECTS:${target}>)
    endif()
endforeach()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
set(MILLRACE_NEEDS m Threads::Threads ${CMAKE_DL_LIBS} ZLIB::ZLIB)

set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# The shared libraries. Nothing leaves them but TF_*, TFE_* and mr_*, and nothing unloads them: threads may be inside.
function(millrace_shared name)
    add_library(${name} SHARED ${OBJECTS})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
    target_link_libraries(${name} PRIVATE millrace_flags ${MILLRACE_NEEDS})
    target_link_options(${name} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map -Wl,-z,nodelete)
    if(NOT MILLRACE_SANITIZE)
        target_link_options(${name} PRIVATE -Wl,-z,defs)
    endif()
    target_include_directories(${name} INTERFACE
        $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
endfunction()

millrace_shared(millrace)
set_target_properties(millrace PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

# The same code under TensorFlow's name, with the empty second library that some programs also ask for.
millrace_shared(tensorflow)
set_target_properties(tensorflow PROPERTIES VERSION 2 SOVERSION 2)
file(CONFIGURE OUTPUT empty.c CONTENT "// Nothing: all of TensorFlow's C interface is in libtensorflow.\n")
add_library(tensorflow_framework SHARED ${CMAKE_BINARY_DIR}/empty.c)
set_target_properties(tensorflow_framework PROPERTIES VERSION 2 SOVERSION 2)

# The static library is one object in which every other name has become local, so that ours never meet a program's.
set(STATIC ${CMAKE_BINARY_DIR}/lib/libmillrace.a)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/objects.rsp CONTENT "$<JOIN:${OBJECTS},\n>\n")
add_custom_command(OUTPUT ${STATIC}
    COMMAND ${CMAKE_LINKER} -r -o ${CMAKE_BINARY_DIR}/millrace.o @${CMAKE_BINARY_DIR}/objects.rsp
    COMMAND ${CMAKE_OBJCOPY} -w --keep-global-symbol=TF_* --keep-global-symbol=TFE_* --keep-global-symbol=mr_*
            ${CMAKE_BINARY_DIR}/millrace.o
    COMMAND ${CMAKE_COMMAND} -E rm -f ${STATIC}
    COMMAND ${CMAKE_AR} rcs ${STATIC} ${CMAKE_BINARY_DIR}/millrace.o
    DEPENDS ${OBJECTS} ${CMAKE_BINARY_DIR}/objects.rsp
    COMMENT "Linking C static library lib/libmillrace.a" VERBATIM)
add_custom_target(millrace_static ALL DEPENDS ${STATIC})

# What unit tests and fuzz targets link: the same objects with every name in reach.
add_library(millrace_open STATIC EXCLUDE_FROM_ALL ${OBJECTS})
set_target_properties(millrace_open PROPERTIES LINKER_LANGUAGE C)
target_include_directories(millrace_open PUBLIC src include)
target_link_libraries(millrace_open PUBLIC millrace_flags ${MILLRACE_NEEDS})

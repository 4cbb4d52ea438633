# What the libraries under TensorFlow's names are made of, from the names that libmillrace exports: cmake -DNM=... -DLIBRARY=...
# -DALIASES=... -DJUMPS=... -P other_names.cmake
#
# ALIASES: every name as an alias of one empty function, for a filter library: linkers see the names there, the loader looks them
# up in libmillrace. JUMPS: every name with the version `tensorflow`, as a jump to libmillrace's own; not the default version,
# so that the name alone stands for the latter.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE TABLE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "TFE?_[A-Za-z0-9_]+" NAMES "${TABLE}")
list(REMOVE_DUPLICATES NAMES)
set(aliases [[
// The names of TensorFlow's C interface; see cmake/other_names.cmake.
#define SERVE(name) void *name(void) __attribute__((visibility("default"), alias("nothing")))

void *nothing(void);

void *nothing(void) {
    return 0;
}

]])
set(jumps [[
// Jumps to libmillrace; see cmake/other_names.cmake.
#if defined(__x86_64__)
#define JUMP(name) "jmp *" #name "@GOTPCREL(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(name) "b " #name "\n"
#endif
#define SERVE(name) \
    __asm__(".text\n.p2align 4\n.globl served_" #name "\n.type served_" #name ",%function\n" \
            ".symver served_" #name "," #name "@tensorflow\n" \
            "served_" #name ":\n" JUMP(name) ".size served_" #name ",.-served_" #name "\n")

]])
foreach(name IN LISTS NAMES)
    string(APPEND aliases "SERVE(${name});\n")
    string(APPEND jumps "SERVE(${name});\n")
endforeach()
file(WRITE ${ALIASES} "${aliases}")
file(WRITE ${JUMPS} "${jumps}")

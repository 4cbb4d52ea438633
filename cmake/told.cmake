# What the command tells of itself, into FOLDER: cmake -DCOMMAND=... -DFOLDER=... -P told.cmake
function(tell file)
    execute_process(COMMAND ${COMMAND} help ${ARGN} OUTPUT_FILE ${FOLDER}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(MAKE_DIRECTORY ${FOLDER})
tell(millrace.1 --man)
foreach(name IN ITEMS eval ops inspect run plan train)
    tell(millrace-${name}.1 --man ${name})
endforeach()
tell(millrace.bash --completion bash)
tell(_millrace --completion zsh)
tell(millrace.fish --completion fish)
file(TOUCH ${FOLDER}/done)

// Program — a user of the installed library: prints the TensorFlow version that it serves.
#include <stdio.h>
#include <tensorflow/c/c_api.h>

int main(void) {
    puts(TF_Version());
    return 0;
}

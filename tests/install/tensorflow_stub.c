// Tensorflow stub — stands for TensorFlow's own library when a program is linked: same name, same symbol version.
const char *TF_Version(void);

const char *TF_Version(void) {
    return "the stub";
}

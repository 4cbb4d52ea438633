// Training data — the four IDX files of a data set in the manner of MNIST.
#include <errno.h>
#include <unistd.h>

#include "train.h"

// The plain file, or the packed one.
static TF_Tensor *read_part(const char *folder, const char *part, const char *what) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%s-ubyte", folder, part, what);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%s/%s-%s-ubyte.gz", folder, part, what);
    if (access(path, R_OK) != 0) {
        fail("%s: %s (install dataset-fashion-mnist, or name a folder of IDX files with --data)", path,
             strerror(errno));
        return NULL;
    }
    return read_tensor(path);
}

bool examples_read(const char *folder, const char *part, Examples *out) {
    Examples e = {.images = read_part(folder, part, "images-idx3")};
    e.labels = e.images ? read_part(folder, part, "labels-idx1") : NULL;
    bool done = e.labels != NULL;
    if (done && (TF_NumDims(e.images) != 3 || TF_NumDims(e.labels) != 1 || TF_TensorType(e.images) != TF_UINT8 ||
                 TF_TensorType(e.labels) != TF_UINT8 || TF_Dim(e.images, 0) != TF_Dim(e.labels, 0) ||
                 TF_Dim(e.images, 0) < 1)) {
        fail("%s: the %s images and labels don't belong together: as many of both are expected, in three and one "
             "dimensions", folder, part);
        done = false;
    }
    if (done) {
        e.n = TF_Dim(e.images, 0);
        e.height = (int)TF_Dim(e.images, 1);
        e.width = (int)TF_Dim(e.images, 2);
    }
    if (done && (e.height < 4 || e.width < 4 || e.height > 4096 || e.width > 4096)) {
        fail("%s: pictures of %d x %d can't be learned", folder, e.height, e.width);
        done = false;
    }
    if (done)
        *out = e;
    else
        examples_clear(&e);
    return done;
}

void examples_clear(Examples *examples) {
    if (examples->images)
        TF_DeleteTensor(examples->images);
    if (examples->labels)
        TF_DeleteTensor(examples->labels);
    *examples = (Examples){0};
}

int examples_classes(const Examples *examples) {
    int most = 0;
    const unsigned char *labels = TF_TensorData(examples->labels);
    for (int64_t i = 0; i < examples->n; i++)
        most = labels[i] > most ? labels[i] : most;
    return most + 1;
}

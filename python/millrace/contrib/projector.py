"""projector — TensorBoard's projector: which variables are embeddings, written beside the events."""
import os


class SpriteMetadata:
    def __init__(self, image_path="", single_image_dim=()):
        self.image_path, self.single_image_dim = image_path, list(single_image_dim)


class EmbeddingInfo:
    """One embedding: a variable's name, and files about its rows."""

    def __init__(self, tensor_name="", metadata_path="", tensor_shape=(), tensor_path="", bookmarks_path=""):
        self.tensor_name, self.metadata_path, self.tensor_path = tensor_name, metadata_path, tensor_path
        self.bookmarks_path, self.tensor_shape, self.sprite = bookmarks_path, list(tensor_shape), SpriteMetadata()

    def _lines(self):
        yield from ("  %s: \"%s\"" % (k, getattr(self, k)) for k in ("tensor_name", "metadata_path", "bookmarks_path")
                    if getattr(self, k))
        yield from ("  tensor_shape: %d" % n for n in self.tensor_shape)
        if self.sprite.image_path:
            yield "  sprite {\n    image_path: \"%s\"\n%s  }" % (self.sprite.image_path, "".join(
                "    single_image_dim: %d\n" % n for n in self.sprite.single_image_dim))
        if self.tensor_path:
            yield "  tensor_path: \"%s\"" % self.tensor_path


class _Embeddings(list):
    def add(self, **values):
        self.append(EmbeddingInfo(**values))
        return self[-1]


class ProjectorConfig:
    """The embeddings of a folder; str() is its text form."""

    def __init__(self, model_checkpoint_path=""):
        self.model_checkpoint_path, self.embeddings = model_checkpoint_path, _Embeddings()

    def __str__(self):
        text = "model_checkpoint_path: \"%s\"\n" % self.model_checkpoint_path if self.model_checkpoint_path else ""
        return text + "".join("embeddings {\n%s\n}\n" % "\n".join(e._lines()) for e in self.embeddings)


def visualize_embeddings(summary_writer, config):
    """Writes the file that TensorBoard looks for beside the writer's events."""
    folder = summary_writer if isinstance(summary_writer, (str, bytes, os.PathLike)) else summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(os.fspath(folder), "projector_config.pbtxt"), "w") as f:
        f.write(str(config))

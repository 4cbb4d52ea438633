"""platform — tf.app and tf.resource_loader: running a program's main function, and files beside it."""
import os
import sys


def run(main=None, argv=None):
    """Parses flags and calls main(argv), then exits."""
    from . import flags
    argv = argv or sys.argv
    rest = flags.FLAGS(argv, known_only=True)
    main = main or sys.modules["__main__"].main
    sys.exit(main(rest))


def get_data_files_path():
    return os.path.dirname(sys._getframe(1).f_code.co_filename)


def get_path_to_datafile(path):
    return os.path.join(os.path.dirname(sys._getframe(1).f_code.co_filename), path)


def load_resource(path):
    with open(os.path.join(os.path.dirname(sys._getframe(1).f_code.co_filename), path), "rb") as f:
        return f.read()

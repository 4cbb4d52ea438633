"""Install — the library as its users meet it: installed, found by pkg-config and CMake, put in TensorFlow's place."""

import ctypes
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["MILLRACE_BUILD"])
HERE = pathlib.Path(__file__).parent / "install"
VERSION = "2.21.0"


def run(*command, **env):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, **env})
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    there = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", there)
    return there


def library_folder(prefix):
    return next(prefix.rglob("libmillrace.so")).parent


def flags(prefix, name, *options):
    there = library_folder(prefix)
    return run("pkg-config", "--cflags", "--libs", *options, name, PKG_CONFIG_PATH=str(there / "pkgconfig")).split()


@pytest.mark.parametrize("name", ["millrace", "tensorflow"])
def test_a_program_finds_the_library_by_pkg_config(prefix, tmp_path, name):
    program = tmp_path / "program"
    run("cc", HERE / "program.c", "-o", program, *flags(prefix, name))
    assert run(program, LD_LIBRARY_PATH=str(library_folder(prefix))) == VERSION


def test_a_program_finds_the_library_by_cmake(prefix, tmp_path):
    run("cmake", "-G", "Ninja", "-S", HERE, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "shared") == VERSION
    assert run(tmp_path / "static") == VERSION
    assert "libmillrace" not in run("readelf", "-d", tmp_path / "static")


def test_the_headers_are_valid_cpp(prefix, tmp_path):
    program = tmp_path / "program"
    run("c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", HERE / "program.cc", "-o", program,
        *flags(prefix, "tensorflow"))
    assert run(program, LD_LIBRARY_PATH=str(library_folder(prefix))) == VERSION


def test_a_stripped_release_has_no_more_than_3_2_megabytes(prefix, tmp_path):
    cache = (BUILD / "CMakeCache.txt").read_text()
    run("strip", "-o", tmp_path / "stripped", library_folder(prefix) / "libmillrace.so")
    size = (tmp_path / "stripped").stat().st_size
    optimised = "CMAKE_BUILD_TYPE:STRING=Release" in cache
    assert 500_000 < size < (3_200_000 if optimised else 10_000_000)


def test_every_header_compiles_alone_as_c99(prefix):
    for header in (prefix / "include").rglob("*.h"):
        run("cc", "-std=c99", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Werror", "-fsyntax-only", "-x", "c",
            "-I", prefix / "include", header)


def test_a_program_linked_against_tensorflow_runs_on_ours(prefix, tmp_path):
    stub = tmp_path / "libtensorflow.so.2"
    run("cc", "-shared", "-fPIC", HERE / "tensorflow_stub.c", "-o", stub, "-Wl,-soname,libtensorflow.so.2",
        f"-Wl,--version-script={HERE / 'tensorflow_stub.map'}")
    program = tmp_path / "program"
    run("cc", HERE / "program.c", "-o", program, "-I", prefix / "include", stub)
    assert "TF_Version@VERS_1.0" in run("nm", "-D", program)
    assert run(program, LD_LIBRARY_PATH=str(tmp_path)) == "the stub"
    assert run(program, LD_LIBRARY_PATH=str(library_folder(prefix)), LD_BIND_NOW="1") == VERSION


def test_a_language_loads_the_library_at_run_time(prefix):
    for name in "libmillrace.so", "libtensorflow.so.2", "libtensorflow_framework.so.2":
        ctypes.CDLL(str(library_folder(prefix) / name), mode=os.RTLD_NOW | os.RTLD_LOCAL)


def test_the_static_library_keeps_its_names_to_itself(prefix):
    names = [line.split()[-1] for line in run("nm", "-g", "--defined-only", library_folder(prefix) / "libmillrace.a")
             .splitlines() if len(line.split()) == 3]
    assert "TF_Version" in names
    assert [name for name in names if not name.startswith(("TF_", "TFE_", "mr_"))] == []

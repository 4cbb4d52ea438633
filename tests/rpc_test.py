"""RPC — src/rpc beside gRPC's own library: its clients at our server, our client at its servers."""

import concurrent.futures
import os
import pathlib
import subprocess
import threading
import time

import pytest

grpc = pytest.importorskip("grpc", reason="gRPC's library for Python is not installed")

PEER = pathlib.Path(os.environ["MILLRACE_BUILD"]) / "tests" / "rpc_peer"
MESSAGE = "100% of é\n\t [[{{node a}}]]"
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Server:
    """ours, in a process of its own"""

    def __init__(self, *options):
        self.process = subprocess.Popen([PEER, "serve", *map(str, options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = f"127.0.0.1:{int(self.process.stdout.readline())}"

    def line(self):
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        said = self.process.stdout.read()
        assert self.process.wait(30) == 0
        return said


@pytest.fixture
def server():
    running = Server()
    yield running
    running.end()


def method(channel, name, **options):
    return channel.unary_unary(f"/test.Peer/{name}", **options)


@pytest.mark.parametrize("size", [0, 1, 4, 5, 1000, 16384, 70000, 1 << 20, 20_000_000])
def test_a_client_of_grpc_gets_its_bytes_back(server, size):
    sent = os.urandom(min(size, 4096)) * (size // 4096 + 1)
    with grpc.insecure_channel(server.address, options=OPTIONS) as channel:
        assert method(channel, "Echo")(sent[:size], timeout=60) == sent[:size]


def test_a_client_of_grpc_sees_errors_as_they_are(server):
    with grpc.insecure_channel(server.address) as channel:
        with pytest.raises(grpc.RpcError) as failed:
            method(channel, "Fail")(b"x", timeout=60)
        assert failed.value.code() == grpc.StatusCode.FAILED_PRECONDITION
        assert failed.value.details() == MESSAGE
        with pytest.raises(grpc.RpcError) as failed:
            channel.unary_unary("/no.Such/Method")(b"x", timeout=60)
        assert failed.value.code() == grpc.StatusCode.UNIMPLEMENTED
        with pytest.raises(grpc.RpcError) as failed:
            method(channel, "Echo")(b"x" * 10000, timeout=60, compression=grpc.Compression.Gzip)
        assert failed.value.code() == grpc.StatusCode.UNIMPLEMENTED
        with pytest.raises(grpc.RpcError) as failed:
            channel.stream_unary("/test.Peer/Echo")(iter([b"a", b"b"]), timeout=60)
        assert failed.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert method(channel, "Echo")(b"still there", timeout=60) == b"still there"


def test_metadata_of_a_client_of_grpc_comes_back(server):
    with grpc.insecure_channel(server.address) as channel:
        sent = (("echo-header", "seen"), ("echo-trailer-bin", b"\0\377\1"))
        _, call = method(channel, "Echo").with_call(b"x", timeout=60, metadata=sent)
        assert ("echo-header", "seen") in [tuple(pair) for pair in call.initial_metadata()]
        assert ("echo-trailer-bin", b"\0\377\1") in [tuple(pair) for pair in call.trailing_metadata()]


def test_deadline_and_cancellation_of_a_client_of_grpc_reach_the_handler(server):
    with grpc.insecure_channel(server.address) as channel:
        with pytest.raises(grpc.RpcError) as failed:
            method(channel, "Hang")(b"x", timeout=0.2)
        assert failed.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        assert server.line() == "cancelled"
        call = method(channel, "Hang").future(b"x", timeout=60)
        time.sleep(0.2)
        call.cancel()
        assert server.line() == "cancelled"


def test_many_calls_of_a_client_of_grpc_run_at_once(server):
    with grpc.insecure_channel(server.address) as channel:
        calls = [method(channel, "Echo").future(b"%d" % i * 100, timeout=60) for i in range(500)]
        assert [call.result() for call in calls] == [b"%d" % i * 100 for i in range(500)]


def test_a_client_of_grpc_with_keepalive_is_borne(server):
    options = [("grpc.keepalive_time_ms", 100), ("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_pings_without_data", 0),
               ("grpc.http2.min_time_between_pings_ms", 100)]
    with grpc.insecure_channel(server.address, options=options) as channel:
        call = method(channel, "Hang").future(b"x", timeout=1.5)
        assert call.exception().code() == grpc.StatusCode.DEADLINE_EXCEEDED


def test_health_is_understood_by_grpc(server):
    with grpc.insecure_channel(server.address) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=60) == b"\x08\x01"
        assert check(b"\x0a\x09test.Peer", timeout=60) == b"\x08\x01"
        with pytest.raises(grpc.RpcError) as failed:
            check(b"\x0a\x07no.Such", timeout=60)
        assert failed.value.code() == grpc.StatusCode.NOT_FOUND


def test_a_server_that_drains_lets_calls_of_grpc_end():
    server = Server()
    with grpc.insecure_channel(server.address) as channel:
        assert method(channel, "Echo")(b"x", timeout=60) == b"x"
        call = method(channel, "Hang").future(b"x", timeout=0.7)
        time.sleep(0.2)
        assert "drained OK" in server.end()
        assert call.exception().code() == grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    there = tmp_path_factory.mktemp("tls")
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", there / "key.pem", "-out", there / "chain.pem", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("the command openssl is not installed")
    return there


def test_tls_and_a_secret_with_a_client_of_grpc(certificate):
    server = Server("--chain", certificate / "chain.pem", "--key", certificate / "key.pem", "--secret", "s3cret")
    credentials = grpc.ssl_channel_credentials((certificate / "chain.pem").read_bytes())
    with grpc.secure_channel(server.address, credentials, options=OPTIONS) as channel:
        with pytest.raises(grpc.RpcError) as failed:
            method(channel, "Echo")(b"x", timeout=60)
        assert failed.value.code() == grpc.StatusCode.UNAUTHENTICATED
        sent = os.urandom(1000) * 3000
        assert method(channel, "Echo")(sent, timeout=60, metadata=(("authorization", "Bearer s3cret"),)) == sent
    server.end()


# ---- our client at their server

class Handler(grpc.GenericRpcHandler):
    def __init__(self):
        self.cancelled = threading.Event()

    def service(self, details):
        name = details.method.rsplit("/", 1)[1]
        return grpc.unary_unary_rpc_method_handler(getattr(self, name)) if hasattr(self, name) else None

    def Echo(self, request, context):
        sent = dict(context.invocation_metadata())
        context.send_initial_metadata((("heard", str(sent.get("asked", "nothing"))),))
        context.set_trailing_metadata((("left", str(context.time_remaining() is not None)),))
        return request

    def Fail(self, request, context):
        context.abort(grpc.StatusCode.ABORTED, MESSAGE)

    def Hang(self, request, context):
        context.add_callback(self.cancelled.set)
        self.cancelled.wait(30)
        return b""


@pytest.fixture
def theirs():
    handler = Handler()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=(handler,), options=OPTIONS)
    handler.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield handler
    handler.cancelled.set()
    server.stop(None).wait()


def call(address, name, sent=b"", *options):
    """code, message, metadata, bytes"""
    done = subprocess.run([PEER, "call", address, f"/test.Theirs/{name}", *map(str, options)], input=sent, capture_output=True,
                          timeout=120, check=True)
    head, _, got = done.stdout.partition(b"\n\n")
    code, _, rest = head.partition(b" ")
    return code.decode(), rest.decode(errors="replace"), got


@pytest.mark.parametrize("size", [0, 1, 1000, 16379, 70000, 20_000_000])
def test_a_server_of_grpc_gives_our_bytes_back(theirs, size):
    sent = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    code, said, got = call(theirs.address, "Echo", sent, "--metadata", "asked=what")
    assert code == "OK" and got == sent
    assert "heard=what" in said and "left=True" in said


def test_errors_of_a_server_of_grpc_keep_code_and_text(theirs):
    code, said, _ = call(theirs.address, "Fail", b"x")
    assert code == "ABORTED" and MESSAGE in said and theirs.address in said and "/test.Theirs/Fail" in said
    assert call(theirs.address, "NoSuch", b"x")[0] == "UNIMPLEMENTED"


def test_a_deadline_of_ours_reaches_a_server_of_grpc(theirs):
    assert call(theirs.address, "Hang", b"x", "--timeout", 300)[0] == "DEADLINE_EXCEEDED"
    assert theirs.cancelled.wait(10)


def test_tls_with_a_server_of_grpc(certificate):
    handler = Handler()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(1), handlers=(handler,))
    credentials = grpc.ssl_server_credentials([((certificate / "key.pem").read_bytes(), (certificate / "chain.pem").read_bytes())])
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    roots = ("--roots", certificate / "chain.pem")
    assert call(f"127.0.0.1:{port}", "Echo", b"hello", *roots)[::2] == ("OK", b"hello")
    assert call(f"localhost:{port}", "Echo", b"hello", *roots)[::2] == ("OK", b"hello")
    code, said, _ = call(f"127.0.0.1:{port}", "Echo", b"hello", *roots, "--name", "elsewhere")
    assert code == "UNAVAILABLE" and "certificate" in said
    server.stop(None).wait()

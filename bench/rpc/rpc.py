"""rpc.py — calls of src/rpc beside those of gRPC's core through its Python: the same calls, in turn, in the same run.

Four pairs: our client and theirs at our server and theirs. The request says how many bytes the reply has. `--rounds N`; the
table has the medians of the rounds. A client in Python takes some 60 us of a call by itself; beside our client at their
server and theirs at ours it shows what each end costs.
"""

import concurrent.futures
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import threading
import time

import grpc

BUILD = pathlib.Path(os.environ.get("MILLRACE_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
PEER = BUILD / "tests" / "rpc_peer"
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
METHOD = "/test.Peer/Size"

# name, bytes of request and reply, calls of a round, at once, bulk beside, which number of the answer, unit
ROWS = [
    ("1 KB", 1024, 1024, 3000, 1, False, 0, "us"),
    ("1 KB, 99 of 100", 1024, 1024, 3000, 1, False, 1, "us"),
    ("1 KB, 16 at once", 1024, 1024, 20000, 16, False, 2, "calls/s"),
    ("1 MB", 8, 1000000, 100, 1, False, 0, "us"),
    ("100 MB", 8, 100000000, 5, 1, False, 0, "us"),
    ("64 B beside 100 MB", 64, 64, 1000, 1, True, 0, "us"),
]


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: bytes(struct.unpack_from("<Q", request)[0]))


def serve():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=(Handler(),), options=OPTIONS)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(None).wait()


def one_by_one(call, request, calls):
    took = []
    for _ in range(calls):
        begun = time.perf_counter()
        call(request)
        took.append((time.perf_counter() - begun) * 1e6)
    return took


def many_at_once(call, request, calls, at_once):
    room, took = threading.Semaphore(at_once), []
    for _ in range(calls):
        room.acquire()
        future = call.future(request)
        future.add_done_callback(lambda _: room.release())
    for _ in range(at_once):
        room.acquire()
    return took or [0]


def time_theirs(address, n, m, calls, at_once, bulk):
    """what `rpc_peer time` prints, by their client"""
    ends = threading.Event()

    def fetch():
        with grpc.insecure_channel(address, options=OPTIONS + [("grpc.use_local_subchannel_pool", 1)]) as channel:
            while not ends.is_set():
                channel.unary_unary(METHOD)(struct.pack("<Q", 100000000))

    with grpc.insecure_channel(address, options=OPTIONS) as channel:
        call, request = channel.unary_unary(METHOD), struct.pack("<Q", m).ljust(n, b"\0")
        one_by_one(call, request, 20 if calls > 20 else 1)
        thread = threading.Thread(target=fetch)
        if bulk:
            thread.start()
        begun = time.perf_counter()
        took = many_at_once(call, request, calls, at_once) if at_once > 1 else one_by_one(call, request, calls)
        seconds = time.perf_counter() - begun
        ends.set()
        if bulk:
            thread.join()
    took.sort()
    print(took[len(took) // 2], took[len(took) // 100 * 99], calls / seconds)


def measure(client, address, row):
    name, n, m, calls, at_once, bulk, which, _ = row
    if client == "grpc":
        command = [sys.executable, __file__, "--time", address, *map(str, (n, m, calls, at_once, int(bulk)))]
    else:
        command = [PEER, "time", address, *map(str, (n, m, calls, at_once)), *(["--bulk", address] if bulk else [])]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(said.split()[which])


def main():
    rounds = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 3
    servers = {"millrace": [PEER, "serve"], "grpc": [sys.executable, __file__, "--serve"]}
    running = {name: subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for name, command in servers.items()}
    address = {name: f"127.0.0.1:{int(process.stdout.readline())}" for name, process in running.items()}
    pairs = [(client, server) for client in servers for server in servers]
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    print(f"{cpu}, {os.cpu_count()} processors; gRPC {grpc.__version__}; medians of {rounds} rounds; client to server")
    print(f"{'':20}" + "".join(f"{f'{client} to {server}':>22}" for client, server in pairs) + f"{'theirs : ours':>16}")
    for row in ROWS:
        found = {pair: [] for pair in pairs}
        for _ in range(rounds):
            for pair in pairs:
                found[pair].append(measure(pair[0], address[pair[1]], row))
        middle = [statistics.median(found[pair]) for pair in pairs]
        ratio = middle[0] / middle[3] if row[-1] == "calls/s" else middle[3] / middle[0]
        print(f"{row[0]:20}" + "".join(f"{value:>14.0f} {row[-1]:7}" for value in middle) + f"{ratio:>16.2f}", flush=True)
    for process in running.values():
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve()
    elif sys.argv[1:2] == ["--time"]:
        time_theirs(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()

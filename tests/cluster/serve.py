# serve — usage: serve.py LIBRARY [CLUSTER JOB TASK]: a server through the C interface of a library; prints its target, ends with
# stdin. CLUSTER is "ps=HOST:PORT;worker=HOST:PORT,HOST:PORT"; without it there is one task.
import ctypes
import sys
import threading

P, S, N = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
FUNCTIONS = {"TF_NewStatus": (P, []), "TF_GetCode": (ctypes.c_int, [P]), "TF_Message": (S, [P]), "TF_NewServer": (P, [S, N, P]),
             "TF_ServerStart": (None, [P, P]), "TF_ServerStop": (None, [P, P]), "TF_ServerJoin": (None, [P, P]),
             "TF_ServerTarget": (S, [P]), "TF_DeleteServer": (None, [P]), "TF_DeleteStatus": (None, [P])}


def field(number, data):
    length = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([number << 3 | 2]) + length + data


def server_def(cluster, job, task):
    jobs = b""
    for part in cluster.split(";"):
        name, addresses = part.split("=")
        tasks = [field(2, b"\x08" + bytes([i]) + field(2, address.encode())) for i, address in enumerate(addresses.split(","))]
        jobs += field(1, field(1, name.encode()) + b"".join(tasks))
    return field(1, jobs) + field(2, job.encode()) + b"\x18" + bytes([task]) + field(5, b"grpc")


def main():
    library = ctypes.CDLL(sys.argv[1])
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    status = library.TF_NewStatus()

    def checked():
        if library.TF_GetCode(status):
            sys.exit("serve: " + library.TF_Message(status).decode())

    cluster, job, task = sys.argv[2:5] if len(sys.argv) > 2 else ("localhost=localhost:0", "localhost", "0")
    data = server_def(cluster, job, int(task))
    server = library.TF_NewServer(data, len(data), status)
    checked()
    library.TF_ServerStart(server, status)
    checked()
    print(library.TF_ServerTarget(server).decode(), flush=True)

    def stop():
        sys.stdin.buffer.read()
        library.TF_ServerStop(server, library.TF_NewStatus())

    threading.Thread(target=stop, daemon=True).start()
    library.TF_ServerJoin(server, status)
    checked()
    library.TF_DeleteServer(server)
    library.TF_DeleteStatus(status)


main()

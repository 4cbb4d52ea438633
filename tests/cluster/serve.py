# serve — usage: serve.py LIBRARY: a server of one task through the C interface of a library; prints its target, ends with stdin.
import ctypes
import sys
import threading

P, S, N = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
FUNCTIONS = {"TF_NewStatus": (P, []), "TF_GetCode": (ctypes.c_int, [P]), "TF_Message": (S, [P]), "TF_NewServer": (P, [S, N, P]),
             "TF_ServerStart": (None, [P, P]), "TF_ServerStop": (None, [P, P]), "TF_ServerJoin": (None, [P, P]),
             "TF_ServerTarget": (S, [P]), "TF_DeleteServer": (None, [P]), "TF_DeleteStatus": (None, [P])}


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def server_def(job, address):
    task = b"\x08\x00" + field(2, address)
    return field(1, field(1, field(1, job) + field(2, task))) + field(2, job) + field(5, b"grpc")


def main():
    library = ctypes.CDLL(sys.argv[1])
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    status = library.TF_NewStatus()

    def checked():
        if library.TF_GetCode(status):
            sys.exit("serve: " + library.TF_Message(status).decode())

    data = server_def(b"localhost", b"localhost:0")
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

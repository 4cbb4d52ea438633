# links — connections to the tasks of a cluster on one machine that can be cut: while they are, bytes stand still, as behind a pulled
# cable.
import select
import socket
import threading


class Link:
    """Whoever connects to `port` is connected to `target`."""

    def __init__(self, target):
        self.target, self.is_cut = target, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]


class Pipe:
    """One direction of a connection."""

    def __init__(self, link, source, sink):
        self.link, self.source, self.sink, self.held, self.ended = link, source, sink, b"", False


class Links:
    """All links of a cluster, served by one thread."""

    def __init__(self):
        self.pipes, self.lock = [], threading.Lock()
        self.links, self.over = [], False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def open(self, target):
        link = Link(target)
        with self.lock:
            self.links.append(link)
        return link

    def close(self):
        self.over = True
        self.thread.join()

    def accept(self, link):
        try:
            near, _ = link.listener.accept()
        except BlockingIOError:
            return
        try:
            far = socket.create_connection(("127.0.0.1", link.target), timeout=5)
        except OSError:
            near.close()
            return
        for one in near, far:
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pipes += [Pipe(link, near, far), Pipe(link, far, near)]

    def watch(self):
        """What can be read or written, of links that are not cut."""
        events = {}
        for link in self.links:
            if not link.is_cut:
                events[link.listener] = select.POLLIN
        for pipe in self.pipes:
            if pipe.link.is_cut:
                continue
            if pipe.held:
                events[pipe.sink] = events.get(pipe.sink, 0) | select.POLLOUT
            elif not pipe.ended:
                events[pipe.source] = events.get(pipe.source, 0) | select.POLLIN
        return events

    def move(self, pipe, ready):
        if not pipe.held and not pipe.ended and ready.get(pipe.source, 0) & select.POLLIN:
            pipe.held = pipe.source.recv(1 << 18)
            pipe.ended = not pipe.held
            if pipe.ended:
                pipe.sink.shutdown(socket.SHUT_WR)
        if pipe.held:
            try:
                pipe.held = pipe.held[pipe.sink.send(pipe.held):]
            except BlockingIOError:
                pass

    def drop(self, pipe):
        """The connection that it is one half of."""
        for one in [other for other in self.pipes if {other.source, other.sink} == {pipe.source, pipe.sink}]:
            self.pipes.remove(one)
        pipe.source.close()
        pipe.sink.close()

    def run(self):
        while not self.over:
            with self.lock:
                events = self.watch()
            poll = select.poll()
            by_number = {}
            for one, wanted in events.items():
                by_number[one.fileno()] = one
                poll.register(one, wanted)
            ready = {by_number[fd]: got | (select.POLLIN if got & (select.POLLHUP | select.POLLERR) else 0) for fd, got in poll.poll(50)}
            for link in self.links:
                if ready.get(link.listener):
                    self.accept(link)
            for pipe in list(self.pipes):
                if pipe.link.is_cut or pipe not in self.pipes:
                    continue
                try:
                    self.move(pipe, ready)
                except OSError:
                    self.drop(pipe)
                    continue
                other = next(p for p in self.pipes if p.source is pipe.sink and p.sink is pipe.source)
                if pipe.ended and other.ended:
                    self.drop(pipe)
        for one in {one for pipe in self.pipes for one in (pipe.source, pipe.sink)} | {link.listener for link in self.links}:
            one.close()

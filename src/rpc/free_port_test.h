// Free ports, for tests whose servers must know each other's beforehand.
//
// None that the kernel gives to those who connect: between the choice and the server's start, or while a server that is to
// come again is away, one of them could have it.
#pragma once

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static inline int first_given_port(void) {
    int first = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
    if (file && fscanf(file, "%d", &first) != 1)
        first = 0;
    if (file)
        fclose(file);
    return first > 16384 ? first : 32768;
}

static inline int port_is_free(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int good = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return good;
}

// Another at each call; 0: there is none.
static inline int free_port(void) {
    static unsigned next;
    int first = first_given_port() - 12000;
    if (!next)
        next = (unsigned)getpid() * 67 + (unsigned)clock() + (unsigned)time(NULL);
    for (int tries = 0; tries < 12000; tries++) {
        int port = first + (int)(next++ % 12000);
        if (port_is_free(port))
            return port;
    }
    return 0;
}

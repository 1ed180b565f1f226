/* How many bytes the other end of a connection has acknowledged and sent. Only Linux reports them. */
#include "cmd/acp-ws/ws.h"

#ifdef __linux__
#include <linux/tcp.h>
#include <sys/socket.h>

/* A kernel that does not know a member leaves it 0. */
static struct tcp_info
info_of(int fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
	return info;
}

uint64_t
acked_bytes(int fd)
{
	return info_of(fd).tcpi_bytes_acked;
}

uint64_t
arrived_bytes(int fd)
{
	return info_of(fd).tcpi_bytes_received;
}
#else
uint64_t
acked_bytes(int fd)
{
	(void)fd;
	return 0;
}

uint64_t
arrived_bytes(int fd)
{
	(void)fd;
	return 0;
}
#endif

/*
 * Stands where a node has rdmactl, in `packaging/bench live`: hands its stdin and stdout to the process
 * that plays all agents, with the nonce of this one, and stays until that one is done.
 *
 *     rdmactl agent NONCE
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int count, char **words)
{
	struct sockaddr_un place = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	int files[2] = { 0, 1 }, to = socket(AF_UNIX, SOCK_STREAM, 0);
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(files))]; } control = { 0 };
	struct iovec nonce = { count > 2 ? words[2] : "", 32 };
	struct msghdr message = { .msg_iov = &nonce, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control.room) };
	char end;

	if (count < 3 || strlen(words[2]) != 32)
		return 2;
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(files));
	memcpy(CMSG_DATA(&control.head), files, sizeof(files));
	if (to < 0 || connect(to, (void *)&place, sizeof(place)) || sendmsg(to, &message, 0) < 0) {
		perror(SOCKET);
		return 1;
	}
	/* The end of the output must be the agent's, not that of this process. */
	close(0);
	close(1);
	return read(to, &end, 1) != 0;
}

/*-------------------------------------------------------------------------
 * helper_process.c
 *	  A child process for calls of libc and libpq that block without a
 *	  timeout.
 *
 * They are the look-up of a host name, and PQcancel() before libpq 17. The
 * child runs only that call, does not touch the server and ends by _exit().
 * Unlike a thread, its caller can kill it at any time. Its signals are
 * blocked, except an alarm as a last resort.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpq/pqsignal.h"

#include "base/shuttle_compat.h"
#include "storage/connection/node_state.h"

#define MOST_SECONDS 120

pg_noreturn static void run_child(int fd, void (*work) (void *arg, int fd),
								  void *arg);

bool
shuttle_helper_start(HelperProcess *helper, void (*work) (void *arg, int fd),
					 void *arg)
{
	int			fds[2];
	sigset_t	all;
	sigset_t	old;

	if (pipe(fds) != 0)
		return false;
	(void) fcntl(fds[0], F_SETFD, FD_CLOEXEC);
	(void) fcntl(fds[0], F_SETFL, O_NONBLOCK);

	/* The server's signal handlers must never run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	helper->pid = fork();
	if (helper->pid == 0)
	{
		close(fds[0]);
		run_child(fds[1], work, arg);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(fds[1]);
	if (helper->pid < 0)
	{
		close(fds[0]);
		return false;
	}
	helper->fd = fds[0];
	return true;
}

static void
run_child(int fd, void (*work) (void *arg, int fd), void *arg)
{
	sigset_t	alarm_only;

	signal(SIGALRM, SIG_DFL);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
	alarm(MOST_SECONDS);
	work(arg, fd);
	_exit(0);
}

void
shuttle_helper_end(HelperProcess *helper)
{
	int			status;

	close(helper->fd);
	if (waitpid(helper->pid, &status, WNOHANG) == helper->pid)
		return;
	(void) kill(helper->pid, SIGKILL);
	while (waitpid(helper->pid, &status, 0) < 0 && errno == EINTR)
		;
}

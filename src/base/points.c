/*-------------------------------------------------------------------------
 * points.c
 *	  Our own named points, for servers without injection points.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_points.h"

#ifdef SHUTTLE_TEST_POINTS

#include <fcntl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/pmsignal.h"

#define LOOK_US 5000

/* a backend's current directory is the data directory */
void
shuttle_point_wait(const char *name)
{
	char		reached[128];
	int			fd;

	if (access(name, F_OK) != 0)
		return;
	snprintf(reached, sizeof(reached), "%s.%d", name, MyProcPid);
	fd = open(reached, O_CREAT | O_WRONLY, 0600);
	if (fd >= 0)
		close(fd);
	while (access(name, F_OK) == 0)
	{
		pg_usleep(LOOK_US);
		if (!PostmasterIsAlive())
			_exit(1);
	}
	(void) unlink(reached);
}

#endif

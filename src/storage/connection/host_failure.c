/*-------------------------------------------------------------------------
 * host_failure.c
 *	  Why a host was not taken, and whether that may pass.
 *
 * libpq keeps the SQLSTATE of a failed connection to itself, but writes it into
 * the message if that is verbose: "FATAL:  57P03: the database system is
 * starting up", and a line with the place in the server's source after it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "libpq-fe.h"

#include "storage/connection/host_race.h"

/* The code after a severity, with its colon; NULL: there is none. */
static char *
find_code(char *text)
{
	for (char *at = strstr(text, ":  "); at != NULL; at = strstr(at + 1, ":  "))
	{
		if (strspn(at + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 &&
			strncmp(at + 8, ": ", 2) == 0)
			return at + 3;
	}
	return NULL;
}

/* True for "LOCATION:  ProcessStartupPacket, backend_startup.c:690", in any
 * language. */
static bool
is_place(const char *line, int length)
{
	int			ndigits = 0;

	while (ndigits < length && isdigit((unsigned char) line[length - ndigits - 1]))
		ndigits++;
	return ndigits > 0 && length - ndigits >= 3 &&
		strncmp(line + length - ndigits - 3, ".c:", 3) == 0;
}

static void
remove_places(char *text)
{
	char	   *to = text;

	for (char *line = text; *line != '\0';)
	{
		int			length = strcspn(line, "\n");
		int			with_end = length + (line[length] == '\n' ? 1 : 0);

		if (!is_place(line, length))
		{
			memmove(to, line, with_end);
			to += with_end;
		}
		line += with_end;
	}
	*to = '\0';
}

bool
shuttle_host_failure_passes(const PGconn *conn, const char *message)
{
	static const char *const passing[] = {
		"57P01",				/* shut down by an administrator */
		"57P02",				/* another process has crashed */
		"57P03",				/* starting up, or shutting down */
	};
	char		copy[1024];
	char	   *code;

	strlcpy(copy, message, sizeof(copy));
	code = find_code(copy);
	for (int i = 0; code != NULL && i < lengthof(passing); i++)
	{
		if (strncmp(code, passing[i], 5) == 0)
			return true;
	}
	return code == NULL && !PQconnectionNeedsPassword(conn);
}

void
shuttle_host_failure_text(char *message)
{
	char	   *code;

	while ((code = find_code(message)) != NULL)
		memmove(code, code + 7, strlen(code + 7) + 1);
	remove_places(message);
}

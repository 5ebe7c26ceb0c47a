/*-------------------------------------------------------------------------
 * sql_tokens.c
 *	  Where the tokens of a statement end.
 *
 * Core's scanner raises errors, and texts are read while errors are raised, too.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "storage/shuttle_sql_tokens.h"

static inline bool
in_word(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '$' ||
		IS_HIGHBIT_SET(c);
}

/* Skips a literal or a quoted name; a doubled quote stays inside it. */
static const char *
skip_quoted(const char *from, char quote, bool escapes)
{
	const char *p = from + 1;

	while (*p != '\0')
	{
		if (escapes && *p == '\\' && p[1] != '\0')
			p += 2;
		else if (*p == quote && p[1] == quote)
			p += 2;
		else if (*p++ == quote)
			break;
	}
	return p;
}

/* Skips $tag$...$tag$, or a parameter, or a lone dollar sign. */
static const char *
skip_dollar_quoted(const char *from)
{
	const char *end = from + 1;
	const char *close;
	char	   *tag;

	while (isalnum((unsigned char) *end) || *end == '_' || IS_HIGHBIT_SET(*end))
		end++;
	if (*end != '$' || isdigit((unsigned char) from[1]))
		return end;
	end++;
	tag = pnstrdup(from, end - from);
	close = strstr(end, tag);
	close = close == NULL ? end + strlen(end) : close + strlen(tag);
	pfree(tag);
	return close;
}

/* Skips a comment; SQL's block comments nest. */
static const char *
skip_comment(const char *from)
{
	const char *p = from;
	int			depth = 0;

	if (*p == '-')
		return p + strcspn(p, "\n");
	do
	{
		if (p[0] == '/' && p[1] == '*')
		{
			depth++;
			p += 2;
		}
		else if (p[0] == '*' && p[1] == '/')
		{
			depth--;
			p += 2;
		}
		else if (*p != '\0')
			p++;
	} while (depth > 0 && *p != '\0');
	return p;
}

const char *
shuttle_sql_skip_token(const char *from)
{
	const char *p = from;

	if ((*p == 'E' || *p == 'e') && p[1] == '\'')
		return skip_quoted(p + 1, '\'', true);
	if (*p == '\'' || *p == '"')
		return skip_quoted(p, *p, false);
	if (*p == '$')
		return skip_dollar_quoted(p);
	if ((*p == '-' && p[1] == '-') || (*p == '/' && p[1] == '*'))
		return skip_comment(p);
	if (!in_word(*p))
		return p + 1;
	while (in_word(*p))
		p++;
	return p;
}

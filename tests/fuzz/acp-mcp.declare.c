/*
 * What any answer to initialize, and any request that opens a session, becomes: a claim is believed by who reads it,
 * a changed request is still that request, with nothing left in it that the agent does not take. The first byte says
 * what the agent takes and whether we offer a server; the answer and the request are parted by a newline.
 */
#include "cmd/acp-mcp/mcp.h"

#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/frame/frame_parts.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);


static const struct filter filter = {.name = tool_name};
static char name[] = "\"mine\"", id[] = "\"mine-7\"", self[] = "/bin/acp-mcp";
static struct provided mine = {.name = {.p = name, .n = sizeof(name) - 1}, .id = {.p = id, .n = sizeof(id) - 1}};

static void
expect(bool ok)
{
	if (!ok)
		abort();
}

static void
changed(struct slice text, struct slice what, const struct buf *with, struct buf *to)
{
	const struct splice change = {what.p, what.p + what.n, buf_slice(with)};

	expect(splice_write(text, &change, 1, to) == 0);
}

static void
claim(struct slice line)
{
	struct buf with = {0}, to = {0};
	struct slice what = {NULL, 0};
	struct json_error error;
	struct msg m;
	bool v2;
	int r;

	if (msg_scan(line, &m, &error) != MSG_RESPONSE || !m.result.p || declare_agent_kind(m.result, &v2) != AGENT_STDIO)
		return;
	r = declare_claim(m.result, v2, &what, &with);
	expect(r == (json_type(m.result) == JSON_OBJECT));
	if (r == 1) {
		changed(line, what, &with, &to);
		expect(msg_scan(buf_slice(&to), &m, &error) == MSG_RESPONSE && declare_agent_kind(m.result, &v2) == AGENT_ACP);
	}
	buf_free(&with);
	buf_free(&to);
}

static size_t
count(struct slice params, const char *type)
{
	struct slice servers = json_type(params) == JSON_OBJECT ? json_get(params, acp_mcp_servers) : slice(NULL, 0), key, one, its;
	struct json_iter i = {.in = servers};
	size_t n = 0;

	while (json_type(servers) == JSON_ARRAY && json_next(&i, &key, &one)) {
		its = json_type(one) == JSON_OBJECT ? json_get(one, "type") : slice(NULL, 0);
		n += !type || (json_type(its) == JSON_STRING && json_string_is(its, type));
	}
	return n;
}

static void
open_session(struct mcp *mcp, struct slice line)
{
	size_t before, offered = mcp->options->nprovided;
	struct buf with = {0}, to = {0};
	struct slice what = {NULL, 0};
	struct json_error error;
	struct msg m, is;
	int r;

	if (msg_scan(line, &m, &error) != MSG_REQUEST)
		return;
	before = count(m.params, NULL);
	r = declare_change(mcp, &m, &what, &with);
	expect(r >= 0);
	if (r == 1) {
		changed(line, what, &with, &to);
		expect(msg_scan(buf_slice(&to), &is, &error) == MSG_REQUEST && slice_eq(is.id, m.id) && slice_eq(is.method, m.method));
		expect(count(is.params, NULL) <= before + offered);
		expect(mcp->agent == AGENT_ACP || count(is.params, "acp") == 0);
		expect(mcp->agent != AGENT_ACP || count(is.params, NULL) == before + offered);
	} else {
		expect(mcp->agent == AGENT_ACP || mcp->agent == AGENT_NEITHER || count(m.params, "acp") == 0);
	}
	buf_free(&with);
	buf_free(&to);
}

/* What is said goes nowhere, what a sanitizer says does not. */
static int
hush(void)
{
	int errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	expect(errors >= 0 && nowhere >= 0 && dup2(nowhere, STDERR_FILENO) >= 0);
	close(nowhere);
	__sanitizer_set_report_fd((void *)(intptr_t)errors);
	return errors;
}

static void
speak(int errors)
{
	__sanitizer_set_report_fd((void *)(intptr_t)STDERR_FILENO);
	expect(dup2(errors, STDERR_FILENO) >= 0);
	close(errors);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static struct frame frame = {.filter = &filter};
	static const int none[] = {0};
	static const enum agent_kind kinds[] = {AGENT_UNKNOWN, AGENT_ACP, AGENT_STDIO, AGENT_NEITHER};
	struct options options = {.socket_dir = "/tmp", .provided = &mine};
	struct mcp mcp = {.options = &options, .frame = &frame, .self = self};
	const char *text = (const char *)data + 1, *newline;
	int errors;

	if (!frame.loop)
		expect((frame.loop = loop_new(none, NULL, NULL)) != NULL);
	if (size < 1)
		return 0;
	mcp.agent = kinds[data[0] & 3];
	mcp.v2 = data[0] & 4;
	options.nprovided = data[0] >> 3 & 1;
	newline = memchr(text, '\n', size - 1);
	if (!newline)
		return 0;
	errors = hush();
	claim(slice_between(text, newline));
	open_session(&mcp, slice_between(newline + 1, text + size - 1));
	server_end_all(&mcp);
	speak(errors);
	return 0;
}

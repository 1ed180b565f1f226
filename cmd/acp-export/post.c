#include "cmd/acp-export/post.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/run/proc.h"

#ifndef HAVE_CURL

int
post_start(struct post *p, const char *tool, const char *url, uint64_t grace)
{
	(void)p;
	(void)url;
	(void)grace;
	cli_warn(tool, "--post: this program was built without libcurl; write to a file, and send that with curl");
	return EXIT_USAGE;
}

#else

#include <curl/curl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/json/json.h"
#include "lib/run/input.h"
#include "lib/run/loop.h"

/* us of an attempt, of the first pause, which doubles, and of the longest; bytes of a response that are kept, and of a line. */
enum { ATTEMPT = 10 * 1000 * 1000, PAUSE = 250 * 1000, PAUSE_MOST = 30 * 1000 * 1000, REPLY = 4096, LINE = 64 * 1024 * 1024 };

/* The state of the process that sends. */
struct sender {
	const char *tool;
	struct input in;          /* the pipe from acp-export */
	uint64_t grace, deadline; /* us; deadline: by loop_clock, 0: the pipe has not ended */
	CURL *easy;
	struct curl_slist *headers;
	char *urls[2];            /* the URL for spans; for metrics */
	char error[CURL_ERROR_SIZE];
	struct buf reply;
	bool failing;             /* a failure was reported, and no request has succeeded since */
	struct post_counts *taken;
};

/* --- the end --- */

/* Returns the us that are left; UINT64_MAX as long as acp-export has not closed the pipe. */
static uint64_t
time_left(struct sender *s)
{
	struct pollfd p = {.fd = s->in.io.fd};
	uint64_t now = loop_clock();

	if (!s->deadline && poll(&p, 1, 0) > 0)
		s->deadline = now + s->grace;
	return !s->deadline ? UINT64_MAX : s->deadline > now ? s->deadline - now : 0;
}

/* Waits, but not beyond the deadline that the end of the pipe sets. False: no time is left. */
static bool
pause_for(struct sender *s, uint64_t us)
{
	struct pollfd p = {.fd = s->in.io.fd};
	uint64_t left;

	/* poll reports the end of the pipe once, which sets the deadline; after that poll only waits. */
	do {
		left = time_left(s);
		us = us < left ? us : left;
	} while (poll(&p, s->deadline ? 0 : 1, (int)(us / 1000)) > 0);
	return time_left(s) > 0;
}

static int
watch(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return time_left(arg) == 0;
}

/* --- one request --- */

static size_t
on_reply(char *p, size_t size, size_t n, void *arg)
{
	struct sender *s = arg;
	size_t room = REPLY - s->reply.n;

	return buf_add(&s->reply, p, n < room ? n : room) < 0 ? 0 : size * n;
}

/* Returns the collector's response; p NULL: the response is not an object. */
static struct slice
reply_of(const struct sender *s)
{
	struct slice reply = buf_slice(&s->reply);

	return json_scan(reply, JSON_DEPTH, NULL, 0, NULL, NULL) == JSON_OBJECT ? reply : slice(NULL, 0);
}

/* Reports why a request failed, with curl's or the collector's reason; not again until a request succeeds. */
static void
say(struct sender *s, long status, const char *then)
{
	SCOPED struct buf text = {0};
	struct slice message = slice_cut(json_text(json_get(reply_of(s), "message"), &text), 200);

	if (s->failing)
		return;
	s->failing = true;
	if (status == 0)
		cli_warn(s->tool, "--post: %s%s", s->error, then);
	else
		cli_warn(s->tool, "--post: HTTP status %ld%s%.*s%s", status, message.n ? ": " : "", (int)message.n, message.n ? message.p : "", then);
}

/* Posts the body until the collector takes it (true), refuses it, or no time is left. */
static bool
post(struct sender *s, const char *url, struct slice body)
{
	uint64_t pause = PAUSE, left;
	curl_off_t after;
	CURLcode code;
	long status;

	curl_easy_setopt(s->easy, CURLOPT_URL, url);
	curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, body.p);
	curl_easy_setopt(s->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
	while ((left = time_left(s)) > 0) {
		status = 0;
		after = 0;
		s->reply.n = 0;
		s->error[0] = '\0';
		curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS, (long)((left < ATTEMPT ? left : ATTEMPT) / 1000 + 1));
		code = curl_easy_perform(s->easy);
		if (code == CURLE_OK)
			curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
		else if (!s->error[0])
			snprintf(s->error, sizeof(s->error), "%s", curl_easy_strerror(code));
		if (status / 100 == 2) {
			s->failing = false;
			return true;
		}
		if (status && status != 429 && status != 502 && status != 503 && status != 504) {
			say(s, status, "");
			return false;
		}
		say(s, status, ": trying again");
		curl_easy_getinfo(s->easy, CURLINFO_RETRY_AFTER, &after);
		if (!pause_for(s, after > 0 && after < PAUSE_MOST / 1000000 ? (uint64_t)after * 1000000 : pause))
			return false;
		pause = pause * 2 < PAUSE_MOST ? pause * 2 : PAUSE_MOST;
	}
	return false;
}

static void
send_line(struct sender *s, struct slice line)
{
	static const char id[] = "\"spanId\":";
	const char *p = line.p, *end = line.p + line.n;
	SCOPED struct buf text = {0};
	uint64_t n = 0, rejected = 0;
	struct slice count;

	if (bytes_skip(&p, end, "{\"resourceMetrics\"")) {
		s->taken->reports += post(s, s->urls[1], line);
		return;
	}
	if (!post(s, s->urls[0], line))
		return;
	/* The quotes would be escaped if the key were part of a JSON string. */
	for (; (p = memmem(p, (size_t)(end - p), id, sizeof(id) - 1)); p += sizeof(id) - 1)
		n++;
	/* OTLP/JSON has an int64 as a string. */
	count = json_path(reply_of(s), "partialSuccess.rejectedSpans");
	if (json_type(count) == JSON_STRING)
		count = json_text(count, &text);
	if (!count.n || !json_u64(count, &rejected))
		rejected = 0;
	s->taken->spans += rejected < n ? n - rejected : 0;
}

/* --- the process --- */

/* Adds the headers of a list as OpenTelemetry's SDKs read it: NAME=VALUE,NAME=VALUE, percent-encoded. 0, or -1 out of memory. */
static int
add_headers(struct sender *s, const char *list)
{
	size_t n, name;
	int length = 0, r = 0;
	struct curl_slist *more;
	SCOPED struct buf text = {0};
	char *value;

	for (; list && *list && r == 0; list += n + (list[n] == ',')) {
		list += strspn(list, " ");
		n = strcspn(list, ",");
		name = strcspn(list, "=");
		/* Skip an empty value: curl would read a length of 0 as the length of the rest of the list. */
		if (name + 1 >= n)
			continue;
		value = curl_easy_unescape(s->easy, list + name + 1, (int)(n - name - 1), &length);
		while (name > 0 && list[name - 1] == ' ')
			name--;
		text.n = 0;
		r = -(!value || buf_add(&text, list, name) || buf_add_string(&text, ": ") || buf_add(&text, value, (size_t)length));
		/* A line end in the value would begin another header. */
		more = r == 0 && !memchr(text.p, '\n', text.n) && !memchr(text.p, '\r', text.n) && buf_string(&text)
			? curl_slist_append(s->headers, text.p) : s->headers;
		s->headers = more ? more : s->headers;
		curl_free(value);
	}
	return r;
}

static bool
prepare(struct sender *s, const char *url)
{
	static const char *const paths[] = {"v1/traces", "v1/metrics"};
	const char *ca = getenv("OTEL_EXPORTER_OTLP_CERTIFICATE"), *slash = *url && url[strlen(url) - 1] == '/' ? "" : "/";
	CURL *e;

	for (size_t i = 0; i < 2; i++)
		if (!(s->urls[i] = bytes_printf("%s%s%s", url, slash, paths[i])))
			return false;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || !(e = s->easy = curl_easy_init()))
		return false;
	s->headers = curl_slist_append(NULL, "Content-Type: application/json");
	if (!s->headers || add_headers(s, getenv("OTEL_EXPORTER_OTLP_HEADERS")) < 0)
		return false;
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, s->headers);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, s->error);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_USERAGENT, "acp-export/" VERSION);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_reply);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, watch);
	curl_easy_setopt(e, CURLOPT_XFERINFODATA, s);
	if (ca && *ca)
		curl_easy_setopt(e, CURLOPT_CAINFO, ca);
	return true;
}

/* Runs the process that sends, in a session of its own and without signals, so that only the end of the pipe ends the process. */
static _Noreturn void
run(int fd, const char *tool, const char *url, uint64_t grace, struct post_counts *taken)
{
	static const int deaf[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2};
	struct sender s = {.tool = tool, .grace = grace, .taken = taken};
	struct line line;
	enum input_got got;

	setsid();
	for (size_t i = 0; i < sizeof(deaf) / sizeof(*deaf); i++)
		signal(deaf[i], SIG_IGN);
	if (dup2(fd, STDIN_FILENO) < 0 || close(STDOUT_FILENO) < 0 || proc_close_others(false) < 0 || proc_open_stdio() < 0 ||
		input_open(&s.in, STDIN_FILENO, LINE) < 0 || !prepare(&s, url)) {
		cli_warn(tool, "--post: %s", strerror(errno ? errno : ENOMEM));
		_exit(EXIT_FAILED);
	}
	while ((got = input_next(&s.in, &line)) == INPUT_LINE || got == INPUT_PIECE)
		if (got == INPUT_LINE)
			send_line(&s, line.text);
	_exit(0);
}

int
post_start(struct post *p, const char *tool, const char *url, uint64_t grace)
{
	CURLU *u = curl_url();
	bool good = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
		(strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0);
	int fds[2];

	curl_url_cleanup(u);
	if (!good || strstr(url, "/v1/traces") || strstr(url, "/v1/metrics")) {
		cli_warn(tool, "--post %s: expected the address of a collector, without /v1/traces, such as http://localhost:4318", url);
		return EXIT_USAGE;
	}
	p->taken = mmap(NULL, sizeof(*p->taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->taken != MAP_FAILED && proc_pipe(fds) == 0 && (p->pid = fork()) == 0)
		run(fds[0], tool, url, grace, p->taken);
	if (p->pid <= 0) {
		cli_warn(tool, "--post: %s", strerror(errno));
		return EXIT_FAILED;
	}
	close(fds[0]);
	p->fd = fds[1];
	snprintf(p->path, sizeof(p->path), "/dev/fd/%d", p->fd);
	return 0;
}

#endif

int
post_end(struct post *p, const char *tool, const struct post_counts *all)
{
	char text[64];
	int status = 0;

	if (p->pid <= 0)
		return 0;
	close(p->fd);
	/* A user who does not want to wait may end acp-export by these signals. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	while (waitpid(p->pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	if (WIFSIGNALED(status))
		cli_warn(tool, "--post: the process that sends was ended by %s", proc_describe(status, text, sizeof(text)));
	if (p->taken->spans < all->spans)
		cli_warn(tool, "--post: %" PRIu64 " of %" PRIu64 " spans were not sent", all->spans - p->taken->spans, all->spans);
	if (p->taken->reports < all->reports)
		cli_warn(tool, "--post: %" PRIu64 " of %" PRIu64 " reports of metrics were not sent", all->reports - p->taken->reports, all->reports);
	return p->taken->spans < all->spans || p->taken->reports < all->reports ? EXIT_FAILED : 0;
}

/* Prompts: what they are made of, and their turns. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/base/base64.h"

int
prompt_read_all(int fd, size_t most, struct buf *to)
{
	ssize_t n;

	do {
		need(buf_reserve(to, INPUT_BLOCK));
		n = read(fd, to->p + to->n, INPUT_BLOCK);
		if (n > 0)
			to->n += (size_t)n;
		if (to->n > most)
			errno = EFBIG;
	} while ((n > 0 && to->n <= most) || (n < 0 && errno == EINTR));
	return n == 0 ? 0 : -1;
}

static const char *
media_type(const char *path)
{
	static const struct {
		const char *suffix, *type;
	} types[] = {{".png", "image/png"}, {".jpg", "image/jpeg"}, {".jpeg", "image/jpeg"}, {".gif", "image/gif"},
		{".webp", "image/webp"}, {".svg", "image/svg+xml"}, {".wav", "audio/wav"}, {".mp3", "audio/mpeg"},
		{".ogg", "audio/ogg"}, {".flac", "audio/flac"}, {".pdf", "application/pdf"}, {".json", "application/json"},
		{".md", "text/markdown"}, {".html", "text/html"}, {".csv", "text/csv"}};
	const char *suffix = strrchr(path, '.');

	for (size_t i = 0; suffix && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcasecmp(suffix, types[i].suffix) == 0)
			return types[i].type;
	return NULL;
}

static void
put_uri(struct buf *to, const char *path)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";

	need(buf_add_string(to, "\"file://"));
	for (; *path; path++)
		need(strchr(safe, *path) ? buf_add(to, path, 1) : buf_printf(to, "%%%02X", (unsigned char)*path));
	need(buf_add(to, "\"", 1));
}

/* An image or a sound, where the agent takes them; else a resource; else what every agent takes: text, or a link. */
static void
put_file(const struct ask *a, const char *path, struct slice content, struct buf *to)
{
	const char *type = media_type(path), *kind = NULL;
	bool text = json_utf8(content), embeds;
	char *whole = realpath(path, NULL);
	SCOPED struct buf base64 = {0}, named = {0};

	need(whole ? 0 : -1);
	embeds = ask_has(a, "agentCapabilities.promptCapabilities.embeddedContext", "capabilities.session.prompt.embeddedContext");
	if (type && strncmp(type, "image/", 6) == 0 && !text)
		kind = ask_has(a, "agentCapabilities.promptCapabilities.image", "capabilities.session.prompt.image") ? "image" : NULL;
	if (type && strncmp(type, "audio/", 6) == 0)
		kind = ask_has(a, "agentCapabilities.promptCapabilities.audio", "capabilities.session.prompt.audio") ? "audio" : NULL;
	if (!text)
		need(base64_encode(content, &base64));
	if (kind) {
		need(buf_printf(to, "{\"type\":\"%s\",\"mimeType\":\"%s\",\"data\":\"%.*s\"}", kind, type, (int)base64.n, base64.p));
	} else if (embeds) {
		need(buf_add_string(to, "{\"type\":\"resource\",\"resource\":{\"uri\":"));
		put_uri(to, whole);
		need(buf_printf(to, ",\"mimeType\":\"%s\",\"%s\":", type ? type : text ? "text/plain" : "application/octet-stream", text ? "text" : "blob"));
		need(text ? json_quote(content, to) : buf_printf(to, "\"%.*s\"", (int)base64.n, base64.p));
		need(buf_add_string(to, "}}"));
	} else if (text) {
		need(buf_printf(&named, "%s:\n%.*s", path, (int)content.n, content.p));
		need(acp_put_text_block(to, buf_slice(&named)));
	} else {
		need(buf_add_string(to, "{\"type\":\"resource_link\",\"name\":"));
		need(json_quote(slice_of(path), to));
		need(buf_add_string(to, ",\"uri\":"));
		put_uri(to, whole);
		need(buf_add(to, "}", 1));
	}
	free(whole);
}

static void
put_operand_file(const struct ask *a, const char *path, struct buf *to)
{
	SCOPED struct buf content = {0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		fd = (close(fd), errno = EISDIR, -1);
	if (fd < 0 || prompt_read_all(fd, a->options->line_limit / 2, &content) < 0)
		cli_die(EXIT_USAGE, tool_name, "@%s: %s", path, strerror(errno));
	close(fd);
	put_file(a, path, buf_slice(&content), to);
}

static void
separate(struct buf *blocks)
{
	need(buf_add(blocks, blocks->n ? "," : "[", 1));
}

static void
put_text(struct buf *text, struct buf *blocks)
{
	if (!text->n)
		return;
	separate(blocks);
	need(acp_put_text_block(blocks, buf_slice(text)));
	text->n = 0;
}

void
prompt_read(struct ask *a, struct buf *blocks)
{
	SCOPED struct buf text = {0};

	for (char **word = a->options->prompt; *word; word++) {
		if (**word == '@' && (*word)[1]) {
			put_text(&text, blocks);
			separate(blocks);
			put_operand_file(a, *word + 1, blocks);
			continue;
		}
		need(text.n ? buf_add(&text, " ", 1) : 0);
		need(buf_add_string(&text, *word));
	}
	put_text(&text, blocks);
	put_text(&a->input, blocks);
	if (blocks->n)
		need(buf_add(blocks, "]", 1));
}

void
prompt_input(struct ask *a)
{
	if (!isatty(STDIN_FILENO) && prompt_read_all(STDIN_FILENO, a->options->line_limit / 2, &a->input) < 0)
		cli_die(EXIT_USAGE, tool_name, "standard input: %s", strerror(errno));
}

void
prompt_begin(struct ask *a, struct buf *blocks)
{
	struct buf params = {0}, message = {0};
	struct turn *t = &a->turn;
	char digits[SLICE_DIGITS];
	struct session_request *request;

	t->running = !a->over;
	a->signals = 0;
	t->over = t->failed = false;
	t->stop.n = t->error.n = t->text.n = t->calls.n = 0;
	t->usage = t->calls_usage = (struct usage_sums){0};
	if (a->over) {
		buf_free(blocks);
		return;
	}
	need(buf_printf(&params, "{\"%s\":%.*s,\"%s\":", acp_session_id, (int)a->session_id.n, a->session_id.p, acp_prompt));
	need(buf_add_slice(&params, buf_slice(blocks)));
	if (a->options->meta)
		need(json_add_member(&params, "_meta", slice_of(a->options->meta)));
	need(buf_add(&params, "}", 1));
	buf_free(blocks);
	need(msg_make_request(&message, slice_digits(++a->id, digits), acp_name(ACP_SESSION_PROMPT, ACP_PLAIN), buf_slice(&params)));
	buf_free(&params);
	show_turn(a, true);
	ask_begin_time(a);
	request = ask_send(a, &message);
	if (request && request->turn)
		request->turn->data = t;
}

bool
prompt_end(struct ask *a)
{
	struct turn *t = &a->turn;
	SCOPED struct buf room = {0};
	struct slice why;

	ask_wait(a, &t->over);
	show_turn(a, false);
	if (!t->over)
		return false;
	why = json_text(json_get(buf_slice(&t->error), "message"), &room);
	need(buf_string(&t->stop) ? 0 : -1);
	if (t->failed && !a->stopping && !a->over)
		show_note(a, "acp-ask: session/prompt: %.*s", why.p ? (int)why.n : 11, why.p ? why.p : "no response");
	else if (!t->failed && strcmp(t->stop.p, "end_turn") != 0 && !a->stopping && !a->options->script)
		show_note(a, "acp-ask: the turn ended: %s", t->stop.n ? t->stop.p : "without a stop reason");
	if (strcmp(t->stop.p, "end_turn") != 0 && !a->talks && !a->options->script)
		ask_fail(a, EXIT_NEGATIVE);
	if (a->stopping)
		ask_over(a, 0);
	return true;
}

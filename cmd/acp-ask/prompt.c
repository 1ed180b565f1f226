/* Prompts: what they are made of, and their turns. */
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-ask/ask.h"
#include "lib/base/base64.h"

static const char *
media_type(const char *path)
{
	static const char *const types[][2] = {{".png", "image/png"}, {".jpg", "image/jpeg"}, {".jpeg", "image/jpeg"},
		{".gif", "image/gif"}, {".webp", "image/webp"}, {".svg", "image/svg+xml"}, {".wav", "audio/wav"}, {".mp3", "audio/mpeg"},
		{".ogg", "audio/ogg"}, {".flac", "audio/flac"}, {".pdf", "application/pdf"}, {".json", "application/json"},
		{".md", "text/markdown"}, {".html", "text/html"}, {".csv", "text/csv"}};
	const char *suffix = strrchr(path, '.');

	for (size_t i = 0; suffix && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcasecmp(suffix, types[i][0]) == 0)
			return types[i][1];
	return "";
}

static void
put_uri(struct buf *to, const char *path)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
	char *whole = realpath(path, NULL);

	need(whole ? 0 : -1);
	put(to, "\"uri\":\"file://");
	for (const char *p = whole; *p; p++)
		put(to, strchr(safe, *p) ? "%c" : "%%%02X", (unsigned char)*p);
	put(to, "\"");
	free(whole);
}

/* An image or a sound, where the agent takes them; else a resource; else what every agent takes: text, or a link. */
static void
put_file(const struct ask *a, const char *path, struct slice content, struct buf *to)
{
	const char *type = media_type(path);
	bool text = json_utf8(content), image = strncmp(type, "image/", 6) == 0 && !text, audio = strncmp(type, "audio/", 6) == 0;
	SCOPED struct buf base64 = {0}, named = {0};

	if (!text)
		need(base64_encode(content, &base64));
	if ((image && ask_has(a, "agentCapabilities.promptCapabilities.image", "capabilities.session.prompt.image")) ||
		(audio && ask_has(a, "agentCapabilities.promptCapabilities.audio", "capabilities.session.prompt.audio"))) {
		put(to, "{\"type\":\"%s\",\"mimeType\":\"%s\"", image ? "image" : "audio", type);
		put_text(to, "data", buf_slice(&base64));
		put(to, "}");
	} else if (ask_has(a, "agentCapabilities.promptCapabilities.embeddedContext", "capabilities.session.prompt.embeddedContext")) {
		put(to, "{\"type\":\"resource\",\"resource\":{");
		put_uri(to, path);
		put_text(to, "mimeType", slice_of(*type ? type : text ? "text/plain" : "application/octet-stream"));
		put_text(to, text ? "text" : "blob", text ? content : buf_slice(&base64));
		put(to, "}}");
	} else if (text) {
		put(&named, "%s:\n", path);
		put_slice(&named, content);
		need(acp_put_text_block(to, buf_slice(&named)));
	} else {
		put(to, "{\"type\":\"resource_link\"");
		put_text(to, "name", slice_of(path));
		put(to, ",");
		put_uri(to, path);
		put(to, "}");
	}
}

/* Appends what was read of text, if anything, as a block. */
static void
put_block(struct buf *text, struct buf *blocks)
{
	if (!text->n)
		return;
	put(blocks, blocks->n ? "," : "[");
	need(acp_put_text_block(blocks, buf_slice(text)));
	text->n = 0;
}

void
prompt_read(struct ask *a, struct buf *blocks)
{
	SCOPED struct buf text = {0}, content = {0};

	for (char **word = a->options->prompt; *word; word++) {
		if (**word == '@' && (*word)[1]) {
			put_block(&text, blocks);
			put(blocks, blocks->n ? "," : "[");
			content.n = 0;
			read_named("@", *word + 1, a->options->line_limit / 2, &content);
			put_file(a, *word + 1, buf_slice(&content), blocks);
			continue;
		}
		put_slice(&text, slice(" ", text.n > 0));
		put_slice(&text, slice_of(*word));
	}
	put_block(&text, blocks);
	put_block(&a->input, blocks);
	if (blocks->n)
		put(blocks, "]");
}

void
prompt_begin(struct ask *a, struct buf *blocks)
{
	struct buf params = {0};
	struct turn *t = &a->turn;
	struct session_request *request;

	t->running = !a->over;
	a->signals = 0;
	t->over = t->failed = false;
	t->stop.n = t->error.n = t->text.n = t->calls.n = 0;
	t->usage = t->calls_usage = (struct usage_sums){0};
	put(&params, "{");
	put_member(&params, acp_session_id, buf_slice(&a->session_id));
	put_member(&params, acp_prompt, buf_slice(blocks));
	put_member(&params, "_meta", a->options->meta ? slice_of(a->options->meta) : slice(NULL, 0));
	put(&params, "}");
	buf_free(blocks);
	if (!a->over)
		show_turn(a, true);
	request = ask_request(a, acp_name(ACP_SESSION_PROMPT, ACP_PLAIN), &params);
	if (request && request->turn)
		request->turn->data = t;
}

bool
prompt_end(struct ask *a)
{
	struct turn *t = &a->turn;
	SCOPED struct buf room = {0};

	ask_wait(a, &t->over);
	show_turn(a, false);
	if (!t->over)
		return false;
	need(buf_string(&t->stop) ? 0 : -1);
	if (t->failed && !a->stopping && !a->over)
		show_note(a, "acp-ask: session/prompt: %s",
			t->error.n ? plain_of(json_get(buf_slice(&t->error), "message"), &room) : "no response");
	else if (!t->failed && strcmp(t->stop.p, "end_turn") != 0 && !a->stopping && !a->options->script)
		show_note(a, "acp-ask: the turn ended: %s", t->stop.n ? t->stop.p : "without a stop reason");
	if (strcmp(t->stop.p, "end_turn") != 0 && !a->talks && !a->options->script)
		ask_fail(a, EXIT_NEGATIVE);
	if (a->stopping)
		ask_over(a, 0);
	return true;
}

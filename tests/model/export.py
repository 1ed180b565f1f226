#!/usr/bin/env python3
"""Random hostile sessions, and what the pages of acp-export may hold of them.

export.py [--seed N] [--count N] [--markdown]   checks, and prints the seed of what is wrong
export.py --seed N --write                      prints the recording of a seed

Each field holds a word of its own between pieces of markup and of what a terminal or a browser might obey. The page must be
well-formed, hold no element or attribute but those below, no character that is not to be seen, and every word.
--markdown: the Markdown form, as cmark-gfm renders it with raw HTML let through.
"""
import argparse, html.parser, json, os, random, re, subprocess, sys

PIECES = ["<script>alert(1)</script>", "</style>", "</main>", "</details>", "</summary>", "<img src=x onerror=alert(1)>", "<!--",
          "-->", "]]>", "<![CDATA[", "&lt;", "&#x3c;", "&", "\"", "'", "\" onclick=\"alert(1)", "\0", "\x1b[31m", "\x1b]0;t\x07",
          "\x1b[2J", "\r", "\r\n", "\x7f", "\x85", "\x9b", "\u202e", "\u2066", "\u200f", "\u2028", "\ufeff", "\ue0001", "\U000e0041",
          "```", "````", "~~~", "`", "``", "|", "||", "\n", "\n\n", "\n| a | b |\n|---|---|\n| c |", "\n# ", "\n> ", "\n* ", "\n1. ",
          "\n    ", "\t", "\n---\n", "\n===\n", "**", "*", "__", "_", "~~", "[x](javascript:alert(1))", "![x](http://example.org/x.png)",
          "[x](http://example.org/?a=\"b)", "[x](data:text/html,y)", "\n[r]: javascript:alert(1)\n", "[r]", "<javascript:alert(1)>",
          "<http://example.org>", "http://example.org/<b>", "https://example.org/a?b=c&d=e", "mailto:a@example.org", "\\", "\\\\", "$x$",
          "<details open>", "<a href=javascript:alert(1)>", "<svg/onload=alert(1)>", "{{x}}", "%s%n", " ", "é", "日本", "🙂", "+", "-", "="]

ELEMENTS = {  # and their attributes
    "html": {"lang": "en"}, "head": {}, "body": {}, "main": {}, "title": {}, "style": {},
    "meta": {"charset": "utf-8", "name": "referrer|viewport|color-scheme|generator", "content": ".*",
             "http-equiv": "Content-Security-Policy"},
    "article": {"class": "session", "id": r"s\d+"}, "section": {"class": "turn", "id": r"s\d+-[to]?\d+"},
    "h1": {}, "h2": {}, "h3": {}, "h4": {}, "h5": {}, "h6": {}, "dl": {"class": "facts"}, "dt": {}, "dd": {},
    "div": {"class": r"user|agent|ask|plan|plain text|entries|entry \w+|table"}, "ul": {}, "ol": {"start": r"\d+", "class": "contents"}, "li": {}, "br": {}, "p": {"class": r"who|path text|note \w+|heading l\d"},
    "span": {"class": "c|state|label|title|when|gap"}, "details": {"class": r"(child|thought|tool|fold)( \w+)?", "id": r"s\d+", "open": "None"},
    "summary": {}, "footer": {"class": r"foot \w+"}, "pre": {"class": "diff"}, "code": {}, "ins": {}, "del": {}, "strong": {}, "em": {},
    "a": {"href": r"#s\d+(?:-[to]?\d+)?|https?://[^\s\"'<>]+|mailto:[^\s\"'<>]+", "rel": "noopener noreferrer nofollow"}, "blockquote": {}, "hr": {},
    "table": {}, "tr": {}, "td": {}, "tbody": {}, "time": {"datetime": r"[-0-9T:Z]+", "title": r"[-0-9T:Z]+"},
    "figure": {"class": "chart"}, "figcaption": {}, "img": {"alt": r"image/\w+", "src": r"data:image/\w+;base64,[A-Za-z0-9+/=]+"},
    "svg": {"viewbox": r"[\d ]+", "role": "img", "aria-label": "[^<>]*", "class": "bars"},
    "polygon": {"points": r"[-\d., ]+"}, "polyline": {"points": r"[-\d., ]+", "class": "cost"},
    "line": {"class": "grid|begin", **{k: r"\d+\.\d" for k in ("x1", "y1", "x2", "y2")}},
    "rect": {"class": "by-(model|tool|user)", **{k: r"[\d.]+" for k in ("x", "y", "width", "height")}},
    "text": {"class": "|None|[mr]|cost", "x": r"[\d.]+", "y": r"[\d.]+"},
}
# What cmark-gfm makes of the Markdown form.
RENDERED = {"h1": {}, "h2": {}, "h3": {}, "h4": {}, "h5": {}, "h6": {}, "p": {}, "ul": {}, "ol": {"start": r"\d+"}, "li": {},
            "blockquote": {}, "pre": {}, "code": {"class": r"language-[-\w+.#]+"}, "strong": {}, "em": {}, "br": {}, "hr": {}, "table": {}, "thead": {},
            # An address that cmark-gfm finds in a text takes the backslash after it, and ~~ then strikes words out.
            "del": {},
            "tbody": {}, "tr": {}, "th": {}, "td": {}, "details": {"open": "|None"}, "summary": {},
            # cmark-gfm takes what stands before an address for a part of it.
            "a": {"href": r"https?://\S+|([-+.\w]*mailto:)?[^\s:]+@[^\s:]+"}, "input": {"type": "checkbox", "checked": "", "disabled": ""}}
VOID = {"meta", "hr", "img", "br", "input"}
UNSEEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
                    "\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff\ud800-\udfff]")


class Wrong(Exception):
    pass


class Page(html.parser.HTMLParser):
    def __init__(self, allowed):
        super().__init__()
        self.allowed, self.open, self.text, self.hidden, self.plain = allowed, [], [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.allowed:
            raise Wrong("element %s at %s" % (tag, self.getpos()))
        # Others end the picture where a browser reads them.
        if ("svg", "bars") in self.open or ("svg", None) in self.open:
            if tag not in ("a", "line", "rect", "text", "polygon", "polyline"):
                raise Wrong("element %s in a picture at %s" % (tag, self.getpos()))
        for name, value in attrs:
            if name not in self.allowed[tag] or not re.fullmatch(self.allowed[tag][name], str(value)):
                raise Wrong("attribute %s=%r of %s at %s" % (name, value, tag, self.getpos()))
        if len({name for name, _ in attrs}) != len(attrs):
            raise Wrong("an attribute twice at %s" % (self.getpos(),))
        self.text += [value for name, value in attrs if name == "class" and tag == "code"]
        if ("class", "plain text") in attrs:
            self.plain.append("")
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("class")))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop()[0] != tag:
            raise Wrong("</%s> closes nothing at %s" % (tag, self.getpos()))

    def handle_data(self, data):
        if not self.open or self.open[-1][0] != "style":
            self.text.append(data)
        if ("div", "plain text") in self.open:
            self.plain[-1] += data

    def handle_comment(self, data):
        # What keeps a forge from making links of names and numbers.
        if self.allowed is RENDERED and data == " ":
            return
        raise Wrong("a comment at %s" % (self.getpos(),))

    def handle_pi(self, data):
        raise Wrong("an instruction at %s" % (self.getpos(),))

    def unknown_decl(self, data):
        raise Wrong("a declaration at %s" % (self.getpos(),))


def shown(text):
    """As acp-export has to show it."""
    text = re.sub("\x1b\\[[0-9;:]*m", "", text).replace("\r\n", "\n")

    def name(m):
        c = ord(m.group())
        return "^" + chr(c ^ 0x40) if c < 0x20 or c == 0x7f else "<U+%04X>" % c
    return re.sub("[\x0b\x0c]|" + UNSEEN.pattern, name, text)


class Gen:
    def __init__(self, seed):
        self.r, self.words, self.prompts, self.t, self.lines = random.Random(seed), [], [], 0.0, []

    def word(self):
        self.words.append("word%dz" % len(self.words))
        return self.words[-1]

    def hostile(self):
        r = self.r
        parts = [r.choice(PIECES) for _ in range(r.randrange(0, 8))]
        parts.insert(r.randrange(0, len(parts) + 1), " " + self.word() + " ")
        return "".join(parts)

    def add(self, side, message):
        self.t += self.r.random() * 3
        self.lines.append({"t": round(self.t, 6), "from": side, "msg": message})

    def update(self, session, what, **members):
        self.add("agent", {"jsonrpc": "2.0", "method": "session/update",
                           "params": {"sessionId": session, "update": dict(members, sessionUpdate=what)}})

    def block(self):
        r = self.r
        return r.choice([lambda: {"type": "text", "text": self.hostile()},
                         lambda: {"type": "resource_link", "uri": r.choice(["http://example.org/", "javascript:", "file:///", ""]) + self.hostile(),
                                  "name": self.hostile()},
                         lambda: {"type": "resource", "resource": {"uri": self.hostile(), "text": self.hostile()}},
                         lambda: {"type": "image", "mimeType": r.choice(["image/png", "image/svg+xml", "\"><b>"]), "data": r.choice(["AAAA", "\"><b>"])},
                         lambda: {"type": self.hostile(), "mimeType": self.hostile()}])()

    def part(self):
        r = self.r
        return r.choice([lambda: {"type": "content", "content": self.block()},
                         lambda: {"type": "diff", "path": self.hostile(), "oldText": self.hostile() if r.random() < 0.5 else None, "newText": self.hostile()},
                         lambda: {"type": "diff", "changes": [], "patch": {"format": "git_patch", "text": self.hostile()}}])()

    def tool(self, session, i):
        r = self.r
        self.update(session, "tool_call", toolCallId="call" + str(i), title=self.hostile(), kind=r.choice(["edit", "\"><b>"]), status="pending")
        self.update(session, "tool_call_update", toolCallId="call" + str(i), status=r.choice(["completed", "failed", "\"><b>"]),
                    content=[self.part() for _ in range(r.randrange(0, 3))])
        self.update(session, "tool_call", toolCallId="other" + str(i), title=self.hostile(), rawInput={self.hostile(): [self.hostile(), {}, []]},
                    rawOutput=self.hostile(), status="completed")

    def ask(self, session, i):
        r = self.r
        self.add("agent", {"jsonrpc": "2.0", "id": i, "method": "session/request_permission", "params": {
            "sessionId": session, "toolCall": {"toolCallId": "asked" + str(i), "title": self.hostile()},
            "options": [{"optionId": "o%d" % k, "name": self.hostile(), "kind": "allow_once"} for k in range(3)]}})
        self.add("client", {"jsonrpc": "2.0", "id": i, "result": {"outcome": r.choice([
            {"outcome": "selected", "optionId": "o1"}, {"outcome": "cancelled"}])}})

    def turn(self, session, i):
        r = self.r
        prompt = self.hostile()
        self.prompts.append(prompt)
        self.add("client", {"jsonrpc": "2.0", "id": i, "method": "session/prompt", "params": {
            "sessionId": session, "prompt": [{"type": "text", "text": prompt}] + [self.block() for _ in range(r.randrange(0, 2))]}})
        for k in range(r.randrange(2, 8)):
            r.choice([lambda: self.update(session, "agent_message_chunk", content={"type": "text", "text": self.hostile()}),
                      lambda: self.update(session, "agent_thought_chunk", content={"type": "text", "text": self.hostile()}),
                      lambda: self.update(session, "agent_message_chunk", content=self.block()),
                      lambda: self.tool(session, i * 100 + k), lambda: self.ask(session, i * 100 + k),
                      lambda: self.update(session, "notice", severity=r.choice(["error", "\"><b>"]), title=self.hostile(), description=self.hostile()),
                      lambda: self.update(session, "compaction_update", compactionId="c%d" % len(self.lines), status="completed", summary=[{"type": "text", "text": self.hostile()}]),
                      lambda: self.update(session, "usage_update", used=r.randrange(10 ** r.randrange(1, 19)), size=r.randrange(10 ** 6),
                                          cost={"amount": r.random(), "currency": "USD"})])()
        self.update(session, "plan", entries=[{"content": self.hostile(), "status": r.choice(["pending", "completed", "\"><b>"])} for _ in range(2)])
        self.add("agent", dict({"jsonrpc": "2.0", "id": i}, **r.choice([
            lambda: {"result": {"stopReason": "end_turn"}}, lambda: {"result": {"stopReason": self.hostile()}},
            lambda: {"error": {"code": -1, "message": self.hostile(), "data": [self.hostile()]}}])()))

    def recording(self):
        head = {"acp-recording": 1, "by": "test"}
        if self.r.random() < 0.5:
            head["started"] = "2026-11-20T15:56:02.000000Z"
        self.lines.append(head)
        self.add("client", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}})
        self.add("agent", {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1, "agentInfo": {
            "name": "x", "title": self.hostile(), "version": self.hostile()}}})
        self.add("client", {"jsonrpc": "2.0", "id": 0, "method": "session/new", "params": {"cwd": self.hostile(), "mcpServers": []}})
        session, child = self.hostile(), self.hostile()
        self.add("agent", {"jsonrpc": "2.0", "id": 0, "result": {"sessionId": session}})
        self.update(session, "session_info_update", title=self.hostile())
        for i in range(1, self.r.randrange(2, 5)):
            self.turn(session, i)
        self.update(session, "subagent_update", sessionId=child, title=self.hostile(), state={"state": "running"})
        self.update(child, "agent_message_chunk", content={"type": "text", "text": self.hostile()})
        return "".join(json.dumps(line) + "\n" for line in self.lines)


def export(text, form):
    r = subprocess.run(["acp-export", "-f", form, "-"], input=text.encode(), capture_output=True)
    if r.returncode or r.stderr:
        raise Wrong("status %d: %s" % (r.returncode, r.stderr.decode()))
    page = r.stdout.decode()
    m = UNSEEN.search(page)
    if m:
        raise Wrong("the character %r at %d" % (m.group(), m.start()))
    return page


def check(seed, markdown):
    g = Gen(seed)
    text = g.recording()
    page = export(text, "markdown" if markdown else "html")
    if markdown:
        page = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "autolink", "-e", "tasklist"],
                              input=page.encode(), capture_output=True, check=True).stdout.decode()
    p = Page(RENDERED if markdown else ELEMENTS)
    p.feed(page)
    p.close()
    if p.open:
        raise Wrong("not closed: %s" % p.open)
    have = set(re.findall(r"word\d+z", "".join(p.text)))
    lost = [w for w in g.words if w not in have]
    if lost:
        raise Wrong("lost: %s" % lost)
    if not markdown:
        for prompt in g.prompts:
            if shown(prompt) not in p.plain:
                raise Wrong("the prompt %r is not among %r" % (shown(prompt), p.plain))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seed", type=int)
    a.add_argument("--count", type=int, default=100)
    a.add_argument("--markdown", action="store_true")
    a.add_argument("--write", action="store_true")
    o = a.parse_args()
    if o.write:
        sys.stdout.write(Gen(o.seed).recording())
        return 0
    first = int(os.environ.get("ACP_SEED", random.randrange(10 ** 9))) if o.seed is None else o.seed
    print("seeds from %d" % first)
    for seed in range(first, first + (1 if o.seed is not None else o.count)):
        try:
            check(seed, o.markdown)
        except Wrong as e:
            print("seed %d: %s" % (seed, e))
            return 1
    return 0


sys.exit(main())

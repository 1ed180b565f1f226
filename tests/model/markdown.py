#!/usr/bin/env python3
"""Random Markdown as acp-export shows it in a page, beside cmark-gfm.

markdown.py [--seed N] [--count N]   checks, and prints the seed of what differs
"""
import argparse, html.parser, json, os, random, re, subprocess, sys

PIECES = ["*", "**", "***", "_", "__", "___", "*", "**", "_", "`", "``", " ", " ", " ", "\n", "\n", "\n\n", "\n- ", "\n* ", "\n+ ", "\n1. ", "\n2) ",
          "\n10. ", "\n> ", "\n# ", "\n### ", "\n    ", "\n  ", "\n\n  ", "\n---\n", "\n===\n", "\n***\n", "\n```\n", "\n~~~\n", "\n```sh\n",
          "[", "]", "](http://e.org/a)", "](<http://e.org/b>)", "<http://e.org/d>", "\\", "\\*", "\\_", "\\`", "\\[", "&amp;", "&#35;", "&lt;",
          "(", ")", ".", ",", "\"", "-", "+", "#", "1.", "é", "日本", " ", "a", "b", "x1", "mcp__a__b", "  \n", "!", "~~", "<b>",
          "\n\n| a | b |\n|---|---|\n| *c* | `d` |\n\n", "\n\nx | y\n---|:-:\n\\| | z\n\n"]
LEFT_OUT = {"br", "thead", "tbody"}


class Tokens(html.parser.HTMLParser):
    """What a page says, without how it says it."""

    def __init__(self):
        super().__init__()
        self.out, self.skip, self.names, self.pre = [], False, [], 0

    def put(self, tag):
        self.out.append(tag)

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        name = "td" if tag == "th" else tag
        if tag == "p" and "heading" in a.get("class", ""):
            name = "h" + a["class"][-1]
        if tag == "p" and "path" in a.get("class", ""):
            name, self.skip = None, True
        if tag == "div" and a.get("class") == "table":
            name = None
        # Whether a list is tight is not asked.
        if name == "p" and "li" in self.names:
            self.handle_data(" ")
            name = None
        self.names.append(name) if tag not in ("br", "hr", "img") else None
        self.pre += tag == "pre"
        if tag == "br":
            self.handle_data(" ")
        elif tag == "a":
            self.put(("a", a["href"]))
        elif name and tag not in LEFT_OUT:
            self.put("<%s%s>" % (name, a.get("start", "1") if name == "ol" else ""))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        name = self.names.pop()
        self.skip = False
        self.pre -= tag == "pre"
        if name and tag not in LEFT_OUT:
            self.put("</%s>" % name)

    def handle_data(self, data):
        if self.skip:
            return
        if not self.pre:
            data = re.sub(r"[ \n\t]+", " ", data)
        if self.out and isinstance(self.out[-1], list):
            self.out[-1][0] += data
        else:
            self.out.append([data])

    def tokens(self):
        out = []
        # A link whose text is its address is one that was found in a text, or an address in angle brackets.
        for i, t in enumerate(self.out):
            if isinstance(t, tuple):
                bare = i + 2 < len(self.out) and self.out[i + 1:i + 3] == [[t[1]], "</a>"]
                self.out[i] = "" if bare else "<a %s>" % t[1]
                if bare:
                    self.out[i + 2] = ""
        for t in self.out:
            if isinstance(t, list) and out and isinstance(out[-1], list):
                out[-1][0] += t[0]
            elif t:
                out.append(list(t) if isinstance(t, list) else t)
        pre, edges = False, []
        for i, t in enumerate(out):
            pre = t == "<pre>" or (pre and t != "</pre>")
            if not isinstance(t, list):
                edges.append(t)
                continue
            text = t[0] if pre else re.sub(" +", " ", t[0])
            if not pre and (i == 0 or is_block(out[i - 1])):
                text = text.lstrip(" ")
            if not pre and (i + 1 == len(out) or is_block(out[i + 1])):
                text = text.rstrip(" ")
            if text:
                edges.append(text)
        return edges


def is_block(t):
    return isinstance(t, str) and re.fullmatch(r"</?(p|h\d|[uo]l\d*|li|blockquote|pre|code|hr|table|tr|td|div)>", t) is not None


def tokens(page):
    p = Tokens()
    p.feed(page)
    p.close()
    return p.tokens()


def shown(text):
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "go"}]}},
             {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {
                 "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}}}]
    page = subprocess.run(["acp-export", "-"], input="".join(json.dumps(l) + "\n" for l in lines).encode(), capture_output=True, check=True).stdout.decode()
    m = re.search(r'<div class="agent">\n?(.*)</div>\s*<footer', page, re.S)
    return m.group(1) if m else ""


def rendered(text):
    return subprocess.run(["cmark-gfm", "--unsafe", "-e", "table"], input=text.encode(), capture_output=True, check=True).stdout.decode()


def is_punctuation(c):
    return c < "\x7f" and not c.isalnum() and not c.isspace()


def random_text(seed):
    r = random.Random(seed)
    text = "w" + "".join(r.choice(PIECES) for _ in range(r.randrange(1, 30))) + "w"
    # The definition of a reference stays on the page, and HTML is text there. md4c lets an item without a text interrupt a paragraph,
    # and counts an escaped delimiter in the run of those after it.
    text = re.sub(r"\\([*_])(?=\1)", r"\\\1 ", text.replace("]:", "]").replace("![", "[").replace("<b>", "<1>"))
    # Nor does it apply the rule of 3 to a run between punctuation.
    text = re.sub(r"([*_])\1*", lambda m: m.group() + "a" * (is_punctuation(text[m.start() - 1]) and is_punctuation(text[m.end()])), text)
    # It takes a fence that is indented after a quote for one.
    text = re.sub(r"\n {4,}(?=[`~])", "\n", text)
    # A fence in an item that has no end there ends for it at the next one outside.
    text = re.sub(r"(?m)^(.*[^\n `~].*?)(?:`{3,}|~{3,})", r"\1", text)
    # A span of code that ends at the beginning of a line leaves its last backticks in view, in an item and where it goes into a link.
    text = re.sub(r"(\n[ >]*)(?=`{1,2}(?!`))", r"\1a", text)
    # A second empty line ends an item whose list ended a paragraph.
    text = re.sub(r"\n(?: *\n){2,}", "\n\n", text)
    # An address in angle brackets within a link stands there as such, and as a text.
    text = text.replace("<http://e.org/d>", "d") if "[" in text else text
    # The language is a line of its own on the page.
    text = re.sub(r"(```+|~~~+)(?!sh\n)[^\n]*", r"\1", text)
    return re.sub(r"(\n[ >]*(?:[-*+] *|\d+[.)] *)+)(?=\n)", r"\1 e", text)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seed", type=int)
    a.add_argument("--count", type=int, default=100)
    a.add_argument("text", nargs="?")
    o = a.parse_args()
    first = int(os.environ.get("ACP_SEED", random.randrange(10 ** 9))) if o.seed is None else o.seed
    print("seeds from %d" % first)
    for seed in range(first, first + o.count):
        text = o.text or random_text(seed)
        ours, theirs = tokens(shown(text)), tokens(rendered(text))
        if ours != theirs:
            print("seed %d: %r\nacp-export %s\ncmark-gfm  %s" % (seed, text, ours, theirs))
            return 1
    return 0


sys.exit(main())

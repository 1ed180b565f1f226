"""A proxy that gives each prompt to several agents, and their texts back as one turn (acp-conduct(1), Peers; experimental):

    acp-conduct -p 'python3 coordinator.py' --peer one=AGENT --peer two=AGENT -- AGENT

A session of the client is one session of each peer. Permission requests, tool calls and the rest of what peers send go to the client, with
the client's session. What belongs to no such session goes on to the agent.
"""
import itertools
import json
import sys

CLIENT, AGENT = object(), None  # whom a message is for; a peer is its name


class Coordinator:
    def __init__(self):
        self.ids = itertools.count(1)
        self.peers = []
        self.waiting = {}   # the id of a request of ours: what to do with its response
        self.sent_for = {}  # the id of a request to us: those of ours that it became
        self.sessions = {}  # the client's session: {peer: its session}
        self.texts = {}     # (peer, its session): what it has said in this turn

    def write(self, **message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def send(self, to, method, params, **with_id):
        if to is not CLIENT:
            peer = {} if to is AGENT else {"peer": to}
            method, params = "proxy/successor", {**peer, "method": method, "params": params}
        self.write(**with_id, method=method, params=params)

    def ask(self, to, method, params, then, cause=None):
        number = next(self.ids)
        self.waiting[number] = then
        self.sent_for.setdefault(cause, []).append(number)
        self.send(to, method, params, id=number)

    def ask_peers(self, method, params, then, cause):
        """Asks all of them; then() gets their responses by name."""
        responses = {}

        def take(peer, response):
            responses[peer] = response
            if len(responses) == len(self.peers):
                then(responses)
        for peer in self.peers:
            self.ask(peer, method, params(peer), lambda response, peer=peer: take(peer, response), cause)

    def respond(self, number, response):
        self.sent_for.pop(number, None)
        self.write(id=number, **{k: response[k] for k in ("result", "error") if k in response})

    def forward(self, to, m, method, params):
        if "id" in m:
            self.ask(to, method, params, lambda response: self.respond(m["id"], response), m["id"])
        else:
            self.send(to, method, params)

    def initialize(self, m, response):
        """The agent has responded. All peers follow; those that are listed here are ours."""
        self.peers = [peer["name"] for peer in response.get("result", {}).get("peers", [])]
        self.ask_peers("initialize", lambda peer: m["params"], lambda _: self.respond(m["id"], response), m["id"])

    def opened(self, number, responses):
        failed = [r for r in responses.values() if "error" in r]
        session = f"together-{number}"
        self.sessions[session] = {} if failed else {peer: r["result"]["sessionId"] for peer, r in responses.items()}
        self.respond(number, failed[0] if failed else {"result": {"sessionId": session}})

    def ended(self, m, responses):
        session, texts = m["params"]["sessionId"], []
        for peer, response in responses.items():
            said = "".join(self.texts.pop((peer, self.sessions[session][peer]), []))
            texts.append(f"{peer}: {said or response.get('error', {}).get('message', '')}\n")
        self.send(CLIENT, "session/update", {"sessionId": session, "update": {
            "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "".join(sorted(texts))}}})
        ends = [r["result"]["stopReason"] for r in responses.values() if "result" in r]
        self.respond(m["id"], {"result": {"stopReason": ends[0]}} if ends else next(iter(responses.values())))

    def from_client(self, m):
        method, params = m["method"], m.get("params") or {}
        mine = self.sessions.get(params.get("sessionId"))
        if method == "proxy/initialize":
            self.ask(AGENT, "initialize", params, lambda response: self.initialize(m, response), m["id"])
        elif method == "session/new":
            self.ask_peers(method, lambda peer: params, lambda responses: self.opened(m["id"], responses), m["id"])
        elif method == "session/prompt" and mine:
            self.ask_peers(method, lambda peer: {**params, "sessionId": mine[peer]}, lambda responses: self.ended(m, responses), m["id"])
        elif method == "$/cancel_request":
            for number in self.sent_for.get(params.get("requestId"), []):
                self.write(method=method, params={"requestId": number})
        elif mine and "id" not in m:
            for peer in self.peers:
                self.send(peer, method, {**params, "sessionId": mine[peer]})
        else:
            self.forward(AGENT, m, method, m.get("params"))

    def from_below(self, m):
        peer, method, params = m["params"].get("peer"), m["params"]["method"], m["params"].get("params")
        theirs = params.get("sessionId") if peer and isinstance(params, dict) else None
        update = params.get("update", {}) if theirs else {}
        if update.get("sessionUpdate") == "agent_message_chunk" and update["content"]["type"] == "text":
            self.texts.setdefault((peer, theirs), []).append(update["content"]["text"])
            return
        for session, by_peer in self.sessions.items():
            if theirs and by_peer.get(peer) == theirs:
                params = {**params, "sessionId": session}
        self.forward(CLIENT, m, method, params)

    def run(self):
        for line in sys.stdin:
            m = json.loads(line)
            if "method" not in m:
                self.waiting.pop(m["id"])(m)
            elif m["method"] == "proxy/successor":
                self.from_below(m)
            else:
                self.from_client(m)


Coordinator().run()

# An agent that plays a script: the n-th prompt of all gets the n-th turn of $script (the last one again and again).
#
#   jq -c --unbuffered -n --argjson script TURNS -f agent.jq
#
# A turn: {out: N}       the answer's usage says so many output tokens (and 100 of input); none without
#         stop, result, error   of the answer, where it is not end_turn
#         say, updates   a text, and whole updates, before the answer; late: updates behind it
#         echo           the prompt's blocks are told as the user's chunks
#         hold           no answer before session/cancel, then "cancelled"
#         die            no answer at all
#         stale          with v2: an idle state of before comes first, with so many output tokens
#         v2             it is answered at once; the idle state comes behind the updates, `idles` times
# initialize is answered with the object `hello` of the first turn.

def up($session; $update): {jsonrpc: "2.0", method: "session/update", params: {sessionId: $session, update: $update}};
def answer($id; $result): {jsonrpc: "2.0", id: $id, result: $result};
def text($kind; $text): {sessionUpdate: $kind, content: {type: "text", text: $text}};
def usage: if .out then {usage: {totalTokens: (.out + 100), inputTokens: 100, outputTokens: .out}} else {} end;

def session($m): $m.params | if type == "object" then .sessionId else null end;
def blocks($m): $m.params | if type == "object" then .prompt | if type == "array" then .[] else empty end else empty end;

def before($m):
	session($m) as $s
	| (if .echo then (blocks($m) | up($s; text("user_message_chunk"; .text))) else empty end),
	(if .say then up($s; text("agent_message_chunk"; .say)) else empty end),
	(.updates // [] | .[] | up($s; .));

def late($m): .late // [] | .[] | up(session($m); .);

def turn($m):
	if .die then empty
	elif .v2 then
		(if .stale then up(session($m); {sessionUpdate: "state_update", state: "idle", stopReason: "end_turn"} + ({out: .stale} | usage)) else empty end),
		answer($m.id; {messageId: "m\($m.id)"}), up(session($m); {sessionUpdate: "state_update", state: "running"}), before($m),
		if .hold then empty else
		(up(session($m); {sessionUpdate: "state_update", state: "idle", stopReason: (.stop // "end_turn")} + usage)
			as $idle | range(.idles // 1) | $idle),
		late($m) end
	elif .hold then before($m)
	elif .error then before($m), {jsonrpc: "2.0", id: $m.id, error: .error}, late($m)
	else before($m), answer($m.id; .result // ({stopReason: (.stop // "end_turn")} + usage)), late($m)
	end;

foreach inputs as $m ({n: -1, held: {}};
	.out = []
	| if $m.method == "session/prompt" then
		.n += 1
		| $script[[.n, ($script | length) - 1] | min] as $turn
		| .out = [$turn | turn($m)]
		| if $turn.die then .die = true else . end
		| if $turn.hold then .held[session($m) | tostring] += [$m + {v2: $turn.v2}] else . end
	elif $m.method == "session/cancel" then
		.out = [.held[session($m) | tostring] // [] | .[]
			| if .v2 then up(session(.); {sessionUpdate: "state_update", state: "idle", stopReason: "cancelled"})
			else answer(.id; {stopReason: "cancelled"}) end]
		| del(.held[session($m) | tostring])
	elif $m.method == "initialize" then .out = [answer($m.id; $script[0].hello // {protocolVersion: 1, agentCapabilities: {}})]
	elif $m.id then .out = [answer($m.id; {})]
	else . end;
	.out[], (if .die then halt else empty end))

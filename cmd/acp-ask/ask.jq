# What acp-ask makes and reads of messages, apart from the bytes of the stream and their order.
#
# A line #: begins each of several programs; the text before the first is part of all. As compiling takes long, a program is
# compiled when a function of it is needed; a prompt of texts needs none. $do is the function, $agent the result of initialize;
# others are options (put.c), such as $given: [NAME, VALUE] and [NAME, KEY, VALUE...]. A request is [METHOD, PARAMS]: in PARAMS a
# null as sessionId becomes the session's, and a null as _meta becomes the object of --meta. Errors are texts for people.

def v2: $protocol == 2;

# Does the agent advertise the capability at this path, of version 1 or 2? null: that version does not have the capability.
def can($one; $two):
  (if v2 then $two else $one end) as $path
  | $path != null and ($agent | try getpath($path | split(".")) catch null | . == true or type == "object");

def methods: $agent.authMethods[]? | objects | .id = (.id // .methodId) | select(.id | type == "string");
def naming_methods: "\(.); --auth: \([methods.id] | join(", ") | if . == "" then "the agent names none" else . end)";

#: --- a prompt ---

# Input: {request, error}. Returns a text about the error, which can be any value.
def failure:
  [.error.message?, .error | strings | select(. != "")][0] as $reason
  | ((.error.code? // null) == -32000) as $login
  | "\(if $login then "the agent requires authentication" else .request[0] end): \($reason // "an error")"
    + (.error.data? // null | if . == null then "" else ": \(tojson)" end)
  | if $login then naming_methods else . end;

# Input: a file, {path, real, text or (base64) data}. Returns a block: an image or a sound, if the agent accepts these; else a
# resource, if the agent accepts that; else what every agent accepts: text, or a link.
def block:
  {png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", svg: "image/svg+xml",
    wav: "audio/wav", mp3: "audio/mpeg", ogg: "audio/ogg", flac: "audio/flac", pdf: "application/pdf", json: "application/json",
    md: "text/markdown", html: "text/html", csv: "text/csv"} as $types
  | (.path | split(".") | if length > 1 then $types[last | ascii_downcase] else null end // "") as $type
  | {uri: "file://\(.real | split("/") | map(@uri) | join("/"))"} as $uri
  | ($type | split("/")[0]) as $kind
  | if .data and ($kind == "image" or $kind == "audio")
      and can("agentCapabilities.promptCapabilities.\($kind)"; "capabilities.session.prompt.\($kind)") then
      {type: $kind, mimeType: $type, data: .data}
    elif can("agentCapabilities.promptCapabilities.embeddedContext"; "capabilities.session.prompt.embeddedContext") then
      {type: "resource", resource: ($uri + if .text then {mimeType: (if $type == "" then "text/plain" else $type end), text: .text}
        else {mimeType: (if $type == "" then "application/octet-stream" else $type end), blob: .data} end)}
    elif .text then {type: "text", text: "\(.path):\n\(.text)"}
    else {type: "resource_link", name: .path} + $uri end;

# Input: blocks and files. Returns blocks.
def prompt: map(if .real then block else . end);

# Input: the contents of a tool call. Returns lines.
def contents: [arrays[] | .content.text? // .path? | strings | select(. != "") | "  \(.[0:1024])"];

def plan:
  [(.entries // .plan.entries?)[]? | objects]
  | if length == 0 then []
    else ["plan: \(map(select(.status == "completed")) | length) of \(length) done"
      + ([.[] | select(.status == "in_progress") | ": \(.content)"][0] // "")] end;

if $do == "failure" then failure elif $do == "prompt" then prompt elif $do == "contents" then contents else plan end

#: --- what is set before a prompt: authentication, servers, and options of the session ---

# Returns a request, or the arguments and variables with which the agent's command logs in at a terminal.
def authenticate:
  $auth as $id
  | [methods | select(.id == $id)][0] as $method
  | if $method == null then error("the agent has no such method" | naming_methods)
    elif $method.type == "terminal" then
      if $person | not then error("--auth \($id): it needs a terminal") else . end
      # In version 1 env is an object, in version 2 a list of names and values.
      | {args: [$method.args[]? | strings], variables: [$method.env | (objects | to_entries[] | "\(.key)=\(.value)"), (arrays[] | "\(.name)=\(.value)")]}
    else
      [$method.vars[]? | objects | select(.optional != true) | .name | strings | select(env[.] == null)][0] as $missing
      | if $missing then error("--auth \($id): the environment variable \($missing) is not set")
        else [if v2 then "auth/login" else "authenticate" end, {methodId: $id}] end
    end;

def server:
  if .[0] == "mcp" then (if v2 then {type: "stdio"} else {} end) + {name: .[1], command: .[2], args: .[3:], env: []}
  elif can("agentCapabilities.mcpCapabilities.http"; "capabilities.session.mcp.http") then {type: "http", name: .[1], url: .[2], headers: []}
  else error("--mcp-url \(.[1])=\(.[2]): the agent does not take servers over HTTP") end;

def servers: [$given[] | select(.[0] | startswith("mcp")) | server];

def given($name): last($given[] | select(.[0] == $name) | .[1]) | values;

def set($option; $value):
  ["session/set_config_option", {sessionId: null, configId: ($option.id // $option.configId)} + (
    if $option.type != "boolean" then {value: $value} + (if v2 then {type: "id"} else {} end)
    elif $value == "true" or $value == "false" then {value: ($value == "true"), type: "boolean"}
    else error("--config \($option.id // $option.configId): expected true or false") end)];

# Input: the result that opened the session. Returns the requests that set what the options ask for.
def settings:
  . as $opened
  | [.configOptions[]? | objects] as $options
  # Sets the option of this category; or calls this method, if the session has a list of choices.
  | def choice($name; $list; $method; $member):
      given($name) as $value
      | [$options[] | select(.category == $name)][0] as $option
      | if $option then set($option; $value)
        elif $opened[$list] | type == "object" then [$method, {sessionId: null, ($member): $value}]
        else error("--\($name) \($value): the agent offers no choice") end;
    [choice("mode"; "modes"; "session/set_mode"; "modeId"),
      choice("model"; "models"; "session/set_model"; "modelId"),
      ($given[] | select(.[0] == "config")
        | . as [$_, $key, $value]
        | [$options[] | select((.id // .configId) == $key)][0]
        | if . then set(.; $value) else error("--config \($key)=\($value): the agent has no such option") end),
      (given("title")
        | if can("agentCapabilities.sessionCapabilities.title"; "capabilities.session.title") then ["session/set_title", {sessionId: null, title: .}]
          else error("--title \(.): the agent does not offer titles") end)];

if $do == "authenticate" then authenticate elif $do == "servers" then servers else settings end

#: --- forms ---

def fields:
  .requestedSchema? | [.required[]?] as $required
  | [.properties | objects | to_entries[] | .key as $key | {name: .key, schema: (.value | objects // {}), required: any($required[]; . == $key)}];

# Returns the values that a field, or an item of a list, can have; nothing, if it can have any value.
def choices:
  (if .items | type == "object" then .items else . end)
  | [.enum, .oneOf, .anyOf | arrays][0]
  | values | map(if type == "object" then {value: .const, title: (.title // .const)} else {value: ., title: .} end);

def between($least; $most): ($least == null or . >= $least) and ($most == null or . <= $most);

# The formats of texts that a schema can name, as patterns.
def formats:
  "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])" as $date
  | {email: "[^@\\s]+@[^@\\s]+", uri: "[A-Za-z][A-Za-z0-9+.-]*:\\S+", date: $date,
    "date-time": "\($date)[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"};

def fits($s):
  . as $value | [$s | choices][0] as $choices
  | def chosen: . as $x | $choices == null or any($choices[]; .value == $x);
    if $s.type == "string" then type == "string" and chosen and (length | between($s.minLength; $s.maxLength))
      and all($s.format | strings | formats[.] | values; . as $format | $value | test("\\A(\($format))\\z"))
      # A pattern that libjq cannot read fits. (Outside of an array, try of jq 1.6 would also catch errors of what comes after it.)
      and ($s.pattern == null or [try test($s.pattern) catch true][0])
    elif $s.type == "boolean" then type == "boolean"
    elif $s.type == "array" then type == "array" and all(.[]; type == "string" and chosen) and (length | between($s.minItems; $s.maxItems))
    elif type != "number" or isnan or isinfinite then false
    else ($s.type == "number" or ($s.type == "integer" and . == floor)) and chosen and between($s.minimum; $s.maximum)
      and ($s.exclusiveMinimum | . == null or . < $value) and ($s.exclusiveMaximum | . == null or . > $value) end;

# Returns the content of the response, with the values of --form.
def filled:
  [fields[] | . as $f | ($values | has($f.name)) as $has
    | if $has and ($values[$f.name] | fits($f.schema)) then {($f.name): $values[$f.name]}
      elif $has or $f.required then error("--form \($form_file) does not have what is asked for") else {} end]
  | add // {};

# A form that a person fills in is {params, n, content}, where n is the number of the next field. Adds what is shown of that field.
def shown:
  . as $form
  | .params | fields[$form.n] | .schema as $s
  | [$s | choices][0] as $choices
  | $form + {lines: [(if $form.n == 0 then "form: \($form.params.message // "")" else empty end),
      "\($s.title // .name)\(if .required then "" else " (optional)" end)",
      ($s.description | strings | select(. != "") | "  \(.)"),
      ($choices | arrays | to_entries[] | "  \(.key + 1)) \(.value.title)")],
    prompt: "\(if $choices then "number" else "value" end)\($s.default | if . == null then "" else " [\(tojson)]" end): "};

# Input: the params of an elicitation. Returns the form to be shown, or {result}.
def form:
  if (.mode // "form") != "form" or [.requestedSchema | objects | .properties | objects] == [] then {result: {action: "cancel"}}
  elif $form_file then {result: {action: "accept", content: filled}}
  elif $person and fields == [] then {params: ., lines: ["form: \(.message // "")"], prompt: "accept (y or n): "}
  elif $person then {params: ., n: 0, content: {}} | shown
  else {result: {action: "cancel"}} end;

def trim: until(startswith(" ") | not; .[1:]) | until(endswith(" ") | not; .[:-1]);

# Input: {form, text}, with the text that was typed. Returns the form, or {result}; an unchanged form if the text is not a value.
def typed:
  .form as $form
  | (.text | trim) as $text
  | ($form.params | fields) as $all
  | $all[$form.n] as $f | $f.schema as $s
  | [$s | choices][0] as $choices
  | def pick: . as $x
      | if $choices == null then $x
        else (tonumber? // 0) as $i
          | [(if $i >= 1 and $i == ($i | floor) then $choices[$i - 1] | values else empty end),
              ($choices[] | select(.value == $x or (.value | tojson) == $x))][0].value end;
    [if $text == "" then $s.default
      elif $s.type == "string" then $text | pick
      elif $s.type == "boolean" then {y: true, t: true, "1": true, n: false, f: false, "0": false}[$text[0:1] | ascii_downcase]
      elif $s.type == "array" then [$text | split(",")[] | trim | pick]
      else $text | pick | if type == "string" then tonumber? // null else . end end][0] as $value
  | ($value != null and ($value | fits($s))) as $good
  | if ($text == "" and ($f.required | not)) or $good then
      $form | .n += 1 | if $good then .content[$f.name] = $value else . end
      | if .n >= ($all | length) then {result: {action: "accept", content: .content}} else shown end
    else $form end;

# The same for a form without fields.
def agreed:
  {y: {result: {action: "accept", content: {}}}, n: {result: {action: "decline"}}}[.text | trim[0:1] | ascii_downcase] // .form;

if $do == "form" then form elif .form.params | fields == [] then agreed else typed end

#: --- --list and --probe ---

# Input: the cursor, or null. Returns the request for a page of the list.
def list:
  if can("agentCapabilities.sessionCapabilities.list"; "capabilities.session") then ["session/list", {cwd: $cwd} + (if . then {cursor: .} else {} end)]
  else error("--list \($cwd): the agent has no list of sessions") end;

# Input: the pages of the list. Returns the lines to be printed.
def sessions:
  [.[].sessions[]? | objects]
  | if $format == "json" then [tojson] elif $format == "ndjson" then map(tojson)
    else map([.sessionId, .updatedAt, .title] | map(if type == "string" then . else "" end) | @tsv) end;

# Input: is the session open? Returns [METHOD, PARAMS, is it advertised?] of requests that change nothing but this session.
def probes:
  {cwd: $cwd} as $where | {sessionId: null} as $session | ($session + $where + {mcpServers: []}) as $again
  | [["session/list", $where, can("agentCapabilities.sessionCapabilities.list"; "capabilities.session")],
    if . then (
      ["session/fork", $again, can("agentCapabilities.sessionCapabilities.fork"; "capabilities.session.fork")],
      ["session/close", $session, can("agentCapabilities.sessionCapabilities.close"; "capabilities.session")],
      ["session/resume", $again, can("agentCapabilities.sessionCapabilities.resume"; "capabilities.session")],
      ["session/load", $again, can("agentCapabilities.loadSession"; null)])
    else empty end];

# Input: the requests that were tried, with their responses. Returns a line for each promise that the agent breaks.
def broken:
  [.tried[] | .probe as [$method, $_, $advertised] | select($advertised == ((.error.code? // null) == -32601))
    | "\($method): \(if $advertised then "it is advertised, and the agent does not have it"
      else "it is not advertised, and the response is not the error -32601" end)"];

def report:
  def sorted: walk(if type == "object" then to_entries | sort_by(.key) | from_entries else . end);
  {protocol: $agent.protocolVersion, agent: ($agent.agentInfo // $agent.info),
    capabilities: ($agent.agentCapabilities // $agent.capabilities // {}), auth_methods: ([methods.id] | sort),
    methods: ([.tried[] | {(.probe[0]): {advertised: .probe[2],
      response: (if has("error") then "error \(.error.code? // null)" else "result" end)}}] | add // {})}
  + (if .session then {modes: ([.session.modes.availableModes[]?.id] | sort), models: ([.session.models.availableModels[]?.modelId] | sort),
    config_options: ([.session.configOptions[]? | {key: (.id // .configId), value: .currentValue}] | from_entries),
    commands: ([.commands[]?.name] | sort)} else {} end)
  | sorted
  | if $format == "json" then .
    else [paths((type != "object" and type != "array") or . == {}) as $p | getpath($p)
      | if type == "string" then . else tojson end | [($p | map(tostring) | join(".")), (split("\n") | join(" "))] | @tsv] end;

if $do == "list" then list elif $do == "sessions" then sessions elif $do == "probes" then probes elif $do == "broken" then broken else report end

#: --- --editor ---

# Quotes a word for a shell, if that is needed.
def quoted: . as $word | if . == "" or any(" \t'\"\\$`|&;()<>*?[{~#!" | split("")[]; . as $c | $word | contains($c)) then @sh else . end;

# Input: {editor, name, words}; a list in words becomes one word, a command. Returns where the configuration of this editor is, and its
# part for the agent, an object or a text. Lua and Lisp can read JSON strings without control characters.
def editor:
  .name as $name | (.words | map(if type == "array" then map(quoted) | join(" ") else . end)) as $words
  | ($words | map(tojson)) as $quoted
  | {command: $words[0], args: $words[1:], env: {}} as $server
  | {
      zed: ["~/.config/zed/settings.json", {agent_servers: {($name): ({type: "custom"} + $server)}}],
      jetbrains: ["~/.jetbrains/acp.json", {agent_servers: {($name): $server}}],
      vscode: ["settings.json, with the extension ACP Client", {"acp.agents": {($name): $server}}],
      neovim: ["Neovim with CodeCompanion", "require(\"codecompanion\").setup({
  adapters = { acp = {
    claude_code = function()
      return require(\"codecompanion.adapters\").extend(\"claude_code\", {
        commands = { default = {
          \($quoted | join(",\n          ")),
        } },
      })
    end,
  } },
})"],
      avante: ["Neovim with avante", "require(\"avante\").setup({
  provider = \($name | tojson),
  acp_providers = {
    [\($name | tojson)] = {
      command = \($quoted[0]),
      args = { \($quoted[1:] | join(", ")) },
    },
  },
})"],
      emacs: ["Emacs with agent-shell, as its command for Claude", "(setq agent-shell-anthropic-claude-acp-command\n      '(\($quoted | join("\n        "))))"],
      toad: ["a shell", "toad acp \([$words | @sh] | @sh) ."]
    }[.editor]
  | {where: .[0], form: .[1]};

editor

# What a fake agent can do. `$fake` is the folder in which it leaves what there is to know of it.

# Notes a process in the kernel's own words: its number, and when it was started.
note() { read -r stat <"/proc/$1/stat" && echo "$stat" >>"$fake/notes"; }

# When a process was started, by the kernel's words on it; nothing of one that is dead.
started() {
    set -- ${1##*) }
    [ "$1" = Z ] || echo "${20}"
}

# Writes down who of those that left a note is alive.
look_round() {
    while read -r line; do
        { read -r stat <"/proc/${line%% *}/stat"; } 2>/dev/null || continue
        [ "$(started "$stat")" != "$(started "$line")" ] || echo "$stat" >>"$fake/survivors"
    done <"$fake/notes"
    echo >>"$fake/looked"
}

# Waits until somebody says so.
until_told() { until [ -e "$fake/$1" ]; do sleep 0.02; done; }

# Prints a line, and keeps it beside.
out() {
    printf '%s\n' "$1" >>"$fake/printed"
    printf '%s\n' "$1"
}

# Prints what comes in, and keeps it beside.
pour() { tee -a "$fake/printed"; }

init() {
    out '{"type":"system","subtype":"init","model":"m","tools":["Bash"],"mcp_servers":[],"permissionMode":"acceptEdits","claude_code_version":"2.1.325"}'
}

says() {
    out '{"type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"text","text":"'"$1"'"}],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}},"parent_tool_use_id":null}'
}

# Begins a call of a tool.
tool() {
    out '{"type":"assistant","message":{"id":"msg_2","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"x"}}],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}},"parent_tool_use_id":null}'
}

# The tool has come back.
tool_done() {
    out '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x","is_error":false}]},"parent_tool_use_id":null}'
}

result() {
    out '{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","duration_ms":6000,"num_turns":2,"result":"'"$1"'","total_cost_usd":0.01,"modelUsage":{"m":{"inputTokens":10,"outputTokens":10,"costUSD":0.01}},"model_usage_since_last_result":{"m":{"inputTokens":10,"outputTokens":10,"costUSD":0.01}}}'
}

# The provider is overloaded, and this is the end of it.
overloaded() {
    out '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"stop_reason":"stop_sequence","duration_ms":6000,"num_turns":1,"result":"API Error: 529 Overloaded","total_cost_usd":0}'
}

# One that leaves when it is asked to, out of sight of its parent and in a session of its own. It
# has none of our pipes: a word of its shell into one that nobody reads would kill it first.
polite() { (setsid sh "$fake/polite.sh" "$fake/notes" >"$fake/polite.out" 2>&1 &); }

# Processes that don't want to go. Each notes itself.
deaf() { sh "$fake/deaf.sh" "$fake/notes" & }
# It has lost its parent, leads a session of its own, and holds our pipes.
lost() { (setsid sh "$fake/deaf.sh" "$fake/notes" &); }
# As people leave a server running.
left_running() { nohup sh "$fake/deaf.sh" "$fake/notes" >/dev/null 2>&1 & }
# Nothing in its environment says where it comes from.
wiped() { env -i sh "$fake/deaf.sh" "$fake/notes" & }
# It can't even take note of a signal.
stopped() { sh "$fake/stopped.sh" "$fake/notes" & }
# It forks itself over and over, each in a session of its own, and none is there for long.
storm() { setsid sh "$fake/storm.sh" & }

# All of them but the storm; returns when they are there.
family() {
    note $$
    note $PPID
    before=$(wc -l <"$fake/notes")
    deaf
    lost
    left_running
    wiped
    stopped
    until [ "$(wc -l <"$fake/notes")" -ge $((before + 5)) ]; do sleep 0.02; done
    echo >>"$fake/family"
}

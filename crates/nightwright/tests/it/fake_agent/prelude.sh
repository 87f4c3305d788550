# The actions of a fake agent. It leaves its records in the folder `$fake`.

# Registers a process with its line in /proc, which has its number and start time.
note() { read -r stat <"/proc/$1/stat" && echo "$stat" >>"$fake/notes"; }

# Prints the start time in such a line; nothing for a zombie.
started() {
    set -- ${1##*) }
    [ "$1" = Z ] || echo "${20}"
}

# Lists the registered processes that are still alive.
look_round() {
    while read -r line; do
        { read -r stat <"/proc/${line%% *}/stat"; } 2>/dev/null || continue
        [ "$(started "$stat")" != "$(started "$line")" ] || echo "$stat" >>"$fake/survivors"
    done <"$fake/notes"
    echo >>"$fake/looked"
}

# Waits for a file of this name.
until_told() { until [ -e "$fake/$1" ]; do sleep 0.02; done; }

# Prints a line, and keeps a copy.
out() {
    printf '%s\n' "$1" >>"$fake/printed"
    printf '%s\n' "$1"
}

# Prints its input, and keeps a copy.
pour() { tee -a "$fake/printed"; }

init() {
    out '{"type":"system","subtype":"init","model":"m","tools":["Bash"],"mcp_servers":[],"permissionMode":"acceptEdits","claude_code_version":"2.1.325"}'
}

says() {
    out '{"type":"assistant","message":{"id":"msg_1","model":"m","content":[{"type":"text","text":"'"$1"'"}],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}},"parent_tool_use_id":null}'
}

# Begins a tool call.
tool() {
    out '{"type":"assistant","message":{"id":"msg_2","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"x"}}],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}},"parent_tool_use_id":null}'
}

# Ends the tool call.
tool_done() {
    out '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x","is_error":false}]},"parent_tool_use_id":null}'
}

result() {
    out '{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","duration_ms":6000,"num_turns":2,"result":"'"$1"'","total_cost_usd":0.01,"modelUsage":{"m":{"inputTokens":10,"outputTokens":10,"costUSD":0.01}},"model_usage_since_last_result":{"m":{"inputTokens":10,"outputTokens":10,"costUSD":0.01}}}'
}

# Prints the result of an overloaded provider.
overloaded() {
    out '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"stop_reason":"stop_sequence","duration_ms":6000,"num_turns":1,"result":"API Error: 529 Overloaded","total_cost_usd":0}'
}

# Exits on SIGTERM; its parent is dead, and it leads its own session. It has no pipes, because a
# message of its shell to a closed pipe would kill it first.
polite() { (setsid sh "$fake/polite.sh" "$fake/notes" >"$fake/polite.out" 2>&1 &); }

# Processes that ignore SIGTERM. Each registers itself.
ignoring() { sh "$fake/ignore_signals.sh" "$fake/notes" & }
# Its parent is dead, it leads its own session, and it holds the pipes of the agent.
lost() { (setsid sh "$fake/ignore_signals.sh" "$fake/notes" &); }
# A server that is left running.
left_running() { nohup sh "$fake/ignore_signals.sh" "$fake/notes" >/dev/null 2>&1 & }
# Its environment is empty.
wiped() { env -i sh "$fake/ignore_signals.sh" "$fake/notes" & }
# It is stopped, so it cannot handle signals.
stopped() { sh "$fake/stopped.sh" "$fake/notes" & }
# It forks itself repeatedly, each time in a new session, and each process exits soon.
storm() { setsid sh "$fake/storm.sh" & }

# Starts all of them except the storm; returns when all run.
family() {
    note $$
    note $PPID
    before=$(wc -l <"$fake/notes")
    ignoring
    lost
    left_running
    wiped
    stopped
    until [ "$(wc -l <"$fake/notes")" -ge $((before + 5)) ]; do sleep 0.02; done
    echo >>"$fake/family"
}

# Runs the agent repeatedly until the completion marker is anywhere in its output.
for ((i = 1; i <= MAX; i++)); do
  SECONDS=0
  NIGHTWRIGHT_ATTEMPT=$i timeout -k 1 "$PATIENCE" "$AGENT" rehearse --print < "$PROMPT" > "$OUTPUT" 2>&1
  if ((SECONDS >= PATIENCE)); then
    echo "hung $i"
    exit
  fi
  if grep -qE '<promise>COMPLETE</promise>|CONTINUOUS_CLAUDE_PROJECT_COMPLETE' "$OUTPUT"; then
    echo "completed $i"
    exit
  fi
done
echo "max_iterations $MAX"

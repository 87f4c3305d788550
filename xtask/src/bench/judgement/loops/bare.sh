# Runs the agent repeatedly, whatever happens. This loop cannot detect that the work is done, and an
# agent that does not exit would block it forever; here a timeout kills it.
for ((i = 1; i <= MAX; i++)); do
  SECONDS=0
  NIGHTWRIGHT_ATTEMPT=$i timeout -k 1 "$PATIENCE" "$AGENT" rehearse --print < "$PROMPT" > "$OUTPUT" 2>&1
  if ((SECONDS >= PATIENCE)); then
    echo "hung $i"
    exit
  fi
done
echo "max_iterations $MAX"

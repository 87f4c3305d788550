# The agent again and again, whatever happens. It can't tell that the work is done, and an agent
# that does not leave keeps it for ever; here it is given up after a while.
for ((i = 1; i <= MAX; i++)); do
  SECONDS=0
  NIGHTWRIGHT_ATTEMPT=$i timeout -k 1 "$PATIENCE" "$AGENT" rehearse --print < "$PROMPT" > "$OUTPUT" 2>&1
  if ((SECONDS >= PATIENCE)); then
    echo "hung $i"
    exit
  fi
done
echo "max_iterations $MAX"

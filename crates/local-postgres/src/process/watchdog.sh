# Makes the folder of one PostgreSQL and says so by an empty line. When the process that started it
# is gone, ends the server and removes the folder.
#
# Standard input is a pipe that nobody else writes to: it ends when that process lets go of it or
# dies, by whatever signal. Its lines are the process id of the server, or of the initdb before it,
# or empty while there is neither; the last one counts.
#
# usage: sh -c "$(cat watchdog.sh)" watchdog <folder>
trap '' HUP INT QUIT TERM PIPE
mkdir -m 700 "$1" || exit 1
echo

pid=
while read -r line; do pid=$line; done

if [ -n "$pid" ]; then
  kill -QUIT "$pid"
  tries=0
  while kill -0 "$pid" && [ "$tries" -lt 100 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
  kill -KILL "$pid"
fi

# What an ended initdb left running may still write: a removal may fail meanwhile.
tries=0
until rm -rf "$1" || [ "$tries" -ge 300 ]; do
  sleep 0.1
  tries=$((tries + 1))
done

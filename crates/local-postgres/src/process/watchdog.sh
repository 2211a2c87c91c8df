# Creates the folder of one PostgreSQL and reports it with an empty line. When the process that started
# this script has ended, ends the server and removes the folder.
#
# Only that process writes to the pipe on standard input, so the pipe ends when the process closes it or
# dies. Each line is the process id of the server, or of the initdb before it; an empty line means neither.
# The last line counts.
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

# A child of an ended initdb may still write into the folder, so a removal may fail at first.
tries=0
until rm -rf "$1" || [ "$tries" -ge 300 ]; do
  sleep 0.1
  tries=$((tries + 1))
done

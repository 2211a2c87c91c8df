# Creates a server's folder, and prints an empty line when the folder exists. After the process that
# started this script has ended, ends the server and removes the folder.
#
# That process holds the other end of the pipe on standard input, so the pipe ends when the process
# closes it or dies. Each line that it writes replaces the previous one. A line is the id of the
# process to end: the server, or before it `initdb` or `pg_basebackup`. An empty line means that none
# is running.
#
# usage: sh -c "$(cat watchdog.sh)" watchdog <folder>

# This script must outlive the process, so it ignores the signals that end a terminal's programs.
trap '' HUP INT QUIT TERM PIPE

mkdir -m 700 "$1" || exit 1
echo

pid=
while read -r line; do pid=$line; done

if [ -n "$pid" ]; then
  # SIGQUIT ends a server at once, with its child processes. SIGKILL would leave the children behind.
  kill -QUIT "$pid"
  # A paused server handles no signal. It kills paused children after 5 s.
  kill -CONT "$pid"
  tries=0
  while kill -0 "$pid" && [ "$tries" -lt 200 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
  kill -KILL "$pid"
fi

# After initdb has ended, its child may still write into the folder and make a removal fail.
tries=0
until rm -rf "$1" || [ "$tries" -ge 300 ]; do
  sleep 0.1
  tries=$((tries + 1))
done

# Removes a container after the process that started it has ended.
#
# That process holds the other end of the pipe on standard input, so the pipe ends when the process
# closes it or dies. If the last line before the end is `done`, the process has removed the container
# itself, and this script has nothing to do.
#
# usage: sh -c "$(cat watchdog.sh)" watchdog <container name>

# This script must outlive the process, so it ignores the signals that end a terminal's programs.
trap '' HUP INT QUIT TERM

word=
while read -r line; do word=$line; done
[ "$word" = done ] && exit 0

# If the process dies while the engine creates the container, the first attempt may find nothing to
# remove. So a second attempt follows three seconds later.
for pause in 0 3; do
  sleep "$pause"
  docker rm --force --volumes "$1"
done

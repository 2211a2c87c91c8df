"""Starts demo-server for a test, on each backend."""

import contextlib
import os
import re
import subprocess
import tempfile

BACKENDS = {"sqlite": [], "postgres": ["--local-postgres"]}


@contextlib.contextmanager
def serving(backend, *options):
    """The address of gRPC on an empty store. The server ends after the block."""
    with tempfile.TemporaryDirectory() as folder:
        command = [os.environ["DEMO_SERVER"], "--test-mode", "--data", folder, "--port", "0"]
        command += ["--grpc-port", "0", *BACKENDS[backend], *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                yield address(server.stdout)
            finally:
                server.terminate()
                server.wait(timeout=30)


def address(greeting):
    for line in greeting:
        found = re.match(r"gRPC: (\S+)", line)
        if found:
            return found[1]
    raise RuntimeError("demo-server did not start; its log says why")

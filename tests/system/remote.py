"""Runs commands on other hosts without ssh: the agent of a bare mpirun in the tests.

    remote.py serve              runs the commands of all clients until it is killed
    remote.py HOST WORD...       runs the words as a line of the shell on HOST, as ssh does"""
import subprocess
import sys
from multiprocessing.connection import Client, Listener

PORT = 2222
if sys.argv[1] == "serve":
    with Listener(("0.0.0.0", PORT)) as listener:
        while True:
            with listener.accept() as connection:
                done = subprocess.run(connection.recv(), shell=True, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True)
                connection.send((done.returncode, done.stdout, done.stderr))
else:
    with Client((sys.argv[1], PORT)) as server:
        server.send(" ".join(sys.argv[2:]))
        code, out, err = server.recv()
    sys.stdout.write(out)
    sys.stderr.write(err)
    sys.exit(code)

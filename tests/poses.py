"""poses.py SOCKET FILE [end]: listens as acp-share does; see `poses` in top.bash."""

import array
import os
import socket
import sys
import threading

path, file, end = sys.argv[1:]
new = os.path.basename(path) + ".new"
kept = []


def serve(guest):
    guest.recv(65536)
    if file == "-":
        return
    if file == "/dev/null":
        guest.close()
        return
    reads, writes = os.pipe()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [reads]))]
    try:
        guest.sendmsg([b'{"hop":0,"name":"agent"}\n'], rights)
        os.close(reads)
        guest.close()
        with open(writes, "wb", closefd=False) as to, open(file, "rb", buffering=0) as text:
            while chunk := text.read(65536):
                to.write(chunk)
                to.flush()
    except BrokenPipeError:
        pass
    if end:
        os.close(writes)


door = socket.socket(socket.AF_UNIX)
# Where nobody listens yet, who finds the socket would remove it.
door.bind(new)
door.listen(100)
os.rename(new, path)
while True:
    visitor, _ = door.accept()
    kept.append(visitor)
    threading.Thread(target=serve, args=[visitor], daemon=True).start()

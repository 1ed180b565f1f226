"""A collector of OTLP on loopback: collector.py OUT PORT [REPLY]...

Writes each request that it takes as a line into OUT: {"path":..., "headers":{...}, "body":...}, and its port into PORT. Each REPLY is
for one request in turn, which is not taken unless its status is 2xx: STATUS, STATUS=BODY, or hang. After them all are taken.
"""
import http.server
import json
import os
import sys
import threading

out, port, replies = sys.argv[1], sys.argv[2], sys.argv[3:]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        status, _, text = (replies.pop(0) if replies else '200').partition('=')
        if status == 'hang':
            with open(out + '.hangs', 'a') as f:
                f.write('hangs\n')
            threading.Event().wait()
        if status.startswith('2'):
            line = json.dumps({'path': self.path, 'headers': {k.lower(): v for k, v in self.headers.items()}, 'body': json.loads(body)})
            with open(out, 'a') as f:
                f.write(line + '\n')
        self.send_response(int(status))
        if status == '302':
            self.send_header('Location', '/elsewhere')
        text = (text or '{}').encode()
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
server.daemon_threads = True
open(out, 'a').close()
with open(port + '.new', 'w') as f:
    f.write(str(server.server_port))
os.rename(port + '.new', port)
server.serve_forever()

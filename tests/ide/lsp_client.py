"""A client of language servers over standard streams; it runs inside a workspace, as an agent's own would.

usage: python3 lsp_client.py SERVER… < requests: JSON lists of [method, params]; prints one line of JSON for each result
"""

import json
import subprocess
import sys
from typing import IO, Any


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    content = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
    stream.flush()


def read(stream: IO[bytes]) -> dict[str, Any]:
    length = 0
    while (line := stream.readline().strip()) or not length:
        name, _, value = line.partition(b": ")
        if name.lower() == b"content-length":
            length = int(value)
    message: dict[str, Any] = json.loads(stream.read(length))
    return message


def main() -> None:
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdin is not None
    assert server.stdout is not None
    for number, (method, params) in enumerate(json.load(sys.stdin), 1):
        is_request = not method.startswith(("initialized", "textDocument/did"))
        send(server.stdin, {"method": method, "params": params, **({"id": number} if is_request else {})})
        while is_request and (answer := read(server.stdout)).get("id") != number:
            if "method" in answer and "id" in answer:
                send(server.stdin, {"id": answer["id"], "result": None})
        if is_request:
            print(json.dumps(answer.get("result", answer.get("error"))))
    server.kill()


if __name__ == "__main__":
    main()
